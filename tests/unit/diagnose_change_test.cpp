// Two logs of one benchmark, and logs of several sets of nodes: without a forecast.
#include <random>

#include "tests/support/catch.hpp"
#include "validate/diagnosis/change.hpp"
#include "validate/diagnosis/nodes.hpp"

namespace linkcast::test::diagnose_change_test {

using diagnosis::Verdict;

namespace {

constexpr double kStartup_s = 30e-6, kRate_Bps = 100e9;

struct Curve {
  double startup_s = kStartup_s, rate_Bps = kRate_Bps;
  double bump = 1;  ///< times, from 64 KiB to 1 MiB
};

/// all_reduce of 16 GPUs on two nodes from 8 B to 1 GiB, in place and out of place, with noise of 1 %.
diagnosis::FleetLog log_of(const Curve& curve, unsigned seed, const std::set<std::string>& hosts = {"a", "b"},
                           const std::string& name = "log") {
  Measurement m;
  std::mt19937_64 random(seed);
  std::normal_distribution<> noise(0, 0.01);
  for (double size_B = 8; size_B < 2e9; size_B *= 2)
    for (const bool in_place : {false, true}) {
      MeasuredCollective c;
      c.op = "all_reduce";
      c.gpus = {0, 1, 2, 3, 4, 5, 6, 7};
      c.nodes = static_cast<int>(hosts.size());
      c.size_B = size_B;
      c.in_place = in_place;
      const double times = size_B >= 65536 && size_B <= 1048576 ? curve.bump : 1;
      c.time_s = {times * (curve.startup_s + size_B / curve.rate_Bps) * std::exp(noise(random))};
      m.collectives.push_back(c);
    }
  return diagnosis::fleet_log(name, m, hosts);
}

diagnosis::LogChange change_to(const Curve& curve) {
  return diagnosis::change_between(log_of({}, 1), log_of(curve, 2));
}

/// Logs of all pairs of some nodes; those in `slow` take twice as long.
std::vector<diagnosis::FleetLog> pairs(const std::string& nodes, const std::string& slow,
                                       const std::string& slow_together = "") {
  std::vector<diagnosis::FleetLog> logs;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = i + 1; j < nodes.size(); ++j) {
      const std::string name{nodes[i], nodes[j]};
      const bool ill = name.find_first_of(slow) != std::string::npos || name == slow_together;
      const double times = ill ? 2 : 1;
      logs.push_back(log_of({times * kStartup_s, kRate_Bps / times}, static_cast<unsigned>(10 * i + j),
                            {name.substr(0, 1), name.substr(1)}, name));
    }
  return logs;
}

}  // namespace

TEST_CASE("diagnose: two runs of one machine are alike", "[diagnose]") {
  const diagnosis::LogChange change = change_to({});
  CHECK(change.verdict == Verdict::kNormal);
  CHECK(change.slower == 0);
  CHECK(change.slower_at_most < diagnosis::kNotNormal);
  CHECK(change.curves.empty());
}

TEST_CASE("diagnose: a change is start-up or rate", "[diagnose]") {
  const diagnosis::LogChange startup = change_to({kStartup_s + 90e-6});
  CHECK(startup.verdict == Verdict::kFaulty);
  REQUIRE(!startup.parts.empty());
  CHECK(startup.parts.front() == "all_reduce x16 on 2 nodes below 1 MiB");
  REQUIRE(startup.curves.size() == 1);
  CHECK(startup.curves[0].startup_s == Approx(90e-6).epsilon(0.05));
  CHECK(startup.curves[0].startup_times == Approx(4).epsilon(0.05));
  CHECK(startup.curves[0].rate_times == 1);
  CHECK_FALSE(startup.curves[0].apart);

  const diagnosis::LogChange rate = change_to({kStartup_s, kRate_Bps / 2});
  CHECK(rate.verdict == Verdict::kFaulty);
  CHECK(rate.parts == std::vector<std::string>{"all_reduce x16 on 2 nodes from 1 MiB on"});
  REQUIRE(rate.curves.size() == 1);
  CHECK(rate.curves[0].startup_s == 0);
  CHECK(rate.curves[0].rate_times == Approx(2).epsilon(0.05));
  CHECK_FALSE(rate.curves[0].apart);

  const diagnosis::LogChange both = change_to({3 * kStartup_s, kRate_Bps / 3});
  REQUIRE(both.curves.size() == 1);
  CHECK(both.curves[0].startup_times == Approx(3).epsilon(0.05));
  CHECK(both.curves[0].rate_times == Approx(3).epsilon(0.05));
}

TEST_CASE("diagnose: sizes in the middle alone are another protocol or algorithm", "[diagnose]") {
  const diagnosis::LogChange change = change_to({kStartup_s, kRate_Bps, 2.5});
  CHECK(change.verdict == Verdict::kFaulty);
  REQUIRE(change.curves.size() == 1);
  REQUIRE(change.curves[0].apart);
  CHECK(change.curves[0].apart->from_B == 65536);
  CHECK(change.curves[0].apart->to_B == 1048576);
  CHECK(change.curves[0].apart->times == Approx(2.5).epsilon(0.05));
  CHECK(change.curves[0].startup_s == 0);
}

TEST_CASE("diagnose: what is faster than before is no fault, one odd size leaves it open", "[diagnose]") {
  const diagnosis::LogChange faster = change_to({kStartup_s / 2, kRate_Bps * 2});
  CHECK(faster.verdict == Verdict::kNormal);
  CHECK(faster.faster == faster.points.size());
  diagnosis::FleetLog odd = log_of({}, 2);
  for (auto& [key, time_s] : odd.time_s)
    if (key.ends_with(" 64 KiB")) time_s *= 4;
  CHECK(diagnosis::change_between(log_of({}, 1), odd).verdict == Verdict::kCannotTell);
}

TEST_CASE("diagnose: of 60 healthy pairs of logs one is called faulty at the most", "[diagnose]") {
  int faulty = 0, normal = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto verdict = diagnosis::change_between(log_of({}, 2 * seed), log_of({}, 2 * seed + 1)).verdict;
    faulty += verdict == Verdict::kFaulty ? 1 : 0;
    normal += verdict == Verdict::kNormal ? 1 : 0;
  }
  CHECK(faulty <= 1);
  CHECK(normal >= 58);
}

TEST_CASE("diagnose: the node that all slow pairs share is named", "[diagnose]") {
  for (const char* nodes : {"abc", "abcd", "abcdefgh"}) {
    INFO(nodes);
    const diagnosis::NodeComparison found = diagnosis::compare_nodes(pairs(nodes, "b"));
    CHECK(found.verdict == Verdict::kFaulty);
    REQUIRE(found.slow.size() == 1);
    CHECK(found.slow[0].hosts == std::vector<std::string>{"b"});
    CHECK(found.slow[0].times == Approx(2).epsilon(0.05));
    for (const diagnosis::NodeMember& member : found.members)
      CHECK(member.slow == (member.name.find('b') != std::string::npos));
  }
  const diagnosis::NodeComparison two = diagnosis::compare_nodes(pairs("abcdef", "bd"));
  REQUIRE(two.slow.size() == 2);
  CHECK(two.slow[0].hosts.front() + two.slow[1].hosts.front() == "bd");
  CHECK(diagnosis::compare_nodes(pairs("abcd", "")).verdict == Verdict::kNormal);
}

TEST_CASE("diagnose: a pair that is slow though its nodes are not is the network between them", "[diagnose]") {
  const diagnosis::NodeComparison found = diagnosis::compare_nodes(pairs("abcde", "", "bd"));
  CHECK(found.verdict == Verdict::kFaulty);
  CHECK(found.slow.empty());
  for (const diagnosis::NodeMember& member : found.members) CHECK(member.apart == (member.name == "bd"));
  // each node once: no log separates the two
  std::vector<diagnosis::FleetLog> once = {log_of({}, 1, {"a", "b"}, "ab"), log_of({}, 2, {"c", "d"}, "cd"),
                                           log_of({2 * kStartup_s, kRate_Bps / 2}, 3, {"e", "f"}, "ef"),
                                           log_of({}, 4, {"g", "h"}, "gh")};
  const diagnosis::NodeComparison either = diagnosis::compare_nodes(once);
  REQUIRE(either.slow.size() == 1);
  CHECK(either.slow[0].hosts == std::vector<std::string>{"e", "f"});
}

}  // namespace linkcast::test::diagnose_change_test
