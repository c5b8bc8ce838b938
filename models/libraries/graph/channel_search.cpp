#include "models/libraries/graph/channel_search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace linkcast::graph {
namespace {

constexpr double kThousandths = 1000;  // the library rounds what is left of a link to these

std::int64_t thousandths(double bandwidth) { return std::llround(bandwidth * kThousandths); }

}  // namespace

ChannelSearch::ChannelSearch(const NodeModel& model, const PathTable& paths, double intel_overhead)
    : model_(model), paths_(paths), gpus_(paths.gpus()), intel_overhead_(intel_overhead) {
  for (const GraphLink& link : model.links()) capacity_.push_back(thousandths(link.bandwidth));
  const bool intel = is_intel(model.cpu()), power = model.cpu() == CpuMaker::kPower;
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to) {
      const Path& path = paths.at(from, to);
      const auto to_cpu = [&](const GraphLink& link) {
        return model.nodes()[static_cast<std::size_t>(link.to)].kind == NodeKind::kCpu;
      };
      const std::size_t begin = charges_.size();
      for (const int index : path.links) {
        const GraphLink& link = model.links()[static_cast<std::size_t>(index)];
        const bool both_ways = power && link.kind == LinkKind::kNvlink && to_cpu(link);
        charges_.push_back({index, both_ways ? model.back(index) : -1,
                            intel && path.path_class == PathClass::kPhb && link.kind == LinkKind::kPci});
      }
      pairs_.push_back({begin, charges_.size(), false});
    }
}

long ChannelSearch::run(const ChannelSet& wanted, ChannelSet& best, long budget) {
  now_ = wanted;
  now_.channels = now_.hops = 0;
  now_.orders.assign(static_cast<std::size_t>(gpus_ * wanted.max_channels), 0);
  best_ = &best;
  budget_ = budget;
  free_ = capacity_;
  in_channel_.assign(static_cast<std::size_t>(gpus_), 0);
  price(wanted.speed);
  allow(wanted.path_class);
  rank_neighbours();
  next_channel();
  return budget_;
}

void ChannelSearch::price(double speed) {
  plain_ = {thousandths(speed), thousandths(speed)};
  const double through_cpu = speed * intel_overhead_ * kThousandths;
  overhead_ = {std::llround(std::ceil(through_cpu - 0.5 / kThousandths)), std::llround(through_cpu)};
}

void ChannelSearch::allow(PathClass worst) {
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to) {
      const Path& path = paths_.at(from, to);
      pairs_[static_cast<std::size_t>(from * gpus_ + to)].allowed = path.found && path.path_class <= worst;
    }
}

/// Widest path first (whole GB/s), then fewest links, then the nearest index going round. Behind an NVSwitch only the
/// two next indices count.
void ChannelSearch::rank_neighbours() {
  neighbours_.assign(static_cast<std::size_t>(gpus_), {});
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    auto& list = neighbours_[static_cast<std::size_t>(gpu)];
    const int up = (gpu + 1) % gpus_, down = (gpu + gpus_ - 1) % gpus_;
    if (model_.has_nvswitch()) {
      if (now_.pattern == Pattern::kTree) list = {up, down};
      if (now_.pattern == Pattern::kRing) list = {down, up};
      if (now_.pattern == Pattern::kPlainTree || up == down) list = {up};
      continue;
    }
    for (int away = 1; away < gpus_; ++away)
      if (const int other = (gpu + away) % gpus_; pair(gpu, other).allowed) list.push_back(other);
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      const auto key = [&](int other) {
        const Path& path = paths_.at(gpu, other);
        return std::tuple(-std::floor(path.width), path.links.size());
      };
      return key(a) < key(b);
    });
  }
}

void ChannelSearch::give_back_charges(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Charge& charge = charges_[i];
    free_[static_cast<std::size_t>(charge.link)] += (charge.through_intel_cpu ? overhead_ : plain_).taken;
    if (charge.reverse >= 0) free_[static_cast<std::size_t>(charge.reverse)] += plain_.taken;
  }
}

bool ChannelSearch::take(int from, int to) {
  const Pair& path = pair(from, to);
  if (!path.allowed) return false;
  for (std::size_t i = path.begin; i < path.end; ++i) {
    const Charge& charge = charges_[i];
    const Cost& cost = charge.through_intel_cpu ? overhead_ : plain_;
    auto& link = free_[static_cast<std::size_t>(charge.link)];
    auto* reverse = charge.reverse >= 0 ? &free_[static_cast<std::size_t>(charge.reverse)] : nullptr;
    if (link < cost.needed || (reverse && *reverse < plain_.needed)) {
      give_back_charges(path.begin, i);
      return false;
    }
    link -= cost.taken;
    if (reverse) *reverse -= plain_.taken;
  }
  now_.hops += static_cast<int>(path.end - path.begin);
  return true;
}

void ChannelSearch::give_back(int from, int to) {
  const Pair& path = pair(from, to);
  give_back_charges(path.begin, path.end);
  now_.hops -= static_cast<int>(path.end - path.begin);
}

void ChannelSearch::next_channel() {
  if (now_.channels == 0)
    start(0, Order::kIndex);
  else
    start(now_.orders[static_cast<std::size_t>((now_.channels - 1) * gpus_)], Order::kAsBefore);
  if (now_.same_order && now_.channels > 0) return;
  for (int gpu = 0; gpu < gpus_; ++gpu) start(gpu, Order::kFree);
}

void ChannelSearch::start(int gpu, Order order) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  in_channel_[static_cast<std::size_t>(gpu)] |= bit;
  place(gpu, 0, order);
  in_channel_[static_cast<std::size_t>(gpu)] &= ~bit;
}

void ChannelSearch::place(int gpu, int step, Order order) {
  if (budget_ <= 0) return;
  --budget_;
  const auto first = static_cast<std::size_t>(now_.channels * gpus_);
  now_.orders[first + static_cast<std::size_t>(step)] = gpu;
  if (step < gpus_ - 1) return go_on(gpu, step, order);
  const int home = now_.orders[first];
  const bool closed = now_.pattern == Pattern::kRing;
  if (closed && !take(gpu, home)) return;
  finish_channel();
  if (closed) give_back(gpu, home);
}

void ChannelSearch::go_on(int gpu, int step, Order order) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  const auto move_to = [&](int next) {
    if (!take(gpu, next)) return;
    in_channel_[static_cast<std::size_t>(next)] |= bit;
    place(next, step + 1, order);
    in_channel_[static_cast<std::size_t>(next)] &= ~bit;
    give_back(gpu, next);
  };
  if (order == Order::kIndex) return move_to(step + 1);
  if (order == Order::kAsBefore)
    return move_to(now_.orders[static_cast<std::size_t>((now_.channels - 1) * gpus_ + step + 1)]);
  for (const int next : neighbours_[static_cast<std::size_t>(gpu)]) {
    if (budget_ <= 0) return;
    if (!(in_channel_[static_cast<std::size_t>(next)] & bit)) move_to(next);
  }
}

void ChannelSearch::finish_channel() {
  if (budget_ <= 0) return;
  --budget_;  // the library counts the end of a channel as a hop
  ++now_.channels;
  if (better()) {
    *best_ = now_;
    if (now_.channels == now_.max_channels) budget_ = kComplete;
  }
  if (now_.channels < now_.max_channels) next_channel();
  --now_.channels;
}

/// More bandwidth, or as much over fewer links.
bool ChannelSearch::better() const {
  if (now_.channels < now_.min_channels) return false;
  if (now_.bandwidth() != best_->bandwidth()) return now_.bandwidth() > best_->bandwidth();
  return now_.pattern == best_->pattern && now_.hops < best_->hops;
}

}  // namespace linkcast::graph
