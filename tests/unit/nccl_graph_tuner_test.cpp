// What the library's cost model takes, against the findings about its own tuner.
// Expected, if nothing else is said: models/libraries/SOURCES.md, "Graph era: results of the library's own tuner".
#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/unit/nccl_graph.hpp"

namespace {

using linkcast::Communicator;
using linkcast::TunerChoice;
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
  const Communicator made = build(set.version, set.machine, first(set.gpus));
  return *library(set.version).choose(platform(set.machine), made, {op, {size_B}, "", "", nvls});
}

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

TEST_CASE("tuner: NVLS from 2 MiB on 8 H200 where multicast is offered", "[unit]") {
  for (const std::string version : {"nccl-2.22", "nccl-2.27", "nccl-2.30"}) {
    INFO(version);
    CHECK(taken({version, "hgx-h200", 8}, 1 * kMi, "all_reduce", true).entry.algorithm != "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 2 * kMi, "all_reduce", true).entry.algorithm == "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 1024 * kMi, "all_reduce", true).entry.algorithm == "nvls");
    CHECK(taken({version, "hgx-h200", 8}, 1024 * kMi).entry.algorithm == "ring");
  }
}

TEST_CASE("tuner: where a tree beats the ring on one node", "[unit]") {
  for (double size = 8; size <= 1024 * kMi; size *= 2) {
    INFO(size);
    CHECK(taken({"nccl-2.7", "v100-dgx1", 5}, size).entry.algorithm == "tree");  // at every size
    for (const int gpus : {4, 7})  // before 2.18 from 64 MiB on, later never
      for (const std::string version : {"nccl-2.7", "nccl-2.8", "nccl-2.12", "nccl-2.18", "nccl-2.22", "nccl-2.30"}) {
        const bool tree =
            size >= 64 * kMi && version != "nccl-2.18" && version != "nccl-2.22" && version != "nccl-2.30";
        CHECK(taken({version, "p100-dgx1", gpus}, size).entry.algorithm == (tree ? "tree" : "ring"));
      }
    if (size >= 1 * kMi)
      CHECK(taken({"nccl-2.18", "sample:summit", 6}, size).entry.algorithm == (size >= 4 * kMi ? "tree" : "ring"));
    CHECK(taken({"nccl-2.12", "v100-dgx1", 8}, size).entry.algorithm == "ring");
  }
  for (const std::string version : {"nccl-2.18", "nccl-2.22", "nccl-2.27", "nccl-2.30"}) {
    CHECK(taken({version, "v100-dgx1", 5}, 8).entry.algorithm == "tree");  // small sizes and the largest
    CHECK(taken({version, "v100-dgx1", 5}, 16 * kMi).entry.algorithm == "ring");
    CHECK(taken({version, "v100-dgx1", 5}, 1024 * kMi).entry.algorithm == "tree");
  }
  for (const std::string& version : nccl_graph::names())  // two GPUs: in 2.18 only
    CHECK(taken({version, "v100-dgx1", 2}, 16 * kKi).entry.algorithm == (version == "nccl-2.18" ? "tree" : "ring"));
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
  CHECK(linkcast::libraries()
            .get("nccl-2.3")
            .tuner(platform("v100-dgx1"), made, {"all_reduce", {kMi}, "", "", false})
            .empty());
  CHECK_FALSE(
      linkcast::libraries().get("nccl-2.3").choose(platform("v100-dgx1"), made, {"all_reduce", {kMi}, "", "", false}));
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
