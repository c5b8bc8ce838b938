#include "apps-traces/import/kineto_repetitions.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace linkcast::kineto {
namespace {

// A kernel is beside a collective, or alone, if this share of it is. source: ours, the ends of kernels that only touch
constexpr double kTouch = 0.01;

/// Places in a list of work by the time at which each starts.
std::vector<std::size_t> by_start(const std::vector<GpuWork>& all, bool communicates) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].communicates == communicates) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return all[a].start_s < all[b].start_s; });
  return order;
}

/// Share of each kernel's time in which a collective is on the GPU; 0 of collectives.
std::vector<double> shares_concurrent(const std::vector<GpuWork>& all) {
  std::vector<double> shares(all.size());
  const std::vector<std::size_t> collectives = by_start(all, true);
  std::set<std::size_t> running;  // as the kernel starts
  auto next = collectives.begin();
  for (const std::size_t i : by_start(all, false)) {
    const GpuWork& work = all[i];
    for (; next != collectives.end() && all[*next].start_s <= work.start_s; ++next) running.insert(*next);
    std::erase_if(running, [&](std::size_t one) { return all[one].end_s <= work.start_s; });
    std::set<std::size_t> concurrent = running;
    for (auto later = next; later != collectives.end() && all[*later].start_s < work.end_s; ++later)
      concurrent.insert(*later);
    double both_s = 0;
    for (const std::size_t one : concurrent)
      both_s += std::max(0.0, std::min(work.end_s, all[one].end_s) - std::max(work.start_s, all[one].start_s));
    if (work.end_s > work.start_s) shares[i] = both_s / (work.end_s - work.start_s);
  }
  return shares;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Part of a stretch of time in which the profiler had the CPU between steps.
double paused(const RankRecording& rank, double from_s, double to_s) {
  double sum_s = 0;
  auto pause = std::upper_bound(rank.pauses.begin(), rank.pauses.end(), from_s,
                                [](double time_s, const auto& one) { return time_s < one.second; });
  for (; pause != rank.pauses.end() && pause->first < to_s; ++pause)
    sum_s += std::max(0.0, std::min(to_s, pause->second) - std::max(from_s, pause->first));
  return sum_s;
}

/// CPU time between the end of the launch before, of the first the beginning of its step, and the end of each; what the
/// CPU waited for the GPU is none.
std::vector<double> host_times(const RankRecording& rank) {
  std::vector<double> times;
  double before_s = rank.work.front().launch_start_s;
  before_s = std::min(before_s, rank.begins_s.value_or(before_s));
  std::size_t wait = 0;
  for (const GpuWork& work : rank.work) {
    double waited_s = paused(rank, before_s, work.launch_end_s);
    for (; wait < rank.waits.size() && rank.waits[wait].start_s < work.launch_start_s; ++wait)
      if (rank.waits[wait].device) waited_s += rank.waits[wait].end_s - rank.waits[wait].start_s;
    times.push_back(std::max(0.0, work.launch_end_s - before_s - waited_s));
    before_s = std::max(before_s, work.launch_end_s);
  }
  return times;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

double RecordingCost::of(const Recorded& recorded) const {
  return operator_s * recorded.operators + collective_s * recorded.collectives + call_s * recorded.calls +
         launch_s * recorded.launches;
}

Repetitions::Repetitions(const std::vector<RankRecording>& ranks, const RecordingCost& cost) : cost_(cost) {
  for (const RankRecording& rank : ranks) look_at(rank);
  fit();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    pure_.emplace_back();
    for (std::size_t w = 0; w < ranks[r].work.size(); ++w)
      pure_.back().push_back(purified(ranks[r].work[w], beside_[r][w], seen_.at(keys_[r][w]),
                                      w == 0 ? first_host_s_[r] : std::numeric_limits<double>::infinity()));
  }
}

void Repetitions::look_at(const RankRecording& rank) {
  const std::vector<double> host_s = host_times(rank), shares = shares_concurrent(rank.work);
  first_host_s_.push_back(host_s.front());
  keys_.emplace_back();
  beside_.emplace_back();
  std::map<std::string, int> before;
  int step = 0;
  for (std::size_t w = 0; w < rank.work.size(); ++w) {
    const GpuWork& work = rank.work[w];
    if (work.step != step) before.clear();
    step = work.step;
    const Key key{work.shape, before[work.shape]++};
    keys_.back().push_back(key);
    beside_.back().push_back(shares[w]);
    Seen& seen = seen_[key];
    if (w > 0) {  // what the CPU did before the first was not recorded
      seen.host_s.push_back(host_s[w]);
      seen.recording_s.push_back(cost_.of(work.recorded));
    }
    if (work.communicates || !work.copy.empty()) continue;
    if (shares[w] < kTouch) seen.alone_s.push_back(work.end_s - work.start_s);
    if (shares[w] > 1 - kTouch) seen.beside_s.push_back(work.end_s - work.start_s);
  }
}

void Repetitions::fit() {
  double alone_s = 0, beside_s = 0;
  for (auto& [key, seen] : seen_) {
    seen.median_host_s = median(seen.host_s);
    seen.mean_host_s = seen.host_s.empty() ? 0 : mean(seen.host_s);
    seen.median_recording_s = median(seen.recording_s);
    if (!seen.both_ways()) continue;
    const double one_alone_s = mean(seen.alone_s), one_beside_s = mean(seen.beside_s);
    seen.slowdown = std::max(1.0, one_beside_s / one_alone_s);
    alone_s += one_alone_s;
    beside_s += one_beside_s;
    ++kernels_;
  }
  if (alone_s > 0) slowdown_ = std::max(1.0, beside_s / alone_s);
}

PureWork Repetitions::purified(const GpuWork& work, double beside, const Seen& seen, double most_host_s) const {
  PureWork pure{work.end_s - work.start_s, std::nullopt, std::min(seen.median_host_s, most_host_s)};
  if (!cost_.none()) {
    const double recorded_s = std::max(pure.host_s, std::min(seen.mean_host_s, most_host_s));
    pure.host_s -= std::min(pure.host_s, seen.median_recording_s);
    pure.recording_s = recorded_s - pure.host_s;
  }
  if (work.communicates) return pure;
  pure.slowdown = seen.slowdown;
  // what passed beside a collective was done at 1 / slow-down of the speed
  if (beside >= kTouch) pure.time_s *= 1 - beside * (1 - 1 / pure.slowdown.value_or(slowdown_));
  return pure;
}

}  // namespace linkcast::kineto
