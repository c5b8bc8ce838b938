// Predictions of NCCL 2.28.9 on 2, 3 and 4 H200 beside collectives that no parameter was fitted to.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

using namespace linkcast;

namespace {

const std::string kRoot = LINKCAST_DATA_DIR;
const std::string kFolder = "calibrate/data/hgx-h200/";

constexpr double kMiB = 1048576;
constexpr std::size_t kPoints = 246, kBelow = 27, kFrom1 = 15, kFrom64 = 6;  // a file; of them all_reduce, by size

struct Figures {
  double median, largest;
};

/// What all_reduce may be off at most, absolute and relative. Targets: 15 % below 1 MiB, 5 % from 1 MiB on, 2 % from
/// 64 MiB on. Every median meets its target but that of 64 MiB and more on c (2.04 %); no largest error does:
///   below 1 MiB       20.0 %: 32 KiB on 4 GPUs in LL, predicted too long: the smallest message's hop has room for
///   bytes 1 MiB and above   18.0 %: 2 MiB on 2 GPUs in Simple, predicted too short; 2 MiB on 4 in LL 14 % too long 64
///   MiB and above   8.0 %: 128 MiB on 2 GPUs: what a block waits for in its first 2 MiB (docs/communicators.md)
/// Lower these whenever they can be: they are here so that nothing gets worse unseen.
struct Levels {
  Figures below_1MiB, from_1MiB, from_64MiB;
};
const std::map<std::string, Levels> kLevels = {{"20261121a", {{0.022, 0.195}, {0.039, 0.182}, {0.0175, 0.065}}},
                                               {"20261121b", {{0.030, 0.189}, {0.040, 0.180}, {0.0195, 0.081}}},
                                               {"20261121c", {{0.031, 0.202}, {0.033, 0.179}, {0.0210, 0.064}}}};

Figures figures_of(const std::vector<ComparedPoint>& points, double from_B, double to_B, std::size_t count,
                   const std::string& op = "all_reduce") {
  std::vector<double> errors;
  for (const ComparedPoint& p : points)
    if (p.transport == op && p.size_B >= from_B && p.size_B < to_B) errors.push_back(std::abs(p.error()));
  REQUIRE(errors.size() == count);
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = count / 2;
  return {count % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2, errors.back()};
}

void check(const Figures& figures, const Figures& level) {
  CAPTURE(figures.median, figures.largest, level.median, level.largest);
  CHECK(figures.median <= level.median);
  CHECK(figures.largest <= level.largest);
}

}  // namespace

TEST_CASE("held-out all_reduce on H200 gets no worse", "[paper]") {
  Catalogue catalogue(kRoot);
  const double all = std::numeric_limits<double>::infinity();
  for (const auto& [occasion, levels] : kLevels) {
    CAPTURE(occasion);
    const Comparison comparison =
        compare(catalogue, read_measurement(kRoot + "/" + kFolder + occasion + "-nccl_ops.json"), {});
    CHECK_FALSE(comparison.fitted);
    CHECK(comparison.unanswered.empty());
    REQUIRE(comparison.points.size() == kPoints);
    CHECK(std::none_of(comparison.points.begin(), comparison.points.end(), [](const auto& p) { return p.determined; }));
    check(figures_of(comparison.points, 0, kMiB, kBelow), levels.below_1MiB);
    check(figures_of(comparison.points, kMiB, all, kFrom1), levels.from_1MiB);
    check(figures_of(comparison.points, 64 * kMiB, all, kFrom64), levels.from_64MiB);
  }
}

/// From 1 MiB on, 15 points a file. What limits the largest: 8 MiB on 2 GPUs (sendrecv), 32 MiB on 4 GPUs, whose
/// traffic mixes (alltoall).
TEST_CASE("held-out broadcast, sendrecv and alltoall of 1 MiB and more on H200 get no worse", "[paper]") {
  const std::map<std::string, std::map<std::string, Figures>> levels = {
      {"20261121a", {{"broadcast", {0.021, 0.055}}, {"sendrecv", {0.043, 0.235}}, {"alltoall", {0.125, 0.262}}}},
      {"20261121b", {{"broadcast", {0.020, 0.065}}, {"sendrecv", {0.041, 0.226}}, {"alltoall", {0.160, 0.270}}}},
      {"20261121c", {{"broadcast", {0.021, 0.062}}, {"sendrecv", {0.042, 0.166}}, {"alltoall", {0.136, 0.257}}}}};
  Catalogue catalogue(kRoot);
  for (const auto& [occasion, by_op] : levels) {
    const Comparison comparison =
        compare(catalogue, read_measurement(kRoot + "/" + kFolder + occasion + "-nccl_ops.json"), {});
    for (const auto& [op, level] : by_op) {
      CAPTURE(occasion, op);
      check(figures_of(comparison.points, kMiB, std::numeric_limits<double>::infinity(), 15, op), level);
    }
  }
}

TEST_CASE("no parameter of H200 names the measured collectives as its source", "[paper]") {
  Catalogue catalogue(kRoot);
  for (const SourceFile& file : catalogue.platform("hgx-h200").calibration().from)
    CHECK(file.path.find("nccl_ops") == std::string::npos);
}
