#include "models/libraries/graph/channel_plan.hpp"

#include <algorithm>
#include <numeric>

#include "models/libraries/generations.hpp"

namespace linkcast::graph {
namespace {

// source of this block: models/libraries/SOURCES.md, "Graph era: search"
constexpr double kLeastOfFound = 0.49;  // a lower speed is tried while it is above this share of the one found
constexpr double kWide = 25;            // GB/s: channels from here on are split in two
constexpr double kWideHopper = 50;      // and after Ampere, where there are more than kFewHopper
constexpr int kFewHopper = 4;
constexpr double kNoPath = 0.1;  // what the library assumes of a channel it found no path for

/// Of the first member that has one.
int nic_of_any(const PathTable& paths) {
  for (int gpu = 0; gpu < paths.gpus(); ++gpu)
    if (!paths.local_nics(gpu).empty()) return paths.local_nics(gpu).front();
  return 0;
}

}  // namespace

int split_factor(const SearchTraits& traits, int sm, int channels, double speed) {
  const bool hopper = traits.many_hopper_stay_single && sm > kAmpere;
  return speed < kWide || (hopper && speed < kWideHopper && channels > kFewHopper) ? 1 : 2;
}

Planner::Planner(const NodeModel& model, const PathTable& paths, const SearchTraits& traits)
    : model_(model), paths_(paths), traits_(traits), search_(model, paths, traits.intel_peer_overhead) {
  const bool between = !model.ports().empty();
  speeds_ = &std::prev((between ? traits.network_speeds : traits.speeds).upper_bound(model.sm_min()))->second;
  widest_ = between ? paths.greatest_nic_width() : paths.greatest_width();
}

ChannelPlan Planner::plan() {
  ChannelPlan plan;
  const int most = traits_.max_channels / 2;  // all channels are duplicated in the end
  plan.rings = search(Pattern::kRing, 1, most);
  plan.trees = search(Pattern::kTree, traits_.trees_match_rings ? plan.rings.channels : 1, plan.rings.channels);
  plan.channels = std::min(plan.rings.channels, plan.trees.channels);
  plan.copies = 2;
  return plan;
}

ChannelSet Planner::search(Pattern pattern, int least, int most) {
  enough_ = 0;
  made_.clear();
  for (int gpu = 0; gpu < model_.gpus(); ++gpu) enough_ = std::max(enough_, model_.total_bandwidth(gpu));
  // An open chain leaves the links of one hop unused, so more of them may fit.
  if (pattern != Pattern::kRing && model_.gpus() > 1) enough_ *= model_.gpus() / (model_.gpus() - 1.0);
  ChannelSet best;
  best.pattern = pattern;
  best.min_channels = least;
  best.max_channels = most;
  find(best);
  if (best.channels > 0) {
    raise(best);
    split_wide(best);
    return best;
  }
  best.channels = 1;
  best.found = false;
  best.speed = best.network_speed = kNoPath;
  best.path_class = best.nic_class = PathClass::kSys;
  best.orders.resize(static_cast<std::size_t>(model_.gpus()));
  std::iota(best.orders.begin(), best.orders.end(), 0);
  if (paths_.nics() > 0) best.nics_in = best.nics_out = {nic_of_any(paths_)};
  return best;
}

std::size_t Planner::first_speed(double most) const {
  std::size_t index = 0;
  while (index + 1 < speeds().size() && speeds()[index] > most) ++index;
  return index;
}

void Planner::find(ChannelSet& best) {
  budget_ = traits_.budgets.all;
  ChannelSet wanted = best;
  for (std::size_t index = first_speed(widest_); index < speeds().size(); ++index) {
    if (best.channels > 0 && speeds()[index] / best.speed <= kLeastOfFound) return;
    wanted.speed = wanted.network_speed = speeds()[index];
    if (try_speed(wanted, best)) return;
  }
}

/// Between nodes rings first leave by the NIC they came in by, then by any, unless the user wants one of the two.
/// @returns true if the search is over
bool Planner::try_speed(ChannelSet wanted, ChannelSet& best) {
  if (paths_.nics() == 0) return try_classes(wanted, best);
  const bool may_cross = paths_.nics() > 1 && wanted.pattern == Pattern::kRing && paths_.cross_nic() != 0;
  const bool must_cross = may_cross && paths_.cross_nic() == 1;
  if (!must_cross && try_nic_classes(wanted, best)) return true;
  if (!may_cross) return false;
  wanted.crosses = true;
  return try_nic_classes(wanted, best);
}

/// Ways to NICs from best to worst until something is found; a detour through a GPU is tried even then.
bool Planner::try_nic_classes(ChannelSet wanted, ChannelSet& best) {
  for (const PathClass nic_class : traits_.classes) {
    if (nic_class < PathClass::kPix) continue;
    if (nic_class > PathClass::kPxn && best.channels > 0 && nic_class > best.nic_class) return false;
    wanted.nic_class = nic_class;
    if (try_classes(wanted, best)) return true;
  }
  return false;
}

/// Classes from best to worst until something is found; between nodes none that is worse than that to the NICs.
/// @returns true if the search is over
bool Planner::try_classes(ChannelSet wanted, ChannelSet& best) {
  const bool between = paths_.nics() > 0;
  const PathClass from = paths_.best_class();
  const PathClass to = between ? std::min(paths_.worst_class(), wanted.nic_class) : paths_.worst_class();
  wanted.path_class = PathClass::kLoc;
  if (paths_.gpus() == 1) return try_orders(wanted, best);
  for (const PathClass path_class : traits_.classes) {
    if (path_class < from) continue;
    if (path_class > from && (path_class > to || (best.channels > 0 && path_class > best.path_class))) return false;
    wanted.path_class = path_class;
    wanted.pattern = best.pattern == Pattern::kRing ? Pattern::kRing : Pattern::kTree;
    if (try_orders(wanted, best)) return true;
    if (wanted.pattern == Pattern::kRing || model_.sm_min() < kHopper || !traits_.plain_trees) continue;
    wanted.pattern = Pattern::kPlainTree;
    if (try_orders(wanted, best)) return true;
  }
  return false;
}

/// All channels in one order, then in different orders.
bool Planner::try_orders(ChannelSet wanted, ChannelSet& best) {
  wanted.same_order = true;
  if (attempt(wanted, best, traits_.budgets.same)) return true;
  if (model_.cpu() != CpuMaker::kAmd || wanted.path_class != PathClass::kSys) {
    wanted.same_order = false;
    if (attempt(wanted, best, budget_of(wanted))) return true;
  }
  budget_ += left_;
  return budget_ < 0 && best.channels > 0;
}

bool Planner::attempt(const ChannelSet& wanted, ChannelSet& best, long budget) {
  budget_ -= budget;
  const Attempt key{wanted.speed,
                    wanted.network_speed,
                    wanted.pattern,
                    wanted.same_order,
                    wanted.crosses,
                    wanted.min_channels,
                    paths_.worst_within(wanted.path_class),
                    paths_.worst_nic_within(wanted.nic_class)};
  const auto [known, fresh] = made_.try_emplace(key, 0);
  if (fresh) known->second = search_.run(wanted, best, budget);
  left_ = known->second;
  return left_ == ChannelSearch::kComplete || best.bandwidth() >= enough_;
}

void Planner::split_wide(ChannelSet& set) const {
  if (split_factor(traits_, model_.sm_min(), set.channels, set.speed) == 1) return;
  const int doubled = std::min(2 * set.channels, set.max_channels);
  for (auto* nics : {&set.nics_in, &set.nics_out})
    for (int i = set.channels; i < doubled && !nics->empty(); ++i)
      (*nics)[static_cast<std::size_t>(i)] = (*nics)[static_cast<std::size_t>(i - set.channels)];
  const auto used = static_cast<std::size_t>(set.channels * model_.gpus());
  set.orders.resize(static_cast<std::size_t>(set.max_channels * model_.gpus()));
  for (std::size_t i = used; i < static_cast<std::size_t>(doubled * model_.gpus()); ++i)
    set.orders[i] = set.orders[i - used];
  const int parts = (doubled + set.channels - 1) / set.channels;
  set.speed /= parts;
  set.network_speed /= parts;
  set.channels = doubled;
}

/// As many channels as found, but faster: rings at any higher speed of the list, trees step by step up to twice what
/// they carry between nodes.
void Planner::raise(ChannelSet& best) {
  ChannelSet wanted = best;
  wanted.min_channels = best.channels;
  const double twice = 2 * best.network_speed;
  std::size_t index = first_speed(best.speed);
  left_ = ChannelSearch::kComplete;
  while (left_ != 0 && index-- > 0) {
    wanted.speed = speeds()[index];
    if (best.pattern == Pattern::kRing) wanted.network_speed = wanted.speed;
    attempt(wanted, best, budget_of(wanted));
    if (best.pattern != Pattern::kRing && (best.speed != wanted.speed || wanted.speed >= twice)) return;
  }
}

long Planner::budget_of(const ChannelSet& wanted) const {
  if (wanted.same_order) return traits_.budgets.same;
  return wanted.pattern == Pattern::kRing ? traits_.budgets.different : traits_.budgets.trees;
}

}  // namespace linkcast::graph
