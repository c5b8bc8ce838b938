// Some of the synthetic faults of docs/diagnose-accuracy.md: tests/bench/diagnose_faults.cpp has all.
#include <cmath>
#include <map>

#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/synthetic_faults.hpp"
#include "validate/diagnosis/noise.hpp"

namespace linkcast::test::diagnose_faults_test {

namespace {

struct Count {
  int cases = 0, found = 0, recognised = 0;  ///< found: called faulty

  void add(SyntheticLab& lab, const std::string& name, int draws) {
    Random random(7);
    for (int k = 0; k < draws; ++k) {
      const auto one = lab.draw(name, random);
      if (!one || (name != "healthy" && !one->allowed)) continue;
      ++cases;
      CHECK((!one->found.faulty() || one->found.slow > 0));  // something is slow where something is wrong
      found += one->found.faulty() ? 1 : 0;
      recognised += test::recognised(one->found, one->truth.name).tied ? 1 : 0;
    }
  }
};

/// Times of a machine of which no part is slow: what forecasts are off by makes everything of one kind and one range of
/// sizes faster, by up to 3 times, and the next range not at all or differently.
std::vector<double> nowhere_slow(const diagnosis::Bench& bench, Random& random) {
  std::map<std::string, std::map<int, double>> faster;  // by kind and range of sizes
  std::vector<double> times;
  for (const validate::ComparedPoint& point : bench.comparison().points) {
    const diagnosis::Judged one = diagnosis::judged(point);
    constexpr int kDoublings = 5;
    const int range = static_cast<int>(std::log2(std::max(1.0, point.size_B))) / kDoublings;
    const auto [factor, added] = faster[one.group].try_emplace(range, 1);
    if (added && below(random, 2) == 0) factor->second = times_between(random, 1 / 3.0, 1);
    times.push_back(point.predicted_s * factor->second);
  }
  return times;
}

SyntheticLab lab_of(const std::string& platform, Measurement (*log)(catalogue::Catalogue&, const std::string&)) {
  return {catalogue(), platform, log(catalogue(), platform)};
}

}  // namespace

TEST_CASE("diagnose: of healthy machines with measured noise 98 % are not called faulty", "[physics][diagnose]") {
  Count count;
  for (const char* platform : {"hgx-h100", "p100-dgx1", "a100-pcie"})
    for (auto* log : {nccl_tests_log, nvbandwidth_log, p2p_log}) {
      SyntheticLab lab = lab_of(platform, log);
      count.add(lab, "healthy", 40);
    }
  CHECK(count.cases == 360);
  CHECK(count.found <= 360 * 0.02);
}

TEST_CASE("diagnose: never faulty with nothing slow, however wrong forecasts are", "[physics][diagnose]") {
  const std::vector<std::pair<const char*, Measurement (*)(catalogue::Catalogue&, const std::string&)>> logs{
      {"hgx-h100", nccl_tests_log}, {"hgx-h100", nvbandwidth_log}, {"p100-dgx1", p2p_log}, {"leonardo", two_nodes_log}};
  for (const auto& [platform, log] : logs) {
    const diagnosis::Bench bench(catalogue(), platform, {}, log(catalogue(), platform));
    Random random(11);
    for (int k = 0; k < 20; ++k) {
      const diagnosis::Diagnosis found = bench.diagnose(nowhere_slow(bench, random));
      INFO(platform << " " << bench.comparison().file << ", draw " << k);
      CHECK(found.slow == 0);
      CHECK_FALSE(found.faulty());
    }
  }
}

TEST_CASE("diagnose: pairs show which fault it is in 90 % where noise allows", "[physics][diagnose]") {
  for (const char* name : {"lost links", "PCIe width or generation", "P2P off", "slow GPU", "slow GPU by 10 %"}) {
    Count count;
    for (const char* platform : {"hgx-h100", "p100-dgx1"}) {
      SyntheticLab lab = lab_of(platform, p2p_log);
      count.add(lab, name, 6);
    }
    INFO(name);
    CHECK(count.cases >= 6);
    CHECK(count.recognised >= 0.9 * count.cases - 1);  // of a dozen one may be missed
  }
}

TEST_CASE("diagnose: a collective of all GPUs shows what halves it", "[physics][diagnose]") {
  SyntheticLab lab = lab_of("dgx-a100", nccl_tests_log);
  Count count;
  for (const char* name : {"P2P off", "protocol or algorithm", "channels"}) count.add(lab, name, 8);
  CHECK(count.cases >= 12);
  CHECK(count.recognised >= 0.5 * count.cases);  // the others are inside the interval
}

TEST_CASE("diagnose: a healthy machine is as rare as it says", "[physics][diagnose]") {
  std::vector<diagnosis::Judged> points;
  for (double size_B = 1024; size_B < 1e8; size_B *= 2) {
    diagnosis::Judged one;
    one.group = one.place = one.family = "collective";
    one.size_B = size_B;
    one.shared_sigma = 0.1;
    one.box_sigma = 0.05;
    one.scatter = {0, 0.01};
    points.push_back(one);
  }
  const diagnosis::HealthyNoise noise(points);
  std::mt19937_64 random(5);
  int rare = 0;
  constexpr int kDraws = 1000;
  for (int k = 0; k < kDraws; ++k) rare += noise.rarity(noise.log_likelihood(noise.draw(random))[0]) < 0.1 ? 1 : 0;
  CHECK(rare == Approx(100).margin(30));  // three standard deviations
  // of a mean: the variance that forecast and box say, and the scatter of single figures over their number
  const diagnosis::Covariance one = noise.of_mean({3}), pair = noise.of_mean({3, 3});
  CHECK(one.model == Approx(0.1 * 0.1 + 0.05 * 0.05));
  CHECK(one.figures == Approx(1e-4).epsilon(1e-3));
  CHECK(diagnosis::HealthyNoise::chance(one, 0) == Approx(0.5));
  CHECK(pair.model == Approx(one.model));
}

TEST_CASE("diagnose: two nodes show that GPUDirect is off", "[physics][diagnose]") {
  SyntheticLab lab = lab_of("dgx-a100", two_nodes_log);
  Count count;
  count.add(lab, "GPUDirect off", 8);
  CHECK(count.cases >= 6);
  CHECK(count.recognised >= 0.9 * count.cases - 1);
  Count healthy;
  healthy.add(lab, "healthy", 40);
  CHECK(healthy.found <= 1);
}

}  // namespace linkcast::test::diagnose_faults_test
