#include "validate/diagnosis/noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/statistics.hpp"

namespace linkcast::diagnosis {
namespace {

struct MeasuredNoise {
  std::string_view family;
  Scatter small, middle, large;  ///< below 64 KiB, below 1 MiB, above
};

// Copies: what the GPUs at the ends explain of a file's scatter around its forecasts, and the rest. Collectives: what
// three occasions differ by. Relays as staged copies: one file has them.
// source: measured, all of calibrate/data on one node, by validate/diagnosis/noise.py
constexpr std::array kMeasured = {
    MeasuredNoise{"peer", {0.036, 0.017}, {0.007, 0.004}, {0.005, 0.004}},
    MeasuredNoise{"relay", {0.031, 0.046}, {0.009, 0.018}, {0.015, 0.018}},
    MeasuredNoise{"staged", {0.031, 0.046}, {0.009, 0.018}, {0.015, 0.018}},
    MeasuredNoise{"local", {0.040, 0.038}, {0.018, 0.010}, {0.004, 0.007}},
    MeasuredNoise{"host", {0.036, 0.020}, {0.045, 0.021}, {0.009, 0.011}},
    MeasuredNoise{"collective", {0, 0.015}, {0, 0.010}, {0, 0.012}},
};
constexpr double kSmall_B = 65536, kMiddle_B = 1048576;  // source: ranges of the table above

// source: two P100 DGX-1 differ by 2.6 to 17.5 % on host paths, 5.7 % on NVLink (python/run.py plots.transfer)
constexpr double kBoxHost = 0.1, kBoxLink = 0.057;
// The variance of boxes and of forecasts in three: common to all of one family (by the host, or by links), to all that
// the same GPUs or the same kind of way do, to one operation or transport there. source: assumed, a third each: nothing
// measured tells
constexpr double kThird = 1.0 / 3;
// What a forecast is off by changes with the size: two sizes that many doublings apart err alike to 1/e.
// source: measured, collectives that were held out (validate/diagnosis/noise.py): half the mean squared difference
// rises to 0.17, 0.32, 0.47, 0.50, 0.57 and 0.64 in 1, 2, 4, 6, 8 and 10 doublings: 0.62 (1 - exp(-doublings / 3))
constexpr double kDoublings = 3;
constexpr double kLeast = 1e-4;  // source: ours, an exact forecast

/// A route without its numbers: "gpu#->plx#->cpu#".
std::string way_of(const std::vector<std::string>& links) {
  std::string way;
  for (const std::string& link : links) {
    for (const char c : link)
      if (c < '0' || c > '9') way += c;
    way += ' ';
  }
  return way;
}

std::string family_of(const validate::ComparedPoint& point) {
  const std::string kind = point.query.value("kind", "");
  if (kind == "collective") return kind;
  if (kind == "flows") return "staged";  // contend like them
  for (const MeasuredNoise& row : kMeasured)
    if (row.family == point.transport) return point.transport;
  return "staged";  // messages: by the processor or the network
}

}  // namespace

// source: ours, after the files above: the noisiest has 2 to 3 times the scatter of all together, one of 10 to 100
// draws
const double kNoiseFreedom = 4;

Scatter scatter_of(const std::string& family, double size_B) {
  for (const MeasuredNoise& row : kMeasured)
    if (row.family == family) return size_B < kSmall_B ? row.small : size_B < kMiddle_B ? row.middle : row.large;
  return scatter_of("staged", size_B);
}

Judged judged(const validate::ComparedPoint& point) {
  Judged judged;
  judged.family = family_of(point);
  const bool collective = judged.family == "collective";
  judged.by_host = judged.family == "host" || judged.family == "staged";
  judged.place = collective ? point.query.value("gpus", Json()).dump() : way_of(point.links);
  judged.group = point.transport + "|" + point.variant + "|" + (collective ? "" : judged.place);
  for (const char* end : {"src", "dst"}) {
    const std::string id = point.query.value(end, "");
    if (id.find("gpu") != std::string::npos && (judged.gpus.empty() || judged.gpus.front() != id))
      judged.gpus.push_back(id);
  }
  judged.size_B = point.size_B;
  judged.shared_sigma = std::log(point.high_s / point.low_s) / 2 / kNinetyPercentSigmas;
  judged.box_sigma = judged.by_host ? kBoxHost : kBoxLink;
  judged.scatter = scatter_of(judged.family, point.size_B);
  return judged;
}

Covariance covariance(const Judged& a, const Judged& b, bool same) {
  const double alike = std::exp(-std::abs(std::log2(a.size_B / b.size_B)) / kDoublings);
  const bool group = a.group == b.group;
  Covariance sum{0, same ? a.scatter.own * a.scatter.own + kLeast * kLeast : 0};
  const double forecast = a.shared_sigma * b.shared_sigma * alike, box = a.box_sigma * b.box_sigma;
  if (a.by_host == b.by_host) sum.model += kThird * box;
  if (a.family != b.family) return sum;
  sum.model += kThird * (forecast + (a.place == b.place ? forecast + box : 0) + (group ? forecast + box : 0));
  for (const std::string& gpu : a.gpus)
    if (std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end())
      sum.figures += a.scatter.gpu * b.scatter.gpu * alike;
  return sum;
}

}  // namespace linkcast::diagnosis
