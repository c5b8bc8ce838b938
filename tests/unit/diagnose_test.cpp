// Finding the part of a machine that is slow: forecasts of an edited machine stand for a measurement of a broken one.
#include "validate/diagnose.hpp"

#include <fstream>

#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::diagnose_test {

namespace {

/// Peer copies of every pair of NVLink neighbours of a P100 DGX-1, "measured" on the machine with these edits.
Measurement copies(const std::vector<std::string>& edits) {
  Measurement measurement;
  measurement.topology = "p100-dgx1";
  measurement.bench = "p2p_copy";
  measurement.timing = "back_to_back";
  const Platform& platform = catalogue().platform("p100-dgx1");
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to) {
      if (from == to || platform.topology().direct(platform.gpu(from), platform.gpu(to)) == nullptr) continue;
      MeasuredPoint point;
      point.source = "gpu" + std::to_string(from);
      point.target = "gpu" + std::to_string(to);
      point.transport = "peer";
      point.size_B = 67108864;
      const Json result = query::answer(catalogue(), {{"kind", "p2p"},
                                                      {"platform", "p100-dgx1"},
                                                      {"edits", edits},
                                                      {"src", point.source},
                                                      {"dst", point.target},
                                                      {"size_B", point.size_B},
                                                      {"transport", "peer"}});
      point.time_s = {result.at("time_s").get<double>()};
      measurement.points.push_back(point);
    }
  return measurement;
}

validate::Diagnosis of(const std::vector<std::string>& edits) {
  return validate::diagnose(validate::compare(catalogue(), copies(edits), {}, "p100-dgx1"));
}

}  // namespace

TEST_CASE("diagnose: a machine as it should be is normal") {
  const validate::Diagnosis found = of({});
  CHECK(found.normal());
  CHECK(found.fast == 0);
  CHECK(found.suspects.empty());
  CHECK(found.findings.size() == 32);  // 16 cables, both directions
}

TEST_CASE("diagnose: one slow cable is named, in both directions") {
  const validate::Diagnosis found = of({"scale gpu0-gpu4:0.5"});
  CHECK(found.slow == 2);
  REQUIRE(found.suspects.size() == 2);
  for (const validate::Suspect& suspect : found.suspects) {
    CHECK((suspect.id == "gpu0->gpu4" || suspect.id == "gpu4->gpu0"));
    CHECK(suspect.factor == Approx(2).epsilon(0.05));  // but for the start-up
  }
}

TEST_CASE("diagnose: one slow GPU is named instead of its four cables") {
  const validate::Diagnosis found = of({"slow gpu3:1.5"});
  CHECK(found.slow == 8);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].id == "gpu3");
  CHECK(found.suspects[0].slow == 8);
  CHECK(found.suspects[0].points == 8);
}

TEST_CASE("diagnose: what is faster than expected is no fault") {
  const validate::Diagnosis found = of({"scale gpu0-gpu4:2"});
  CHECK(found.normal());
  CHECK(found.fast == 2);
}

}  // namespace linkcast::test::diagnose_test
