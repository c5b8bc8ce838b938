// Collectives of the graph era against closed forms: messages, alignment, trees, and what the steps of a ring cost.
#include <cmath>

#include "sim/forecast/alignment.hpp"
#include "sim/machine/collective.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collectives_test {

namespace {

Json collective(const std::string& op, int gpus, double size_B, Json more = Json::object()) {
  Json query{{"platform", "hgx-h200"}, {"kind", "collective"}, {"launch", "graph"}, {"op", op}, {"size_B", size_B}};
  query["nvls"] = false;  // rings and trees
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  query.update(more);
  Json result = query::answer(catalogue(), query);
  INFO(query.dump());
  REQUIRE(result.value("error", "") == "");
  return result;
}

double parameter(const std::string& name) { return test::parameter("hgx-h200", name); }

// NCCL's, made up near those of H100
const Values kMade = {{"ring.LL.base_s", 6e-6},       {"ring.LL.hop_s", 0.8e-6},        {"ring.LL.channel_Bps", 7e9},
                      {"ring.LL.copy_steps", 0.9},    {"ring.LL.reduce_steps", 0.1},    {"ring.LL.copy_s", 0.2e-6},
                      {"sendrecv.channel_Bps", 20e9}, {"sendrecv.base_s", 8e-6},        {"ring.Simple.base_s", 9e-6},
                      {"ring.Simple.hop_s", 2e-6},    {"sendrecv.unidirectional", 1.4}, {"ring.LL.reduce_s", 0.15e-6},
                      {"ring.LL.read_steps", 0.2},    {"ring.LL.read_s", 0.3e-6}};
// of a block's buffers that it sends at once; what it copies out last
constexpr double kChunk_B = 524288, kLast_B = 131072;

std::string synthetic() {
  catalogue().adopt("collectives-synthetic", catalogue().machine("hgx-h200")->platform().wiring(),
                    made_calibration("hgx-h200", kMade));
  return "collectives-synthetic";
}

/// What `channels` blocks and a link take together: the sixth powers add up. source: docs/collectives.md
double shared_s(double bytes, int channels, double channel_Bps, double link_Bps) {
  return std::pow(std::pow(bytes / (channels * channel_Bps), 6) + std::pow(bytes / link_Bps, 6), 1.0 / 6);
}

/// Of `channels` blocks that both send and receive: at first all send, at the link's pace, and then all copy, at
/// twice the rate of doing both; of what that takes longer 1 / (1 + chunks / 12) is left. The last 128 KiB are copied
/// while nothing comes. source: docs/collectives.md
double both_ways_s(double bytes, int channels, double channel_Bps, double link_Bps) {
  const double block_B = bytes / channels, apart_s = shared_s(bytes, channels, channel_Bps, link_Bps),
               together_s = bytes / link_Bps + block_B / (2 * channel_Bps);
  return apart_s + std::max(0.0, together_s - apart_s) / (1 + block_B / kChunk_B / 12) +
         std::min(kLast_B, block_B) / (2 * channel_Bps);
}

}  // namespace

TEST_CASE("messages: bytes are those of the operation", "[physics]") {
  const auto total = [](const std::string& op, int ranks) {
    double sum = 0;
    for (const PairMessage& m : collectives().get(op).messages({12e6}, ranks)) {
      CHECK(m.from != m.to);
      sum += m.size.si;
    }
    return sum;
  };
  for (const int n : {2, 3, 4, 8}) {
    CHECK_THAT(total("alltoall", n), WithinRel(12e6 * (n - 1), 1e-12));
    CHECK_THAT(total("sendrecv", n), WithinRel(12e6 * n, 1e-12));
    CHECK_THAT(total("gather", n), WithinRel(12e6 * (n - 1) / n, 1e-12));
    CHECK_THAT(total("scatter", n), WithinRel(12e6 * (n - 1) / n, 1e-12));
  }
  CHECK(collectives().get("all_reduce").messages({1e6}, 4).empty());
}

TEST_CASE("a gather is limited by the root's link and blocks, a ring of messages by every one", "[physics]") {
  const double size = 1 << 30, link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  const Json other{{"platform", synthetic()}};
  const double channel = kMade.at("sendrecv.channel_Bps"), unidirectional = kMade.at("sendrecv.unidirectional");
  // 16 each, two to a block of the root, of which the second takes half; its blocks only receive or only send, the
  // others' too
  for (const char* op : {"gather", "scatter"}) {
    const Json root = collective(op, 4, size, other);
    CHECK_THAT(root["time_s"].get<double>() - root["latency_s"].get<double>(),
               WithinRel(shared_s(0.75 * size, 32, unidirectional * channel, link) +
                             kLast_B / (2 * unidirectional * channel) / 20,  // once in a row of 20 calls
                         1e-9));
  }
  const Json ring = collective("sendrecv", 4, size, other);
  CHECK_THAT(ring["time_s"].get<double>() - ring["latency_s"].get<double>(),
             WithinRel(both_ways_s(size, 32, channel, link), 1e-9));
  CHECK_THAT(ring["busbw_Bps"].get<double>(), WithinRel(size / ring["time_s"].get<double>(), 1e-12));
}

TEST_CASE("few channels limit a message of middle size", "[physics]") {
  // 4 MiB between 4 GPUs: 32 channels for messages, 8 each; 8 channels, 2 each
  const double link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  for (const auto& [channels, each] : {std::pair{0, 8}, {8, 2}, {1, 1}}) {
    Json more{{"platform", synthetic()}};
    if (channels > 0) more["channels"] = channels;
    const Json message = collective("sendrecv", 4, 4194304, more);
    CHECK(message["blocks"] == each);
    CHECK_THAT(message["time_s"].get<double>() - message["latency_s"].get<double>(),
               WithinRel(both_ways_s(4194304, each, kMade.at("sendrecv.channel_Bps"), link), 1e-9));
  }
}

TEST_CASE("messages below switches take LL up to 16 KiB of all blocks, at ten sixteenths of a ring's rate",
          "[physics]") {
  const Json on{{"platform", synthetic()}};
  const auto sent = [&](int ranks, double size_B) { return collective("sendrecv", ranks, size_B, on); };
  const double link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  // 32 blocks: 16 of a message between 2 GPUs, 8 between 3 and 4
  for (const auto& [ranks, blocks] : {std::pair{2, 16}, {3, 8}, {4, 8}}) {
    const Json small = sent(ranks, 32 * 16384), large = sent(ranks, 32 * 16384 + 16);
    CHECK(small["protocol"] == "LL");
    CHECK(large["protocol"] == "Simple");
    CHECK(small["blocks"] == blocks);
    CHECK_THAT(small["time_s"].get<double>() - small["latency_s"].get<double>(),
               WithinRel(shared_s(32 * 16384, blocks, 10.0 / 16 * kMade.at("ring.LL.channel_Bps"), link / 2), 1e-9));
    CHECK(sent(ranks, 8193)["blocks"] == 3);  // parts of 4 KiB
  }
  CHECK(sent(2, 4096)["blocks"] == 1);
  // 0.7 us later where a message has several blocks
  CHECK_THAT(sent(2, 8192)["latency_s"].get<double>() - sent(2, 4096)["latency_s"].get<double>(),
             WithinAbs(0.7e-6, 1e-12));
}

TEST_CASE("blocks of ranks off multiples of 16 bytes slow all_gather, not all_reduce", "[physics]") {
  CHECK(collective::access_width_B(4096) == 16);
  CHECK(collective::access_width_B(8) == 8);
  CHECK(collective::access_width_B(1000004) == 4);
  const double even = 3 * 16777216.0, odd = even + 24;  // blocks at multiples of 8
  const auto ratio = [&](const std::string& op) {
    return collective(op, 3, odd)["time_s"].get<double>() / collective(op, 3, even)["time_s"].get<double>();
  };
  CHECK(ratio("all_gather") > 1.1);
  CHECK(ratio("reduce_scatter") > 1.1);
  CHECK_THAT(ratio("all_reduce"), WithinRel(1.0, 1e-4));
}

TEST_CASE("a size that ranks share in no whole bytes is split at 16 bytes, by libraries that keep step at 4",
          "[physics]") {
  const double even = 3 * 16777216.0;
  const auto ratio = [&](const std::string& library) {
    const auto time_s = [&](double size) {
      return ask({{"platform", "v100-dgx1"},
                  {"kind", "collective"},
                  {"launch", "graph"},
                  {"op", "all_gather"},
                  {"size_B", size},
                  {"gpus", {0, 1, 2}},
                  {"library", library}})["time_s"]
          .get<double>();
    };
    return time_s(even + 13) / time_s(even);
  };
  CHECK_THAT(ratio("nccl-2.18"), WithinRel(1.0, 1e-5));
  CHECK(ratio("nccl-2.3") > 1.1);
  // By nodes the rate falls with their number alone.
  double before = 0;
  for (const int nodes : {2, 3, 4, 5, 6, 7, 8}) {
    const double busbw = ask({{"platform", "hgx-h100"},
                              {"kind", "collective"},
                              {"op", "all_gather"},
                              {"size_B", 1 << 30},
                              {"nodes", nodes}})["busbw_Bps"]
                             .get<double>();
    if (before > 0) CHECK(busbw < before);
    if (before > 0) CHECK(busbw > 0.96 * before);
    before = busbw;
  }
}

TEST_CASE("one block on a ring takes the time of what it does in each step", "[physics]") {
  // LL of 4 KiB by 4 GPUs runs on one block: base, six hops of which three store and three add, and a quarter of the
  // bytes in each of a send, two receives that reduce and send, one that stores too, behind which it adds, two that
  // store and send, and one that only stores
  const Json result =
      collective("all_reduce", 4, 4096, {{"platform", synthetic()}, {"protocol", "LL"}, {"algorithm", "ring"}});
  REQUIRE(result["blocks"] == 1);
  const double copy = 0.9, reduce = 0.1, send = 1 - (copy + reduce) / 2;
  const double last = 0.2 + copy;  // it loads, and sends nothing
  const double steps = send + 2 * (send + reduce) + (send + copy) + 2 * (send + copy) + last;
  CHECK_THAT(result["time_s"].get<double>(),
             WithinRel(6e-6 + 6 * 0.8e-6 + 3 * (0.2e-6 + 0.15e-6) + 0.3e-6 + 1024 * steps / 7e9, 1e-6));
}

TEST_CASE("alternatives are forecast as if they had been forced", "[physics]") {
  const Json result = collective("all_reduce", 4, 67108864, {{"alternatives", true}});
  REQUIRE(result["alternatives"].size() >= 4);
  double before = 0;
  for (const Json& other : result["alternatives"]) {
    const Json forced =
        collective("all_reduce", 4, 67108864, {{"algorithm", other["algorithm"]}, {"protocol", other["protocol"]}});
    CHECK(forced["time_s"] == other["time_s"]);
    CHECK(other["time_s"].get<double>() >= before);
    before = other["time_s"].get<double>();
  }
  CHECK(result["library_believes"]["time_s"].get<double>() > 0);
}

TEST_CASE("operations that a library or a machine does not have are refused", "[physics]") {
  const auto error = [](Json query) {
    query.update(
        {{"platform", "p100-dgx1"}, {"kind", "collective"}, {"launch", "graph"}, {"gpus", {0, 1}}, {"size_B", 1024}});
    return query::answer(catalogue(), query).value("error", "");
  };
  CHECK(error({{"op", "alltoall"}, {"library", "nccl-2.3"}}) ==
        "query: op: nccl-2.3 has no alltoall, sends and receives came with 2.7");
  CHECK(error({{"op", "all_reduce"}, {"library", "nccl-2.3"}, {"algorithm", "tree"}}) ==
        "query: algorithm: nccl-2.3 has no tree");
  CHECK(error({{"op", "alltoall"}, {"library", "nccl-2.12"}, {"protocol", "LL"}}) ==
        "query: op: alltoall is made of messages, which take no algorithm and no protocol");
}

}  // namespace linkcast::test::collectives_test
