// Some of the synthetic faults of docs/diagnose.md: tests/bench/diagnose_faults.cpp has all.
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/synthetic_faults.hpp"

namespace linkcast::test::diagnose_faults_test {

namespace {

struct Count {
  int cases = 0, found = 0, recognised = 0;

  void add(SyntheticLab& lab, const std::string& name, int draws) {
    Random random(7);
    for (int k = 0; k < draws; ++k) {
      const auto one = lab.draw(name, random);
      if (!one || (name != "healthy" && !one->allowed)) continue;
      ++cases;
      found += one->found.normal() ? 0 : 1;
      recognised += test::recognised(one->found, one->truth.name).tied ? 1 : 0;
    }
  }
};

SyntheticLab lab_of(const std::string& platform, Measurement (*log)(catalogue::Catalogue&, const std::string&)) {
  return {catalogue(), platform, log(catalogue(), platform)};
}

}  // namespace

TEST_CASE("diagnose: of healthy machines with measured noise 98 % are called normal", "[physics][diagnose]") {
  Count count;
  for (const char* platform : {"hgx-h100", "p100-dgx1", "a100-pcie"})
    for (auto* log : {nccl_tests_log, nvbandwidth_log, p2p_log}) {
      SyntheticLab lab = lab_of(platform, log);
      count.add(lab, "healthy", 40);
    }
  CHECK(count.cases == 360);
  CHECK(count.found <= 360 * 0.02);
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
  CHECK(count.recognised >= 0.8 * count.cases);
}

}  // namespace linkcast::test::diagnose_faults_test
