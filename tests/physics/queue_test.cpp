// Thread blocks that wait: for a link, for a block's other messages, for the GPUs before them in a chain.
#include <cmath>

#include "sim/plan/link_queue.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

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

/// Throughput of N machines that break down after Z on average and one repairman who needs s each: (1 - p0) / s with
/// 1 / p0 = sum of N! / (N - k)! (s / Z)^k. source: the machine repairman model, M/M/1//N, e.g. Kleinrock 1975, 3.8
double repaired(int machines, double between, double repair) {
  double sum = 0, term = 1;
  for (int k = 0; k <= machines; ++k) {
    sum += term;
    term *= (machines - k) * repair / between;
  }
  return (1 - 1 / sum) / repair;
}

}  // namespace

TEST_CASE("channels that queue for a link fill it gradually", "[physics]") {
  const double channel = 21e9, link = 370e9, chunk = 524288;
  for (const int channels : {1, 2, 8, 16, 32})
    CHECK_THAT(activities::queued_Bps(channels, channel, link),
               WithinRel(chunk * repaired(channels, chunk / channel - chunk / link, chunk / link), 1e-9));
  CHECK_THAT(activities::queued_Bps(1, channel, link), WithinRel(channel, 1e-12));
  CHECK_THAT(activities::queued_Bps(400, channel, link), WithinRel(link, 1e-9));
  CHECK_THAT(activities::queued_Bps(3, 2 * link, link), WithinRel(link, 1e-12));
}

TEST_CASE("messages whose parts do not fit the thread blocks get a share of each", "[physics]") {
  // 3 GPUs have 32 message channels; parts above 16 MiB double the 8 of a message to 16, and 3 x 16 parts (with what
  // a GPU keeps) put two on some blocks: no faster than with 8
  const double before = 3 * 128 * kMiB, after = 3 * 160 * kMiB;
  CHECK_THAT(flow_s("alltoall", 3, after) / flow_s("alltoall", 3, before), WithinRel(after / before, 1e-9));
  // one message a GPU has all blocks to itself
  CHECK(flow_s("sendrecv", 3, 160 * kMiB) < 0.7 * 160.0 / 128 * flow_s("sendrecv", 3, 128 * kMiB));
}

TEST_CASE("a row of calls pays once for the filling of a chain", "[physics]") {
  const double link = 18 * parameter("cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  const double size = 512 * kMiB, chunks = 24 * 524288.0;  // one of each block
  for (const char* op : {"broadcast", "reduce"})
    for (const int gpus : {2, 4})
      for (const int calls : {1, 16})
        CHECK_THAT(flow_s(op, gpus, size, {{"calls", calls}}),
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
