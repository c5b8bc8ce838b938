#include "calibrate/learn/prior_check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "sim/records/parameters.hpp"

namespace linkcast::learn {
namespace {

// Least gain of a fit on its own bench, as a share of the error that the prior leaves: less does not show on other
// benches of the same host. source: pairs of H100 and H200 (calibrate/data, h100-pair-b, h200-pair-d): gains of 4 % and
// less on nccl_base made as many groups of launch_ops worse as better, those of 15 % halved the error
constexpr double kGain = 0.05;
constexpr std::size_t kParts = 3;  // source: ours, each without a third of the data

/// The same fit without each point i with i % kParts == part.
fit::MapRequest without(const fit::MapRequest& all, std::size_t part, const std::vector<double>& from) {
  std::vector<std::size_t> kept, place(all.points);
  for (std::size_t i = 0; i < all.points; ++i)
    if (i % kParts != part) {
      place[i] = kept.size();
      kept.push_back(i);
    }
  fit::MapRequest some;
  some.unknowns = all.unknowns;
  some.points = kept.size();
  some.progress = all.progress;
  some.from = from;
  some.log_error = [&all, kept](std::size_t i, const std::vector<double>& values) {
    return all.log_error(kept[i], values);
  };
  for (const std::vector<std::size_t>& points : all.depending) {
    some.depending.emplace_back();
    for (const std::size_t i : points)
      if (i % kParts != part) some.depending.back().push_back(place[i]);
  }
  return some;
}

std::vector<double> values_of(const fit::MapResult& result) {
  std::vector<double> values;
  for (const fit::MapEstimate& estimate : result.estimates) values.push_back(estimate.value);
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string part_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace

std::vector<LeftAtPrior> no_better_than_prior(const fit::MapRequest& request, const fit::MapResult& learned) {
  std::vector<double> priors;
  for (const fit::Unknown& unknown : request.unknowns) priors.push_back(unknown.prior.value);
  std::vector<double> with(request.points), without_data(request.points);
  for (std::size_t part = 0; part < kParts; ++part) {
    const fit::MapRequest some = without(request, part, values_of(learned));
    const std::vector<double> values = values_of(fit::fit_map(some));
    for (std::size_t i = part; i < request.points; i += kParts) {
      with[i] = std::abs(request.log_error(i, values));
      without_data[i] = std::abs(request.log_error(i, priors));
    }
  }
  std::map<std::string, std::pair<std::set<std::size_t>, std::vector<std::size_t>>> parts;
  for (std::size_t k = 0; k < request.unknowns.size(); ++k) {
    auto& [points, unknowns] = parts[part_of(request.unknowns[k].name)];
    points.insert(request.depending[k].begin(), request.depending[k].end());
    unknowns.push_back(k);
  }
  std::vector<LeftAtPrior> left;
  for (const auto& [name, part] : parts) {
    std::vector<double> now, before;
    for (const std::size_t i : part.first) {
      now.push_back(with[i]);
      before.push_back(without_data[i]);
    }
    if (now.empty()) continue;
    LeftAtPrior one{name, now.size(), mean(now), mean(before), part.second};
    if (one.learned > (1 - kGain) * one.prior) left.push_back(std::move(one));
  }
  return left;
}

}  // namespace linkcast::learn
