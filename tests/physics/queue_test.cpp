// Thread blocks that wait: for a block's other messages, for the GPUs before them in a chain.
#include <cmath>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"
#include "tests/support/unlearned.hpp"

namespace linkcast::test::queue_test {

namespace {

double parameter(const std::string& name) { return test::parameter("hgx-h200", name); }

/// Time of the bytes.
double flow_s(const std::string& op, int gpus, double size_B, const Json& more = Json::object()) {
  Json query{{"platform", "hgx-h200"}, {"kind", "collective"}, {"launch", "graph"}, {"op", op}, {"size_B", size_B}};
  query["nvls"] = false;  // rings and trees
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  query.update(more);
  const Json result = query::answer(catalogue(), query);
  INFO(result.dump());
  REQUIRE(result.value("error", "") == "");
  return result["time_s"].get<double>() - result["latency_s"].get<double>();
}

}  // namespace

TEST_CASE("messages whose parts do not fit the thread blocks get a share of each", "[physics]") {
  // blocks so slow that links do not count
  catalogue().adopt("queue-slow", catalogue().machine("hgx-h200")->platform().wiring(),
                    made_calibration("hgx-h200", {{"sendrecv.channel_Bps", 1e8}}));
  const auto slow_s = [](double size_B) { return flow_s("alltoall", 3, size_B, {{"platform", "queue-slow"}}); };
  // 3 GPUs have 32 message channels; parts above 16 MiB double the 8 of a message to 16, and 3 x 16 parts (with what
  // a GPU keeps) put two on some blocks, one of which is a copy inside the GPU, half the work: 16 get 1.5 each, as if
  // there were 10.7. The last 128 KiB of a block are copied at twice its rate, while nothing comes.
  const auto expected_s = [](double message_B, double channels) { return (message_B / channels + 131072 / 2.0) / 1e8; };
  const double before = 128 * kMiB, after = 160 * kMiB;
  CHECK_THAT(slow_s(3 * before), WithinRel(expected_s(before, 8), 1e-9));
  CHECK_THAT(slow_s(3 * after), WithinRel(expected_s(after, 16 / 1.5), 1e-9));
  // copies off multiples of 16 bytes take as long as messages: two each, no faster than with 8; both at the rate of
  // narrow accesses
  CHECK_THAT(slow_s(3 * (after - 8)) / slow_s(3 * (before - 8)),
             WithinRel(expected_s(after - 8, 16 / 2.0) / expected_s(before - 8, 8), 1e-9));
  CHECK(slow_s(3 * (before - 8)) > slow_s(3 * before));
  // one message a GPU has all blocks to itself
  CHECK(flow_s("sendrecv", 3, 160 * kMiB) < 0.7 * 160.0 / 128 * flow_s("sendrecv", 3, 128 * kMiB));
}

TEST_CASE("a row of calls pays once for the filling of a chain", "[physics]") {
  // thread blocks that move whatever links carry
  const std::string free = unlearned("hgx-h200", false);
  const double link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  const double size = 512 * kMiB, chunks = 24 * 524288.0;  // one of each block
  for (const char* op : {"broadcast", "reduce"})
    for (const int gpus : {2, 4})
      for (const int calls : {1, 16})
        CHECK_THAT(flow_s(op, gpus, size, {{"platform", free}, {"calls", calls}}),
                   WithinRel((size + (gpus - 1) * chunks / calls) / link, 1e-9));
  CHECK(flow_s("all_reduce", 4, size, {{"calls", 1}}) == flow_s("all_reduce", 4, size));
  const Json refused = query::answer(catalogue(), {{"platform", "hgx-h200"},
                                                   {"kind", "collective"},
                                                   {"launch", "graph"},
                                                   {"op", "broadcast"},
                                                   {"gpus", {0, 1}},
                                                   {"size_B", size},
                                                   {"calls", 0}});
  CHECK(refused.value("error", "") == "query:/calls: must be at least 1");
}

}  // namespace linkcast::test::queue_test
