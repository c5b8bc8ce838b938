// Collectives of the graph era against closed forms: messages, alignment, trees, and what a ring's turn costs.
#include <cmath>

#include "sim/forecast/alignment.hpp"
#include "sim/machine/collective.hpp"
#include "sim/plan/link_queue.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

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

TEST_CASE("a gather is limited by the root's link, a ring of messages by every one", "[physics]") {
  const double size = 1 << 30, link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  const Json gather = collective("gather", 4, size), ring = collective("sendrecv", 4, size);
  const double channel = parameter("nccl.sendrecv.channel_Bps");
  CHECK_THAT(gather["time_s"].get<double>() - gather["latency_s"].get<double>(),
             WithinRel(0.75 * size / activities::queued_Bps(3 * 8, channel, link),
                       1e-9));  // 16 each, two to a block of the root
  CHECK_THAT(ring["time_s"].get<double>() - ring["latency_s"].get<double>(),
             WithinRel(size / activities::queued_Bps(32, channel, link), 1e-9));
  CHECK_THAT(ring["busbw_Bps"].get<double>(), WithinRel(size / ring["time_s"].get<double>(), 1e-12));
}

TEST_CASE("few channels limit a message of middle size", "[physics]") {
  // 4 MiB between 4 GPUs: 32 channels for messages, 8 each
  const Json message = collective("sendrecv", 4, 4194304);
  CHECK(message["blocks"] == 8);
  const double link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  CHECK_THAT(message["time_s"].get<double>() - message["latency_s"].get<double>(),
             WithinRel(4194304 / activities::queued_Bps(8, parameter("nccl.sendrecv.channel_Bps"), link), 1e-9));
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

TEST_CASE("one block on a ring takes its rate and its turn", "[physics]") {
  // LL of 8 KiB by 4 GPUs runs on one block: base, six steps, and the bytes with 0.73 steps of turn
  const Json result = collective("all_reduce", 4, 4096, {{"protocol", "LL"}, {"algorithm", "ring"}});
  REQUIRE(result["blocks"] == 1);
  const double steps = 6, bytes = 4096 * 1.5;
  const double expected =
      parameter("nccl.ring.LL.base_s") + steps * parameter("nccl.ring.LL.hop_s") +
      bytes / parameter("nccl.ring.LL.channel_Bps") * (1 + parameter("nccl.ring.LL.turn_steps") / steps);
  CHECK_THAT(result["time_s"].get<double>(), WithinRel(expected, 1e-9));
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
