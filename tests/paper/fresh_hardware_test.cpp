// Predictions of an H200 machine against occasions that no parameter was fitted to: other GPUs of the same kind.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::fresh_hardware_test {

namespace {

const std::string kRoot = test::data_dir();
const std::string kFolder = "calibrate/data/hgx-h200/";

// What the project promises of fresh hardware. source: issue "Calibrate real hardware"
constexpr double kMedian = 0.02, kLeastInside = 0.85, kMostInside = 0.95;
constexpr double kTargetP95 = 0.08;
// The 95th percentile misses that target. Measured on 20261121b: 10.1 % (copies in a queue 9.0 %, flows 26.3 %), on
// 20261121c, blind: 9.6 % (8.0 % and 27.3 %). What is beyond 8 %: staged copies of up to 32 KiB, which take 13 or 19
// us; kernels in ring_both and all_to_all, up to 41 % too fast; copy engines with several copies of 1 to 16 MiB; pulled
// copies of 1 to 4 MiB, which end on steps of 9.2 us. Lower this whenever it can be: it is here so that nothing gets
// worse unseen.
const std::map<std::string, double> kLargestP95 = {{"20261121b", 0.103}, {"20261121c", 0.098}};
// The error bars are too wide: 96.0 % lie inside, on the blind occasion 97.7 %, as staged copies both ways have scatter
// of their own.
const std::map<std::string, double> kLargestInside = {{"20261121b", 0.961}, {"20261121c", 0.977}};

std::string occasion_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('-'));
}

std::set<std::string> held_out_occasions(const Calibration& calibration) {
  std::set<std::string> occasions;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/" + kFolder))
    if (entry.path().filename().string().find("-p2p_copy.json") != std::string::npos) {
      const std::string occasion = occasion_of(entry.path().string());
      if (occasion.rfind("2026", 0) == 0) occasions.insert(occasion);  // of 4 GPUs; one-gpu and two-gpus lie beside
    }
  for (const SourceFile& file : calibration.from)
    if (file.path.find("nccl_ops") == std::string::npos) occasions.erase(occasion_of(file.path));
  return occasions;
}

validate::Comparison compared(catalogue::Catalogue& catalogue, const std::string& occasion, const std::string& bench) {
  validate::Comparison comparison =
      validate::compare(catalogue, read_measurement(kRoot + "/" + kFolder + occasion + "-" + bench + ".json"), {});
  CHECK(comparison.unanswered.empty());
  CHECK_FALSE(comparison.fitted);
  return comparison;
}

struct Figures {
  double median, p95, inside;
};

Figures figures_of(const std::vector<validate::ComparedPoint>& points) {
  std::vector<double> errors;
  double inside = 0;
  for (const validate::ComparedPoint& p : points) {
    errors.push_back(std::abs(p.error()));
    inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  const auto at = [&](double share) { return errors[static_cast<std::size_t>(std::ceil(share * count)) - 1]; };
  return {at(0.5), at(0.95), inside / count};
}

}  // namespace

TEST_CASE("copies on fresh H200 GPUs, alone and together, are forecast within 2 %", "[paper]") {
  catalogue::Catalogue catalogue(kRoot);
  const auto occasions = held_out_occasions(catalogue.machine("hgx-h200")->platform().calibration());
  REQUIRE(occasions.count("20261121b") == 1);
  REQUIRE(occasions.count("20261121c") == 1);
  for (const std::string& occasion : occasions) {
    CAPTURE(occasion);
    std::vector<validate::ComparedPoint> points = compared(catalogue, occasion, "p2p_copy").points;
    const validate::Comparison together = compared(catalogue, occasion, "concurrency");
    CHECK(points.size() == 2120);
    CHECK(together.points.size() == 220);
    points.insert(points.end(), together.points.begin(), together.points.end());
    const Figures figures = figures_of(points);
    CAPTURE(figures.median, figures.p95, figures.inside);
    CHECK(figures.median <= kMedian);
    CHECK(figures.inside >= kLeastInside);
    const auto inside = kLargestInside.find(occasion);
    CHECK(figures.inside <= (inside == kLargestInside.end() ? kMostInside : inside->second));
    if (const auto level = kLargestP95.find(occasion); level != kLargestP95.end()) {
      CHECK(figures.p95 <= level->second);
      CHECK(level->second > kTargetP95);  // else say so above: the target is met
    }
  }
}

TEST_CASE("no copies that start together were fitted on any occasion", "[paper]") {
  catalogue::Catalogue catalogue(kRoot);
  for (const SourceFile& file : catalogue.machine("hgx-h200")->platform().calibration().from)
    CHECK(file.path.find("concurrency") == std::string::npos);
  const validate::Comparison comparison = compared(catalogue, "20261121a", "concurrency");
  for (const validate::ComparedPoint& point : comparison.points) CHECK_FALSE(point.determined);
}

}  // namespace linkcast::test::fresh_hardware_test
