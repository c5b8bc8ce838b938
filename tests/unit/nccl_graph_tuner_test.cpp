// What the library's cost model takes, against the findings about its own tuner.
// Expected, if nothing else is said: models/libraries/SOURCES.md, "Graph era: results of the library's own tuner".
#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/unit/nccl_graph.hpp"

namespace linkcast::test::nccl_graph_tuner_test {

namespace {

using nccl_graph::build;
using nccl_graph::first;
using nccl_graph::library;
using nccl_graph::platform;

constexpr double kKi = 1024, kMi = 1024 * 1024;

struct Set {
  std::string version, machine;
  int gpus;
};

TunerChoice taken(const Set& set, double size_B, const std::string& op = "all_reduce", bool nvls = false) {
  static std::map<std::string, Communicator> built;
  const std::string key = set.version + " " + set.machine + " " + std::to_string(set.gpus);
  if (!built.count(key)) built[key] = build(set.version, set.machine, first(set.gpus));
  const Communicator& made = built.at(key);
  return *library(set.version).choose(platform(set.machine), made, {op, {size_B}, "", "", nvls});
}

bool takes_tree(const Set& set, double size_B) { return taken(set, size_B).entry.algorithm == "tree"; }

/// Smallest power of two from which on the protocol is taken.
double from(const Set& set, const std::string& protocol) {
  for (double size = 8; size <= 1024 * kMi; size *= 2)
    if (taken(set, size).entry.protocol == protocol) return size;
  return 0;
}

}  // namespace

TEST_CASE("tuner: LL, LL128, Simple by size on 8 V100 and 8 P100", "[unit]") {
  for (const std::string version : {"nccl-2.12", "nccl-2.18", "nccl-2.22", "nccl-2.27", "nccl-2.30"}) {
    INFO(version);
    CHECK(from({version, "v100-dgx1", 8}, "LL128") == 1 * kMi);
    CHECK(from({version, "v100-dgx1", 8}, "Simple") == 16 * kMi);
  }
  for (const std::string version : {"nccl-2.7", "nccl-2.8", "nccl-2.12", "nccl-2.18"}) {
    INFO(version);
    CHECK(from({version, "p100-dgx1", 8}, "Simple") == 1 * kMi);
    CHECK(from({version, "p100-dgx1", 8}, "LL128") == 0);  // never on Pascal
  }
  for (const std::string version : {"nccl-2.22", "nccl-2.27", "nccl-2.30"}) {
    INFO(version);
    CHECK(from({version, "p100-dgx1", 8}, "Simple") == 2 * kMi);
  }
}

TEST_CASE("tuner: NVLS from 2 MiB on 8 H200 unless it is left out", "[unit]") {
  for (const std::string version : {"nccl-2.22", "nccl-2.27", "nccl-2.30"}) {
    INFO(version);
    CHECK(taken({version, "hgx-h200", 8}, 1 * kMi, "all_reduce", true).entry.algorithm != "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 2 * kMi, "all_reduce", true).entry.algorithm == "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 1024 * kMi, "all_reduce", true).entry.algorithm == "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 1024 * kMi).entry.algorithm == "ring");
  }
}

TEST_CASE("tuner: where a tree beats the ring on one node", "[unit]") {
  for (const std::string& version : nccl_graph::names()) {
    const bool before_18 =
        version == "nccl-2.7" || version == "nccl-2.8" || version == "nccl-2.12" || version == "nccl-2.14";
    for (double size = 8; size <= 1024 * kMi; size *= 2) {
      INFO(version << ", " << size << " bytes");
      for (const int gpus : {4, 7})  // before 2.18 from 64 MiB on, later never
        CHECK(takes_tree({version, "p100-dgx1", gpus}, size) == (before_18 && size >= 64 * kMi));
      CHECK_FALSE(takes_tree({version, "v100-dgx1", 8}, size));
      if (version == "nccl-2.7") CHECK(takes_tree({version, "v100-dgx1", 5}, size));  // at every size
      if (version == "nccl-2.18" && size >= 1 * kMi)
        CHECK(takes_tree({version, "sample:summit", 6}, size) == (size >= 4 * kMi));
    }
    // Other versions cross elsewhere, as their hop latencies say (docs/communicators.md): the ends are alike.
    CHECK(takes_tree({version, "sample:summit", 6}, 1024 * kMi));
    CHECK_FALSE(takes_tree({version, "sample:summit", 6}, 1 * kMi));
  }
}

TEST_CASE("tuner: 5 GPUs of a DGX-1 take trees for small sizes and the largest", "[unit]") {
  // The largest: on V100 only, and not in 2.12 and 2.14. There two rings of 22 carry 44 x 5/8 = 27.5 GB/s; two trees at
  // most 2 x 26.5 / 2. On P100 one ring of 18 carries 11.25, one tree less than 18 / 2.
  for (const std::string& version : nccl_graph::names()) {
    if (version == "nccl-2.7") continue;
    INFO(version);
    for (const std::string machine : {"p100-dgx1", "v100-dgx1"}) {
      CHECK(takes_tree({version, machine, 5}, 8));
      CHECK_FALSE(takes_tree({version, machine, 5}, 16 * kMi));
    }
    CHECK(takes_tree({version, "v100-dgx1", 5}, 1024 * kMi) == (version != "nccl-2.12" && version != "nccl-2.14"));
  }
}

TEST_CASE("tuner: 2 GPUs take trees at 4 to 256 KiB in 2.18 only", "[unit]") {
  double least = 1024 * kMi, most = 0;  // over all machines: each has a part of the range
  for (const std::string machine :
       {"p100-dgx1", "v100-dgx1", "dgx2", "sample:alps", "sample:leonardo", "sample:lumi", "sample:summit",
        "sample:summitdev", "sample:cirrascale_gx8", "sample:pcie8_dual", "sample:pcie8_dual_v100"})
    for (const std::string& version : nccl_graph::names()) {
      if (version == "nccl-2.7") continue;
      for (double size = 8; size <= 1024 * kMi; size *= 2) {
        if (!takes_tree({version, machine, 2}, size)) continue;
        INFO(machine << ", " << version << ", " << size);
        CHECK(version == "nccl-2.18");
        least = std::min(least, size);
        most = std::max(most, size);
      }
    }
  CHECK(least == 4 * kKi);
  CHECK(most == 256 * kKi);
  for (double size = 8; size <= 1024 * kMi; size *= 2) {
    CHECK_FALSE(takes_tree({"nccl-2.7", "p100-dgx1", 2}, size));
    CHECK_FALSE(takes_tree({"nccl-2.7", "v100-dgx1", 2}, size));
  }
}

TEST_CASE("tuner: a tree's correction holds from one power of two to the next", "[unit]") {
  // The table is by floor(log2(size / 64)); its rows rise and fall, so that another row than that of the power shows.
  const Communicator made = build("nccl-2.18", "v100-dgx1", first(8));
  const auto correction = [&](const std::string& protocol, double size) {
    const TunerEntry entry =
        library("nccl-2.18").choose(platform("v100-dgx1"), made, {"all_reduce", {size}, "tree", protocol})->entry;
    return size / (entry.time.si - entry.latency.si) / entry.bandwidth.si;
  };
  for (const std::string protocol : {"LL", "Simple"})
    for (double size = 64; size <= 64 * kMi; size *= 2) {
      INFO(protocol << ", " << size);
      CHECK_THAT(correction(protocol, 1.5 * size), WithinRel(correction(protocol, size), 1e-9));
      CHECK_THAT(correction(protocol, 1.99 * size), WithinRel(correction(protocol, size), 1e-9));
    }
}

TEST_CASE("tuner: ring and tree for all_reduce, the ring alone for the rest", "[unit]") {
  for (const std::string op : {"all_gather", "reduce_scatter", "broadcast", "reduce"})
    for (const std::string& version : nccl_graph::names()) {
      const Communicator made = build(version, "v100-dgx1", first(8));
      for (const auto& row : library(version).tuner(platform("v100-dgx1"), made, {op, {kMi}, "", "", false}))
        CHECK(row.algorithm == "ring");
    }
}

TEST_CASE("tuner: what is forced is taken, what does not exist is refused", "[unit]") {
  const Communicator made = build("nccl-2.18", "v100-dgx1", first(4));
  const auto choose = [&](const std::string& algorithm, const std::string& protocol) {
    return library("nccl-2.18").choose(platform("v100-dgx1"), made, {"all_reduce", {kMi}, algorithm, protocol, false});
  };
  CHECK(choose("tree", "LL")->entry.algorithm == "tree");
  CHECK(choose("", "LL128")->entry.protocol == "LL128");
  CHECK(choose("", "LL128")->payload_share == 120.0 / 128);
  CHECK_THROWS_WITH(choose("nvls", ""), "nccl-2.18 has no nvls for all_reduce here");
  CHECK_THROWS_WITH(choose("", "LL64"), "protocol 'LL64': one of LL, LL128, Simple");
  CHECK(ring_library("nccl-2.3").tuner(platform("v100-dgx1"), made, {"all_reduce", {kMi}, "", "", false}).empty());
  CHECK_FALSE(ring_library("nccl-2.3").choose(platform("v100-dgx1"), made, {"all_reduce", {kMi}, "", "", false}));
}

TEST_CASE("tuner: small sizes take fewer blocks, then fewer threads", "[unit]") {
  // Expected: size < blocks x threads x 8 B x ranks takes one block less, at one block half the threads.
  const TunerChoice small = taken({"nccl-2.18", "v100-dgx1", 8}, 8);
  CHECK(small.channels == 1);
  CHECK(small.threads == 64);
  const TunerChoice middle = taken({"nccl-2.18", "v100-dgx1", 8}, 8 * 512 * 8 * 5);
  CHECK(middle.channels == 5);
  CHECK(middle.threads == 512);
  CHECK(taken({"nccl-2.18", "v100-dgx1", 8}, 1024 * kMi).channels == 12);
}

}  // namespace linkcast::test::nccl_graph_tuner_test
