#include "sim/records/learned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkcast {
namespace {

// What the same parameter differs by between versions of a library. source: assumed; between NCCL 2.7 and 2.27 the
// library's own tables change base costs by up to 1.8 and hops by 1.3 (models/libraries/SOURCES.md)
constexpr double kOtherVersion = 0.2;

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

/// The parameter of the version nearest to a library's; names of no number have no neighbours.
const Parameter* of_nearest(const Calibration& calibration, const LibraryRow& row, const std::string& library) {
  const int wanted = number_of(library_version_name(library));
  const Parameter* best = nullptr;
  int distance = std::numeric_limits<int>::max();
  const auto [from, tail] = row.around_version(library_family(library));
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

Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row,
                const Prior& prior) {
  const Calibration& calibration = parameters.calibration();
  const std::string family = library_family(library);
  const std::string own = row(library).name;
  Learned taken{prior.value, prior.spread, false};
  if (const Parameter* p = calibration.find(own))
    taken = as_learned(*p, 0, calibration.correlation.place(own));
  else if (const Parameter* any = calibration.find(row.of_all(family)))
    taken = as_learned(*any, 0, -1);
  else if (const Parameter* nearest = of_nearest(calibration, row, library))
    taken = as_learned(*nearest, kOtherVersion, -1);
  parameters.record(own, taken);
  return taken;
}

Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row) {
  if (!row.prior) throw InvariantError("parameter " + row(library).name + " has no prior of its own");
  return learned(parameters, library, row, *row.prior);
}

}  // namespace linkcast
