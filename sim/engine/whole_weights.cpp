#include "sim/engine/whole_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

// source: ours, what adding shares of a way may lose, far below the 1e-9 that solvers agree to
constexpr double kWhole = 1e-12;

bool is_whole(double value) { return std::abs(value - std::round(value)) <= kWhole * value; }

/// @param weights  of one constraint, ascending
std::optional<double> whole_scale(const std::vector<double>& weights) {
  for (int times = 1; times <= WholeWeights::kMostTimes; ++times) {
    const double scale = times / weights.front();
    if (std::all_of(weights.begin(), weights.end(), [scale](double weight) { return is_whole(weight * scale); }))
      return scale;
  }
  return std::nullopt;
}

double scale_of(std::vector<double>& weights) {
  if (weights.empty()) return 1;
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  const double least = weights.front(), most = weights.back();
  if (most > least * WholeWeights::kLongest)
    throw InputError("solver: native knows links that one flow takes up to " + std::to_string(WholeWeights::kLongest) +
                     " times as often as another, and here one takes " + std::to_string(most / least) +
                     " times: take fluid");
  if (std::all_of(weights.begin(), weights.end(), is_whole)) return 1;
  return whole_scale(weights).value_or(WholeWeights::kLeastBroken / least);
}

}  // namespace

WholeWeights::WholeWeights(const Problem& problem) : problem_(problem) {
  std::vector<std::vector<double>> weights(problem.capacity_Bps.size());
  for (const Activity& activity : problem.activities)
    for (const Use& use : activity.uses) {
      std::vector<double>& known = weights[at(use.constraint)];
      if (known.empty() || known.back() != use.weight) known.push_back(use.weight);
    }
  for (std::vector<double>& of_one : weights) scales_.push_back(scale_of(of_one));
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    if (parts(static_cast<int>(a)) == 1) continue;
    for (const Use& use : problem.activities[a].uses)
      for (double& scale = scales_[at(use.constraint)]; use.weight * scale < kLeastBroken;) scale *= 2;
  }
}

int WholeWeights::parts(int activity) const {
  const std::vector<Use>& uses = problem_.activities[at(activity)].uses;
  return std::all_of(uses.begin(), uses.end(),
                     [this](const Use& use) { return is_whole(use.weight * scale(use.constraint)); })
             ? 1
             : kParts;
}

WholeWeights::Times WholeWeights::times(const Use& use, int parts) const {
  const double weight = use.weight * scale(use.constraint);
  Times times{};
  if (parts == 1) {
    times.front() = std::llround(weight);
    return times;
  }
  std::int64_t left = std::llround(weight * slower(kParts - 1));
  for (std::size_t part = kParts - 1; part > 0; --part) {
    times[part] = (left - 1) % kBase + 1;
    left = (left - times[part]) / kBase;
  }
  times.front() = left;
  return times;
}

double WholeWeights::slower(int part) { return std::pow(kBase, part); }

double WholeWeights::all_parts(int parts) {
  double all = 0;
  for (int part = 0; part < parts; ++part) all += 1 / slower(part);
  return all;
}

double units_per_byte(const Problem& problem) {
  double most_B = 1;
  bool whole = true;
  for (const Activity& activity : problem.activities) {
    most_B = std::max(most_B, activity.work_B);
    whole = whole && activity.work_B == std::floor(activity.work_B);
  }
  // source: a payload is a 64-bit integer; 2^30 units are 1e-9 of a byte, the tolerance of the tests
  return whole ? 1 : std::exp2(std::clamp(62.0 - std::ceil(std::log2(most_B)), 0.0, 30.0));
}

}  // namespace linkcast
