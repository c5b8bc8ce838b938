// Classes of pairs: on levels made up here, and on the shipped measurements, whose classes the papers describe.
#include "calibrate/fit/pair_classes.hpp"

#include <algorithm>

#include "calibrate/fit/fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/synthetic_copies.hpp"

namespace linkcast::test::pair_classes_test {

namespace {

std::string root(const std::string& path) { return test::data_dir() + "/" + path; }

std::vector<fit::PairClasses> classes_in(const std::string& topology_name, const std::vector<std::string>& files,
                                         const std::vector<std::string>& lenders = {}) {
  const Topology topology = read_topology(root("topologies/" + topology_name + ".json"));
  fit::FitRequest request;
  request.name = topology.name;
  request.data_dir = test::data_dir();
  request.topology = &topology;
  for (const std::string& file : files)
    request.measurements.push_back(read_measurement(root("calibrate/data/" + file)));
  for (const std::string& name : lenders)
    request.inherited.push_back(read_calibration(root("models/params/" + name + ".json")));
  return fit::fit_parameters(request).classes;
}

const fit::PairClasses& of(const std::vector<fit::PairClasses>& all, const std::string& transport, bool rate) {
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const fit::PairClasses& c) { return c.transport == transport && c.rate == rate; });
  REQUIRE(it != all.end());
  return *it;
}

/// Number of pairs in each class, shortest time first.
std::vector<std::size_t> sizes(const fit::PairClasses& found) {
  std::vector<std::size_t> list;
  for (const fit::PairClass& c : found.classes) list.push_back(c.pairs.size());
  return list;
}

using Sizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("levels with noise alone are one class", "[unit][fit]") {
  constexpr int kRuns = 400;
  for (const std::size_t pairs : {4, 8, 12, 24, 56, 240})
    for (const double sigma : {0.004, 0.02, 0.1})
      for (const bool known : {true, false}) {
        if (!known && pairs < 12) continue;  // four levels alone cannot say how much they scatter
        int split = 0;
        for (unsigned seed = 0; seed < kRuns; ++seed) {
          Noise noise(seed, sigma);
          std::vector<double> levels;
          for (std::size_t i = 0; i < pairs; ++i) levels.push_back(std::log(noise()));
          const auto classes = fit::classes_of(levels, known ? sigma : 0.005);
          split += *std::max_element(classes.begin(), classes.end()) > 0 ? 1 : 0;
        }
        INFO(pairs << " pairs, noise " << sigma << (known ? "" : ", not known"));
        CHECK(split <= kRuns * 3 / 100);
      }
}

TEST_CASE("levels 10 % apart are classes, levels 1.5 % apart or within 3 sigma are not", "[unit][fit]") {
  Noise noise(1, 0.003);
  std::vector<double> levels;
  for (int i = 0; i < 30; ++i) levels.push_back(std::log(noise()) + 0.1 * (i % 3));
  const auto classes = fit::classes_of(levels, 0.003);
  for (int i = 0; i < 30; ++i) CHECK(classes[static_cast<std::size_t>(i)] == i % 3);
  CHECK(fit::classes_of({0, 0.015, 0, 0.015}, 0.0001) == std::vector<int>{0, 0, 0, 0});
  CHECK(fit::classes_of({0, 0.025, 0, 0.025}, 0.0001) == std::vector<int>{0, 1, 0, 1});
  CHECK(fit::classes_of({0, 0.025, 0, 0.025}, 0.01) == std::vector<int>{0, 0, 0, 0});
  CHECK(fit::classes_of({0.3}, 0.01) == std::vector<int>{0});
}

TEST_CASE("one pair slower than those wired alike is named with its share", "[unit][fit]") {
  Noise noise(21, 0.005);
  const auto time = [](int a, int b, double n) { return 9e-6 + n / (a == 2 && b == 3 ? 17.2e9 : 18.5e9); };
  const auto all = fit::fit_parameters(request_for({sweep("peer", Pairs::kPeer, time, noise)})).classes;
  const fit::PairClasses& rate = of(all, "peer", true);
  CHECK(sizes(rate) == Sizes{31, 1});
  REQUIRE(rate.unlike.size() == 1);
  CHECK(rate.unlike[0].find("peer copies of 16 MiB to 256 MiB: gpu2->gpu3 is 7.") == 0);
  CHECK(rate.unlike[0].find("% slower than 31 wired alike (nvlink1 x1)") != std::string::npos);
  CHECK(rate.alike.empty());
  const fit::PairClasses& start = of(all, "peer", false);
  CHECK(sizes(start) == Sizes{32});
  CHECK(start.unlike.empty());
  CHECK_THAT(start.classes[0].value, WithinRel(9e-6, 0.01));
}

TEST_CASE("P100 DGX-1: one class of peers, copies under one switch slowest", "[unit][fit]") {
  const auto all = classes_in("p100-dgx1", {"p100-dgx1/p2p-message-size.json"});
  const fit::PairClasses& peer = of(all, "peer_read", true);
  CHECK(sizes(peer) == Sizes{32});
  CHECK_THAT(peer.classes[0].value, WithinRel(18.4e9, 0.005));
  const fit::PairClasses& staged = of(all, "staged", true);
  const fit::PairClass& slowest = staged.classes.back();
  CHECK(slowest.pairs.size() == 6);
  CHECK_THAT(slowest.value, WithinRel(9.3e9, 0.01));
  CHECK(slowest.wirings == std::map<std::string, int>{{"one cable up to the host in common", 6}});
  // the two others of this wiring reach 9.8 GB/s, and are reported as unlike the six
  CHECK(std::any_of(staged.unlike.begin(), staged.unlike.end(), [](const std::string& line) {
    return line.find("gpu0->gpu1, gpu1->gpu0 are 5.4 % faster than 6 wired alike") != std::string::npos;
  }));
}

TEST_CASE("V100 hybrid cube mesh: pairs of two links and of one", "[unit][fit]") {
  const auto all = classes_in("v100-dgx1", {"v100-hcm/p2p-matrix.json"}, {"p100-dgx1", "abci-v100"});
  const fit::PairClasses& peer = of(all, "peer", true);
  REQUIRE(sizes(peer) == Sizes{16, 16});
  CHECK(peer.classes[0].wirings == std::map<std::string, int>{{"nvlink2 x2", 16}});
  CHECK(peer.classes[1].wirings == std::map<std::string, int>{{"nvlink2 x1", 16}});
  CHECK_THAT(peer.classes[0].value / peer.classes[1].value, WithinRel(2, 0.01));
  CHECK(peer.unlike.empty());
}

TEST_CASE("DGX-2: staged copies of three classes, NVSwitches that the data cannot tell apart", "[unit][fit]") {
  const auto all = classes_in("dgx2", {"dgx2/p2p-matrix.json"}, {"abci-v100", "p100-dgx1"});
  const fit::PairClasses& staged = of(all, "staged", true);
  REQUIRE(sizes(staged) == Sizes{192, 40, 8});
  const double published[] = {11.3e9, 9.9e9, 8.7e9};
  for (std::size_t c = 0; c < 3; ++c) CHECK_THAT(staged.classes[c].value, WithinRel(published[c], 0.03));
  CHECK(staged.classes[2].members == std::vector<std::string>{"gpu0->gpu1", "gpu1->gpu0", "gpu4->gpu5", "gpu5->gpu4",
                                                              "gpu8->gpu9", "gpu9->gpu8", "gpu12->gpu13",
                                                              "gpu13->gpu12"});
  const fit::PairClasses& peer = of(all, "peer", true);
  CHECK(sizes(peer) == Sizes{240});
  REQUIRE(peer.alike.size() == 1);
}

TEST_CASE("HGX H100: whole rows start and run unlike others", "[unit][fit]") {
  const auto all = classes_in("hgx-h100", {"hgx-h100/p2p-matrix.json"}, {"hgx-h200"});
  const fit::PairClasses& start = of(all, "peer", false);
  REQUIRE(sizes(start) == Sizes{8, 42, 6});
  CHECK(start.classes[0].members == std::vector<std::string>{"gpu6->*", "gpu4->gpu2"});
  const fit::PairClasses& rate = of(all, "peer", true);
  int slow_rows = 0;  // copies from GPUs 0 and 1 are 4 % slower or more
  for (std::size_t c = 1; c < rate.classes.size(); ++c)
    for (const auto& [source, target] : rate.classes[c].pairs) slow_rows += source <= 1 ? 1 : 0;
  CHECK(slow_rows == 14);
}

TEST_CASE("pairs in few words", "[unit][fit]") {
  const Topology& t = dgx1();
  const std::vector<fit::DevicePair> all = {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}};
  CHECK(fit::compact(t, all, all) == std::vector<std::string>{"*->*"});
  CHECK(fit::compact(t, {{0, 1}, {0, 2}, {0, 3}, {2, 1}}, all) == std::vector<std::string>{"gpu0->*", "*->gpu1"});
  CHECK(fit::compact(t, {{0, 1}, {0, 3}, {1, 0}}, all) == std::vector<std::string>{"gpu0->gpu1,gpu3", "gpu1->gpu0"});
  CHECK(fit::compact(t, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, all) ==
        std::vector<std::string>{"*->gpu2", "gpu0,gpu1->gpu3"});
  CHECK(fit::compact(t, {{3, 3}, {4, 4}, {5, 5}, {7, 7}}, {{0, 0}, {3, 3}, {4, 4}, {5, 5}, {7, 7}}) ==
        std::vector<std::string>{"gpu3..gpu5,gpu7"});
}

}  // namespace linkcast::test::pair_classes_test
