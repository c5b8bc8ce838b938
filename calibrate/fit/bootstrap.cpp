#include "calibrate/fit/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <tuple>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::fit {
namespace {

// A standard deviation of fewer values is itself uncertain by more than a quarter: 1 / sqrt(2 (n - 1)).
constexpr int kFewestReplicas = 10;
constexpr unsigned kSeed = 19970308;     // any number, but always the same
constexpr unsigned kMessages = 0x10000;  // messages are drawn apart from copies

/// Whole numbers below a bound, each equally often. The standard fixes the generator, not its distributions.
class Dice {
 public:
  explicit Dice(unsigned seed) : generator_(seed) {}
  std::size_t below(std::size_t bound) {
    const std::uint64_t span = bound, fair = UINT64_MAX - UINT64_MAX % span;
    std::uint64_t draw = generator_();
    while (draw >= fair) draw = generator_();
    return static_cast<std::size_t>(draw % span);
  }

 private:
  std::mt19937_64 generator_;
};

using Point = std::vector<const Sample*>;
using Group = std::tuple<std::string, bool, bool, bool, double>;

std::map<Group, std::vector<Point>> groups_of(const std::vector<Sample>& samples) {
  std::map<Group, std::vector<Point>> groups;
  const Sample* last = nullptr;
  std::vector<Point>* points = nullptr;
  for (const Sample& s : samples) {
    if (!last || !same_point(s, *last)) {
      points = &groups[{s.transport, s.read, s.single, s.both, s.size_B}];
      points->emplace_back();
    }
    points->back().push_back(&s);
    last = &s;
  }
  return groups;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// Parameters under names that say their range of sizes: "transport.peer.r1.startup_s" is
/// "transport.peer.(4096,65536].startup_s"; sizes under names that say their value.
std::map<std::string, std::string> ranged_names(const std::map<std::string, Parameter>& found) {
  std::map<std::string, std::string> names;
  for (const auto& [name, parameter] : found) {
    if (parameter.inherited()) continue;
    const ParameterName parts(name);
    const std::string transport(parts.transport());
    std::string ranged = name;
    if (const auto k = parts.range()) {
      const auto from = *k == 0 ? found.end() : found.find(key::range_end(transport, *k - 1).name);
      const auto to = found.find(key::range_end(transport, *k).name);
      ranged = transport + ".(" + (from == found.end() ? "" : number(from->second.value)) + "," +
               (to == found.end() ? "" : number(to->second.value)) + "]." + std::string(parts.what);
    }
    if (parameter.unit == "B") {
      const std::string subject(transport.empty() ? parts.subject : parts.transport());
      ranged = subject + "." + std::string(parts.what) + "=" + number(parameter.value);
    }
    names.emplace(std::move(ranged), name);
  }
  return names;
}

/// Mean and spread, value by value (Welford), so that no sum of squares loses digits.
struct Running {
  int count = 0;
  double mean = 0, squares = 0;
  void add(double value) {
    ++count;
    const double off = value - mean;
    mean += off / count;
    squares += off * (value - mean);
  }
  [[nodiscard]] double deviation() const { return count > 1 ? std::sqrt(squares / (count - 1)) : 0; }
};

}  // namespace

double Bootstrap::stderr_of(const std::string& name) const {
  const auto it = of.find(name);
  return it == of.end() || it->second.replicas < std::min(kFewestReplicas, replicas) ? 0 : it->second.stderr_;
}

std::vector<Sample> resample(const std::vector<Sample>& samples, unsigned seed) {
  Dice dice(seed);
  std::vector<Sample> drawn;
  drawn.reserve(samples.size());
  for (const auto& [group, points] : groups_of(samples))
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& point = points.size() > 1 ? points[dice.below(points.size())] : points[0];
      for (const Sample* s : point) {
        drawn.push_back(points.size() > 1 ? *s : *point[dice.below(point.size())]);
        drawn.back().point = static_cast<int>(i);
      }
    }
  return drawn;
}

Bootstrap run_bootstrap(const FitContext& fitted, int replicas, log::Progress* progress) {
  Bootstrap result;
  log::NoProgress none;
  log::Work work(progress != nullptr ? *progress : none, "bootstrap", "refits", replicas);
  work::Rounds rounds("bootstrap", "refits", replicas);
  const auto wanted = ranged_names(fitted.found);
  std::map<std::string, Running> values;
  for (; result.replicas < replicas; ++result.replicas) {
    work.advance(result.replicas);
    rounds.done(result.replicas);
    const unsigned seed = kSeed + static_cast<unsigned>(result.replicas);
    FitContext context;
    context.wires = fitted.wires;
    context.inherited = fitted.inherited;
    context.kin = fitted.kin;
    context.l2_B = fitted.l2_B;
    context.samples = resample(fitted.samples, seed);
    context.messages = resample(fitted.messages, seed + kMessages);
    try {
      fit_all(context);
    } catch (const InputError&) {
      ++result.failed;
      continue;
    }
    for (const auto& [ranged, name] : ranged_names(context.found)) {
      const auto same = wanted.find(ranged);
      if (same != wanted.end()) values[same->second].add(context.found.at(name).value);
    }
  }
  for (const auto& [ranged, name] : wanted)
    if (replicas > 0 && fitted.errors.count(name)) result.of[name] = {values[name].deviation(), values[name].count};
  return result;
}

}  // namespace linkcast::fit
