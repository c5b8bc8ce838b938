#include "validate/diagnosis/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sim/base/statistics.hpp"
#include "validate/diagnosis/noise.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::diagnosis {
namespace {

// Any point. source: two P100 DGX-1 differ by 2.6 to 17.5 % on host paths, 5.7 % on NVLink, where the model was
// fitted to one of them (python/run.py plots.transfer); the interval covers the smaller ones
constexpr double kBoxReach = 1.1;
// Collectives of more nodes than two, which few calibrations have. source: all_reduce on 64 nodes of Alps, three
// neighbouring sizes: 2.3 times beyond the interval of a forecast from two nodes
constexpr double kManyNodesReach = 2.5;
constexpr int kMeasuredNodes = 2;  // source: as above
// Two nodes over a network that nobody measured for this machine. source: ours; the start-ups of ABCI, Alps and clouds
// differ by 3, half of that is in the interval
constexpr double kUnmeasuredNetworkReach = 1.5;
// GPUs that meet at CPUs, on a host of which nobody measured how much of PCIe's rate such collectives attain. source:
// calibrate/data/l40s/nccl-2.27-eight.json, a healthy machine, to 5.1 beyond a forecast with another host's
constexpr double kCpuReach = 5.5;

// Copies that are slow: two ends or two times. source: ours
constexpr std::size_t kCopies = 2;

std::string kind_of(const validate::ComparedPoint& point) {
  return point.variant.empty() ? point.transport : point.transport + " " + point.variant;
}

/// Whether a parameter of which this holds was fitted on the machine.
bool any_fitted(const Platform& platform, const std::function<bool(const std::string&)>& of) {
  const auto& parameters = platform.calibration().parameters;
  return std::any_of(parameters.begin(), parameters.end(), [&](const auto& parameter) {
    return of(parameter.first) && parameter.second.provenance.starts_with("fitted");
  });
}
bool network_measured(const Platform& platform) {
  return any_fitted(platform, [](const std::string& name) { return name.starts_with("nccl.network."); });
}
bool host_measured(const Platform& platform) {
  return any_fitted(platform, [](const std::string& name) { return name.ends_with(".data_share"); });
}

/// Points of one size.
struct Size {
  double slower = 1, width = 1;
  std::size_t slow = 0, points = 0;
};

Size size_of(const std::vector<validate::ComparedPoint>& points, const std::vector<std::size_t>& places,
             const std::vector<Finding>& findings) {
  Size size;
  std::vector<double> slower, width;
  for (const std::size_t place : places) {
    const validate::ComparedPoint& p = points[place];
    slower.push_back(p.measured_s / p.low_s);
    width.push_back(p.high_s / p.low_s);
    size.slow += findings[place] == Finding::kSlow ? 1 : 0;
  }
  size.points = places.size();
  size.slower = median(slower);
  size.width = median(width);
  return size;
}

/// A curve in neighbouring sizes.
void take_curve(const std::vector<Size>& sizes, SizeClass& of) {
  const std::size_t run = std::min(kRepeats, sizes.size());
  for (std::size_t first = 0; first + run <= sizes.size(); ++first) {
    double slower = 0, width = 0;
    bool slow = sizes.size() >= kRepeats;
    for (std::size_t k = first; k < first + run; ++k) {
      slower += std::log(sizes[k].slower) / static_cast<double>(run);
      width += std::log(sizes[k].width) / static_cast<double>(run);
      slow = slow && 2 * sizes[k].slow >= sizes[k].points;
    }
    of.repeats = of.repeats || slow;
    if (std::exp(slower) <= of.slower) continue;
    of.slower = std::exp(slower);
    of.width = std::exp(width);
  }
}

}  // namespace

const char* text_of(Finding finding) {
  switch (finding) {
    case Finding::kSlow:
      return "slow";
    case Finding::kFast:
      return "fast";
    case Finding::kHost:
      return "host-bound";
    case Finding::kUnclear:
      return "unclear";
    case Finding::kFine:
      break;
  }
  return "fine";
}

const char* text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaulty:
      return "faulty";
    case Verdict::kCannotTell:
      return "cannot tell";
    case Verdict::kNormal:
      break;
  }
  return "normal";
}

Verdict worse(Verdict a, Verdict b) {
  for (const Verdict verdict : {Verdict::kFaulty, Verdict::kCannotTell})
    if (a == verdict || b == verdict) return verdict;
  return Verdict::kNormal;
}

int exit_code_of(Verdict verdict) {
  constexpr int kFaultyCode = 4, kCannotTellCode = 5;  // source: ours, docs/results.md
  if (verdict == Verdict::kNormal) return 0;
  return verdict == Verdict::kFaulty ? kFaultyCode : kCannotTellCode;
}

std::vector<double> reaches_of(const Platform& platform, const std::vector<validate::ComparedPoint>& points) {
  const bool measured = network_measured(platform), host = host_measured(platform);
  std::set<std::string> at_cpus;  // start-ups of a curve name no link
  for (const validate::ComparedPoint& point : points)
    if (std::any_of(point.links.begin(), point.links.end(),
                    [](const std::string& link) { return link.find("cpu") != std::string::npos; }))
      at_cpus.insert(kind_of(point));
  std::vector<double> reaches;
  for (const validate::ComparedPoint& point : points) {
    const int nodes = point.query.value("nodes", 1);
    double reach = kBoxReach;
    if (!validate::asks_collective(point.query)) {
    } else if (nodes > kMeasuredNodes) {
      reach = kManyNodesReach;
    } else if (nodes > 1) {
      reach = measured ? kBoxReach : kUnmeasuredNetworkReach;
    } else if (!host && at_cpus.contains(kind_of(point))) {
      reach = kCpuReach;
    }
    reaches.push_back(reach);
  }
  return reaches;
}

Finding finding_of(const validate::ComparedPoint& p, double reach) {
  if (p.measured_s > p.high_s * kBoxReach && p.host) return Finding::kHost;
  if (p.measured_s > p.high_s * reach) return Finding::kSlow;
  if (p.measured_s * kBoxReach < p.low_s) return Finding::kFast;
  return p.measured_s < kNotNormal * p.low_s ? Finding::kFine : Finding::kUnclear;
}

std::vector<SizeClass> size_classes(const std::vector<validate::ComparedPoint>& points,
                                    const std::vector<std::size_t>& places, const std::vector<Finding>& findings) {
  struct Curve {
    std::string part;
    std::map<double, std::vector<std::size_t>> sizes;
    std::size_t slow = 0;
    bool collective = false;
  };
  std::map<std::pair<std::string, std::string>, Curve> curves;  // by class and ends
  std::map<std::string, std::size_t> slow_copies;
  for (const std::size_t place : places) {
    const validate::ComparedPoint& p = points[place];
    const std::string part = kind_of(p) + (p.size_B >= kLargeFrom_B ? " from 1 MiB on" : " below 1 MiB");
    Curve& curve = curves[{part, p.ends}];
    curve.part = part;
    curve.collective = validate::asks_collective(p.query);
    curve.sizes[p.size_B].push_back(place);
    if (!curve.collective && findings[place] == Finding::kSlow) ++slow_copies[part];
  }
  std::map<std::string, SizeClass> classes;
  for (const auto& [key, curve] : curves) {
    std::vector<Size> sizes;
    for (const auto& [size_B, some] : curve.sizes) sizes.push_back(size_of(points, some, findings));
    SizeClass& of = classes[curve.part];
    of.part = curve.part;
    take_curve(sizes, of);
    if (!curve.collective) of.repeats = slow_copies[curve.part] >= kCopies;
  }
  std::vector<SizeClass> all;
  for (const auto& [part, of] : classes) all.push_back(of);
  return all;
}

const SizeClass* least_sure(const std::vector<SizeClass>& classes) {
  const auto worst = std::max_element(classes.begin(), classes.end(),
                                      [](const SizeClass& a, const SizeClass& b) { return a.slower < b.slower; });
  return worst == classes.end() ? nullptr : &*worst;
}

}  // namespace linkcast::diagnosis
