#include "sim/records/learned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkcast {
namespace {

// What the same parameter differs by between versions of a library. source: assumed; between NCCL 2.7 and 2.27 the
// library's own tables change base costs by up to 1.8 and hops by 1.3 (models/libraries/SOURCES.md)
constexpr double kOtherVersion = 0.2;

/// "nccl-2.8" is family "nccl", version "2.8"; "mpi-openmpi" version "openmpi".
struct LibraryName {
  std::string family, version;
  explicit LibraryName(const std::string& library) {
    const auto dash = library.find('-');
    family = library.substr(0, dash);
    if (dash != std::string::npos) version = library.substr(dash + 1);
  }
};

constexpr int kMajor = 1000;

/// "2.27" is 2027; 0 for names. A calibration may hold any text here: a number too long to be one counts as far as it
/// fits.
int number_of(const std::string& version) {
  std::size_t at = 0;
  const auto number = [&] {
    constexpr int kMost = 100000;
    int value = 0;
    for (; at < version.size() && version[at] >= '0' && version[at] <= '9'; ++at)
      value = std::min(kMost, 10 * value + (version[at] - '0'));
    return value;
  };
  const int major = number();
  if (at == 0 || at >= version.size() || version[at] != '.') return kMajor * major;
  ++at;
  return kMajor * major + number();
}

Learned as_learned(const Parameter& p, double more, int correlated) {
  const double relative = p.value != 0 ? p.stderr_ / std::abs(p.value) : 0;
  return {p.value, std::hypot(relative, more), true, correlated};
}

/// Of the version nearest to `version`; names of no number have no neighbours.
const Parameter* of_nearest(const Calibration& calibration, const std::string& head, const std::string& version,
                            const std::string& tail) {
  const int wanted = number_of(version);
  const Parameter* best = nullptr;
  int distance = std::numeric_limits<int>::max();
  const std::string from = head + "@";
  for (auto it = calibration.parameters.lower_bound(from);
       it != calibration.parameters.end() && it->first.starts_with(from); ++it) {
    if (!it->first.ends_with(tail)) continue;
    const int there = number_of(it->first.substr(from.size(), it->first.size() - from.size() - tail.size()));
    if (wanted == 0 || there / kMajor != wanted / kMajor || std::abs(there - wanted) >= distance) continue;
    distance = std::abs(there - wanted);
    best = &it->second;
  }
  return best;
}

}  // namespace

ErrorPart ErrorPart::times(double factor) const {
  ErrorPart part = *this;
  part.sigma *= factor;
  return part;
}

double variance_of(const Calibration& calibration, const std::vector<ErrorPart>& parts) {
  double variance = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    variance += parts[i].sigma * parts[i].sigma;
    for (std::size_t j = 0; j < i; ++j)
      variance += 2 * parts[i].sigma * parts[j].sigma *
                  calibration.correlation.between(parts[i].correlated, parts[j].correlated);
  }
  return std::max(0.0, variance);  // correlations are written with few digits
}

std::string learned_name(const std::string& library, const std::string& subject, const std::string& what) {
  const LibraryName name(library);
  return name.family + "." + subject + "@" + name.version + "." + what;
}

Learned learned(const Calibration& calibration, const std::string& library, const std::string& subject,
                const std::string& what, const Prior& prior) {
  const LibraryName name(library);
  const std::string head = name.family + "." + subject, tail = "." + what;
  const std::string own = head + "@" + name.version + tail;
  Learned taken{prior.value, prior.spread, false};
  if (const Parameter* p = calibration.find(own))
    taken = as_learned(*p, 0, calibration.correlation.place(own));
  else if (const Parameter* any = calibration.find(head + tail))
    taken = as_learned(*any, 0, -1);
  else if (const Parameter* nearest = of_nearest(calibration, head, name.version, tail))
    taken = as_learned(*nearest, kOtherVersion, -1);
  if (calibration.asked) calibration.asked->try_emplace(own, taken);
  return taken;
}

}  // namespace linkcast
