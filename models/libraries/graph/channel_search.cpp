#include "models/libraries/graph/channel_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "models/libraries/generations.hpp"
#include "sim/base/index.hpp"
#include "sim/base/random.hpp"

namespace linkcast::graph {
namespace {

constexpr double kThousandths = 1000;  // the library rounds what is left of a link to these
constexpr int kReadShare = 8;          // a GPU before Ampere sends 1/8 of what a NIC or CPU writes to it
constexpr int kLeft = -1;              // no member of the channel has to talk to a NIC any more

std::int64_t thousandths(double bandwidth) { return std::llround(bandwidth * kThousandths); }

}  // namespace

ChannelSearch::ChannelSearch(const NodeModel& model, const PathTable& paths, double intel_overhead)
    : model_(model), paths_(paths), gpus_(paths.gpus()), nics_(paths.nics()), intel_overhead_(intel_overhead) {
  for (const GraphLink& link : model.links()) capacity_.push_back(thousandths(link.bandwidth));
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to) pairs_.push_back(charged(paths.at(from, to), true));
  for (int gpu = 0; gpu < gpus_; ++gpu)
    for (int nic = 0; nic < nics_; ++nic) {
      to_nic_.push_back(charged(paths.to_nic(gpu, nic), true));
      from_nic_.push_back(charged(paths.from_nic(nic, gpu), false));
    }
  rank_nics();
  for (int gpu = 0; gpu < gpus_; ++gpu) slots_.push_back(slot(gpu));
}

/// The PCIe link upwards and the same the other way; -1: there is none.
std::pair<int, int> ChannelSearch::slot(int gpu) const {
  for (const int link : model_.nodes()[at(gpu)].links) {
    const GraphLink& up = model_.links()[at(link)];
    const NodeKind end = model_.nodes()[at(up.to)].kind;
    if (up.kind == LinkKind::kPci && (end == NodeKind::kPciSwitch || end == NodeKind::kCpu))
      return {link, model_.back(link)};
  }
  return {-1, -1};
}

ChannelSearch::Pair ChannelSearch::charged(const Path& path, bool from_gpu) {
  const bool intel = is_intel(model_.cpu()), power = model_.cpu() == CpuMaker::kPower;
  const std::size_t begin = charges_.size();
  for (const int index : path.links) {
    const GraphLink& link = model_.links()[at(index)];
    const NodeKind end = model_.nodes()[at(link.to)].kind;
    Charge charge{index, -1, intel && from_gpu && path.path_class == PathClass::kPhb && link.kind == LinkKind::kPci};
    if (power && link.kind == LinkKind::kNvlink && end == NodeKind::kCpu) charge.reverse = model_.back(index);
    if (!from_gpu && link.kind == LinkKind::kPci && end == NodeKind::kGpu && model_.sm_min() < kAmpere) {
      charge.reverse = model_.back(index);
      charge.reverse_part = kReadShare;
    }
    charges_.push_back(charge);
  }
  return {begin, charges_.size(), false};
}

/// First the NICs next to members, member after member, then the others, the best class first.
void ChannelSearch::rank_nics() {
  const auto append = [](std::vector<int>& list, int nic) {
    if (std::find(list.begin(), list.end(), nic) == list.end()) list.push_back(nic);
  };
  for (int gpu = 0; gpu < gpus_ && nics_ > 0; ++gpu) {
    append(entries_, paths_.local_nics(gpu).empty() ? 0 : paths_.local_nics(gpu).front());
    exits_.push_back(paths_.local_nics(gpu));
    std::vector<int> others(at(nics_));
    std::iota(others.begin(), others.end(), 0);
    std::stable_sort(others.begin(), others.end(),
                     [&](int a, int b) { return paths_.to_nic(gpu, a).path_class < paths_.to_nic(gpu, b).path_class; });
    for (const int nic : others) append(exits_.back(), nic);
  }
  for (int gpu = 0; gpu < gpus_ && nics_ > 0; ++gpu)
    for (const int nic : exits_[at(gpu)]) append(entries_, nic);
}

long ChannelSearch::run(const ChannelSet& wanted, ChannelSet& best, long budget) {
  now_ = wanted;
  now_.channels = now_.hops = 0;
  now_.orders.assign(static_cast<std::size_t>(gpus_ * wanted.max_channels), 0);
  if (nics_ > 0) {
    now_.nics_in.assign(at(wanted.max_channels), 0);
    now_.nics_out.assign(at(wanted.max_channels), 0);
  }
  best_ = &best;
  budget_ = budget;
  free_ = capacity_;
  in_channel_.assign(static_cast<std::size_t>(gpus_), 0);
  spent_.clear();
  start_pricing();
  allow();
  rank_neighbours();
  next_channel();
  return budget_;
}

ChannelSearch::Price ChannelSearch::price(double speed) const {
  const double through_cpu = speed * intel_overhead_ * kThousandths;
  return {{thousandths(speed), thousandths(speed)},
          {std::llround(std::ceil(through_cpu - 0.5 / kThousandths)), std::llround(through_cpu)}};
}

void ChannelSearch::start_pricing() {
  prices_[kInside] = price(now_.speed);
  prices_[kBetween] = price(now_.network_speed);
  prices_[kHalf] = price(now_.network_speed / 2);
}

void ChannelSearch::allow() {
  for (int from = 0; from < gpus_; ++from)
    for (int to = 0; to < gpus_; ++to) {
      const Path& path = paths_.at(from, to);
      pairs_[static_cast<std::size_t>(from * gpus_ + to)].allowed = path.found && path.path_class <= now_.path_class;
    }
  for (int gpu = 0; gpu < gpus_; ++gpu)
    for (int nic = 0; nic < nics_; ++nic) {
      const auto allowed = [&](const Path& path) { return path.found && path.path_class <= now_.nic_class; };
      to_nic_[at(gpu * nics_ + nic)].allowed = allowed(paths_.to_nic(gpu, nic));
      from_nic_[at(gpu * nics_ + nic)].allowed = allowed(paths_.from_nic(nic, gpu));
    }
}

/// Widest path first (whole GB/s), then fewest links, then the nearest index going round. Behind an NVSwitch only the
/// two next indices count.
void ChannelSearch::rank_neighbours() {
  neighbours_.assign(at(gpus_), {});
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    auto& list = neighbours_[at(gpu)];
    const int up = (gpu + 1) % gpus_, down = (gpu + gpus_ - 1) % gpus_;
    if (model_.has_nvswitch()) {
      if (now_.pattern == Pattern::kTree) list = {up, down};
      if (now_.pattern == Pattern::kRing) list = {down, up};
      if (now_.pattern == Pattern::kPlainTree || up == down) list = {up};
      continue;
    }
    for (int away = 1; away < gpus_; ++away)
      if (const int other = (gpu + away) % gpus_; pair(gpu, other).allowed) list.push_back(other);
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) { return inside_rank(gpu, a) < inside_rank(gpu, b); });
  }
  rank_towards_nics();
}

std::tuple<double, std::size_t> ChannelSearch::inside_rank(int gpu, int other) const {
  const Path& path = paths_.at(gpu, other);
  return {-std::floor(path.width), path.links.size()};
}

/// On the way to the member that talks to a NIC the next one is chosen by how near it is to the NIC. Before the last
/// hop, members that are all reached alike are taken the other way round: those next to the NIC are kept for the end.
void ChannelSearch::rank_towards_nics() {
  if (nics_ == 0 || model_.has_nvswitch()) return;
  towards_.clear();
  for (int nic = 0; nic < nics_; ++nic)
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      Towards ranked{neighbours_[at(gpu)], {}};
      std::stable_sort(ranked.last.begin(), ranked.last.end(), [&](int a, int b) {
        const auto rank = [&](int other) {
          const Path& path = paths_.from_nic(nic, other);
          return std::tuple(-std::floor(path.width), path.links.size());
        };
        return rank(a) < rank(b);
      });
      ranked.before = ranked.last;
      const auto& list = neighbours_[at(gpu)];
      if (!list.empty() && inside_rank(gpu, list.front()) == inside_rank(gpu, list.back()))
        std::reverse(ranked.before.begin(), ranked.before.end());
      towards_.push_back(std::move(ranked));
    }
}

const std::vector<int>& ChannelSearch::next_ones(int gpu, int step, int leave) const {
  if (leave == kLeft || towards_.empty()) return neighbours_[at(gpu)];
  const Towards& ranked = towards_[at(now_.nics_in[at(now_.channels)] * gpus_ + gpu)];
  return step + 1 == leave ? ranked.last : ranked.before;
}

void ChannelSearch::give_back_charges(std::size_t begin, std::size_t end, const Price& price) {
  for (std::size_t i = begin; i < end; ++i) {
    const Charge& charge = charges_[i];
    free_[at(charge.link)] += (charge.through_intel_cpu ? price.overhead : price.plain).taken;
    if (charge.reverse >= 0) free_[at(charge.reverse)] += price.plain.taken / charge.reverse_part;
  }
}

bool ChannelSearch::take(const Pair& path, PriceOf of) {
  if (!path.allowed) return false;
  const Price& price = prices_[of];
  for (std::size_t i = path.begin; i < path.end; ++i) {
    const Charge& charge = charges_[i];
    const Cost& cost = charge.through_intel_cpu ? price.overhead : price.plain;
    auto& link = free_[at(charge.link)];
    auto* reverse = charge.reverse >= 0 ? &free_[at(charge.reverse)] : nullptr;
    if (link < cost.needed || (reverse && *reverse < price.plain.needed / charge.reverse_part)) {
      give_back_charges(path.begin, i, price);
      return false;
    }
    link -= cost.taken;
    if (reverse) *reverse -= price.plain.taken / charge.reverse_part;
  }
  now_.hops += static_cast<int>(path.end - path.begin);
  return true;
}

void ChannelSearch::give_back(const Pair& path, PriceOf of) {
  give_back_charges(path.begin, path.end, prices_[of]);
  now_.hops -= static_cast<int>(path.end - path.begin);
}

/// Where the same is left of the links and the channel before was the same, the same channels follow: of those tried
/// before none is better now, so that what they took of the budget is all that counts. Behind a switch nearly every
/// order of the members leaves the same.
void ChannelSearch::next_channel() {
  if (budget_ <= 0) return;
  const State before = state();
  if (const auto known = spent_.find(before); known != spent_.end()) {
    budget_ = std::max(0L, budget_ - known->second);
    return;
  }
  const long had = budget_;
  try_channel();
  if (budget_ > 0) spent_.emplace(before, had - budget_);
}

ChannelSearch::State ChannelSearch::state() const {
  State state;
  const auto add = [&state](std::int64_t value) {
    state.low = mixed(state.low ^ static_cast<std::uint64_t>(value));
    state.high += mixed(state.low);
  };
  add(now_.channels);
  add(now_.hops);
  for (const std::int64_t link : free_) add(link);
  if (now_.channels == 0) return state;
  const int last = now_.channels - 1;
  for (int i = last * gpus_; i < now_.channels * gpus_; ++i) add(now_.orders[at(i)]);
  if (nics_ > 0) add(now_.nics_in[at(last)]), add(now_.nics_out[at(last)]);
  return state;
}

void ChannelSearch::try_channel() {
  if (nics_ > 0) return enter_by_nics();
  if (now_.channels == 0)
    start(0, Order::kIndex);
  else
    start(now_.orders[static_cast<std::size_t>((now_.channels - 1) * gpus_)], Order::kAsBefore);
  if (now_.same_order && now_.channels > 0) return;
  for (int gpu = 0; gpu < gpus_; ++gpu) start(gpu, Order::kFree);
}

/// Channels begin at different NICs while there are any. Where rings leave by another NIC, every second one runs the
/// other way round, so that the data of a NIC go to the NIC of the same number.
void ChannelSearch::enter_by_nics() {
  for (int i = 0; i < nics_; ++i) {
    const int nic = entries_[at((now_.channels + i) % nics_)];
    if (in_pairs() && now_.channels % 2 == 1 && nic != now_.nics_out[at(now_.channels - 1)]) continue;
    enter_by(nic);
  }
}

/// In the order of the channel before; in index order, as a reference; then from the members next to the NIC, at first
/// those whose PCIe link still has something left both ways.
void ChannelSearch::enter_by(int nic) {
  now_.nics_in[at(now_.channels)] = nic;
  if (now_.channels > 0) enter_at(nic, now_.orders[at((now_.channels - 1) * gpus_)], Order::kAsBefore);
  if (now_.channels > 0 && now_.same_order) return;
  if (now_.channels == 0 && !model_.has_nvswitch()) enter_at(nic, 0, Order::kIndex);
  for (const bool used : {false, true})
    for (const int gpu : paths_.local_gpus(nic))
      if (pci_used_up(gpu) == used) enter_at(nic, gpu, Order::kFree);
}

bool ChannelSearch::pci_used_up(int gpu) const {
  const auto [up, down] = slots_[at(gpu)];
  return up < 0 || std::min(free_[at(up)], free_[at(down)]) <= 0;
}

void ChannelSearch::enter_at(int nic, int gpu, Order order) {
  const Pair& path = from_nic_[at(gpu * nics_ + nic)];
  if (budget_ <= 0 || !take(path, kBetween)) return;
  start(gpu, order);
  give_back(path, kBetween);
}

/// Where the library itself decides that rings leave by another NIC, it pairs them.
bool ChannelSearch::in_pairs() const { return now_.crosses && paths_.cross_nic() == 2; }

bool ChannelSearch::may_leave_by(int nic, int step) const {
  const int entry = now_.nics_in[at(now_.channels)];
  if (now_.pattern != Pattern::kRing) return step == 0 ? nic == entry : nic == now_.nics_out[at(now_.channels)];
  if (!now_.crosses) return nic == entry;
  return !in_pairs() || now_.channels % 2 == 0 || nic == now_.nics_in[at(now_.channels - 1)];
}

/// A ring's last member leaves. A tree's first member talks to its parent and one child, the next one to the other
/// child: half of the traffic each.
void ChannelSearch::leave_by_nics(int gpu, int step, Order order) {
  const bool half = now_.pattern == Pattern::kTree && gpus_ > 1;
  for (const int nic : exits_[at(gpu)]) {
    const Pair& path = to_nic_[at(gpu * nics_ + nic)];
    const PriceOf price = half ? kHalf : kBetween;
    if (budget_ <= 0) return;
    if (!may_leave_by(nic, step) || !take(path, price)) continue;
    now_.nics_out[at(now_.channels)] = nic;
    --budget_;  // the library counts it as a hop
    go_on(gpu, step, order, half && step == 0 ? 1 : kLeft);
    give_back(path, price);
  }
}

void ChannelSearch::start(int gpu, Order order) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  in_channel_[static_cast<std::size_t>(gpu)] |= bit;
  place(gpu, 0, order, nics_ == 0 ? kLeft : now_.pattern == Pattern::kRing ? gpus_ - 1 : 0);
  in_channel_[static_cast<std::size_t>(gpu)] &= ~bit;
}

void ChannelSearch::place(int gpu, int step, Order order, int leave) {
  if (budget_ <= 0) return;
  --budget_;
  now_.orders[at(now_.channels * gpus_ + step)] = gpu;
  if (step == leave) return leave_by_nics(gpu, step, order);
  go_on(gpu, step, order, leave);
}

void ChannelSearch::go_on(int gpu, int step, Order order, int leave) {
  if (step < gpus_ - 1) return go_to_next(gpu, step, order, leave);
  const int home = now_.orders[at(now_.channels * gpus_)];
  const bool closed = now_.pattern == Pattern::kRing && nics_ == 0;
  if (closed && !take(pair(gpu, home), kInside)) return;
  finish_channel();
  if (closed) give_back(pair(gpu, home), kInside);
}

void ChannelSearch::go_to_next(int gpu, int step, Order order, int leave) {
  const std::uint64_t bit = std::uint64_t{1} << now_.channels;
  const auto move_to = [&](int next) {
    if (!take(pair(gpu, next), kInside)) return;
    in_channel_[static_cast<std::size_t>(next)] |= bit;
    place(next, step + 1, order, leave);
    in_channel_[static_cast<std::size_t>(next)] &= ~bit;
    give_back(pair(gpu, next), kInside);
  };
  if (order == Order::kIndex) return move_to(step + 1);
  if (order == Order::kAsBefore)
    return move_to(now_.orders[static_cast<std::size_t>((now_.channels - 1) * gpus_ + step + 1)]);
  for (const int next : next_ones(gpu, step, leave)) {
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
  return now_.pattern == best_->pattern && now_.crosses == best_->crosses && now_.hops < best_->hops;
}

}  // namespace linkcast::graph
