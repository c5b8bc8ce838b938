// Local copies that fit the level 2 cache. They move at the pace of the cache up to copies as large as it (P100, 4 MiB:
// 2.1 times as fast up to 4 MiB; H200, twice 25 MB: 1.6 times up to 16 MiB), beyond at that of the memory. Where only
// large copies were measured, another machine tells how much faster and up to which part of its cache.
#include <optional>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {
namespace {

/// The end of the cache in the local copies of a machine.
struct CacheEdge {
  const Calibration* lender = nullptr;
  double faster = 1;         ///< than beyond it
  double of_l2 = 0;          ///< largest copy over the cache's size
  double faster_stderr = 0;  ///< relative
};

const Parameter* own(const Calibration& calibration, std::size_t k, const RangeRow& row) {
  const Parameter* found = calibration.find(row("local", k));
  return found != nullptr && found->provenance == "fitted" ? found : nullptr;
}

std::optional<CacheEdge> edge_of(const Calibration& calibration, double l2_B) {
  for (std::size_t k = 0;; ++k) {
    const Parameter* here = own(calibration, k, key::range_bandwidth);
    const Parameter* end = own(calibration, k, key::range_end);
    if (end == nullptr) return std::nullopt;
    const Parameter* next = own(calibration, k + 1, key::range_bandwidth);
    if (here == nullptr || next == nullptr || here->value <= next->value) continue;
    return CacheEdge{&calibration, here->value / next->value, end->value / l2_B,
                     std::hypot(here->stderr_ / here->value, next->stderr_ / next->value)};
  }
}

std::optional<CacheEdge> known_edge(const FitContext& context) {
  for (const Calibration* lender : context.inherited) {
    const auto kin = context.kin.find(lender);
    if (kin == context.kin.end() || kin->second.l2_B <= 0) continue;
    if (const auto edge = edge_of(*lender, kin->second.l2_B)) return edge;
  }
  return std::nullopt;
}

}  // namespace

void borrow_cache(FitContext& context) {
  if (context.l2_B <= 0 || context.has(key::range_end("local", 0)) || !context.has(key::range_bandwidth("local", 0)))
    return;
  const auto edge = known_edge(context);
  if (!edge) return;
  const auto move = [&](const RangeRow& row) {
    const Parameter beyond = context.found.at(row("local", 0).name);
    const auto errors = context.errors.find(row("local", 0).name);
    context.found[row("local", 1).name] = beyond;
    if (errors != context.errors.end()) context.errors[row("local", 1).name] = errors->second;
    return beyond;
  };
  move(key::startup);
  const Parameter rate = move(key::range_bandwidth);
  const std::string as = "derived: as much faster in the level 2 cache as on " + edge->lender->name;
  const double spread = std::hypot(edge->faster_stderr, kOtherCopies);
  context.set(key::range_bandwidth("local", 0), rate.value * edge->faster, rate.value * edge->faster * spread, as);
  context.set(key::range_end("local", 0), context.l2_B * edge->of_l2, 0, as);
}

}  // namespace linkcast::fit
