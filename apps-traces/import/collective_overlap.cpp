#include "apps-traces/import/collective_overlap.hpp"

#include <algorithm>
#include <boost/math/statistics/linear_regression.hpp>
#include <map>
#include <tuple>
#include <utility>

namespace linkcast::kineto {
namespace {

// A line of fewer calls, or of shares closer together, says nothing. source: ours; apps-traces/measure/overlap.py
constexpr std::size_t kFewestCalls = 8;
constexpr double kLeastSpread = 0.25;

/// Computation of a rank's GPU, as stretches of time that do not touch.
class Computing {
 public:
  explicit Computing(const RankRecording& rank) {
    for (const GpuWork& work : rank.work)
      if (!work.communicates && work.copy.empty()) spans_.emplace_back(work.start_s, work.end_s);
    std::sort(spans_.begin(), spans_.end());
    std::size_t kept = 0;
    for (const auto& [start_s, end_s] : spans_) {
      if (kept > 0 && start_s <= spans_[kept - 1].second)
        spans_[kept - 1].second = std::max(spans_[kept - 1].second, end_s);
      else
        spans_[kept++] = {start_s, end_s};
    }
    spans_.resize(kept);
  }
  [[nodiscard]] double share_of(const GpuWork& work) const {
    if (work.end_s <= work.start_s) return 0;
    auto span = std::upper_bound(spans_.begin(), spans_.end(), std::pair(work.start_s, work.start_s));
    if (span != spans_.begin()) --span;
    double both_s = 0;
    for (; span != spans_.end() && span->first < work.end_s; ++span)
      both_s += std::max(0.0, std::min(work.end_s, span->second) - std::max(work.start_s, span->first));
    return both_s / (work.end_s - work.start_s);
  }

 private:
  std::vector<std::pair<double, double>> spans_;
};

/// One call, as the rank saw it that waited least.
struct SeenCall {
  std::size_t ranks = 0;
  double time_s = 0, share = 0;
};
using CallKind = std::tuple<std::string, double, std::string>;  ///< operation, bytes, group
using CallTurn = std::pair<std::string, long>;                  ///< group, and which of its calls
using SeenCalls = std::map<CallTurn, std::pair<CallKind, SeenCall>>;

void add_calls(const RankRecording& rank, SeenCalls& calls) {
  const Computing computing(rank);
  std::map<std::string, long> turns;
  for (const GpuWork& work : rank.work) {
    const Collective& what = work.collective;
    if (!work.communicates || what.peer >= 0) continue;
    auto& [kind, call] = calls[{what.group, turns[what.group]++}];
    kind = {what.op, what.size_B, what.group};
    const double time_s = work.end_s - work.start_s;
    if (call.ranks++ == 0 || time_s < call.time_s) {
      call.time_s = time_s;
      call.share = computing.share_of(work);
    }
  }
}

/// Time alone and beside computation, of the line through all calls.
std::pair<double, double> ends_of_line(const std::vector<SeenCall>& calls) {
  std::vector<double> shares, times_s;
  for (const SeenCall& call : calls) {
    shares.push_back(call.share);
    times_s.push_back(call.time_s);
  }
  const auto [alone_s, more_s] = boost::math::statistics::simple_ordinary_least_squares(shares, times_s);
  return {alone_s, alone_s + more_s};
}

bool tells(const std::vector<SeenCall>& calls) {
  if (calls.size() < kFewestCalls) return false;
  const auto [least, most] = std::minmax_element(
      calls.begin(), calls.end(), [](const SeenCall& a, const SeenCall& b) { return a.share < b.share; });
  return most->share - least->share >= kLeastSpread;
}

}  // namespace

CollectiveOverlap collective_overlap(const std::vector<RankRecording>& ranks) {
  SeenCalls calls;
  for (const RankRecording& rank : ranks) add_calls(rank, calls);
  std::map<CallKind, std::vector<SeenCall>> kinds;
  for (const auto& [turn, call] : calls) {
    const auto group = ranks.front().groups.find(turn.first);
    // A rank that was not recorded may be the one that others waited for.
    const std::size_t members = group == ranks.front().groups.end() ? ranks.size() : group->second.size();
    if (call.second.ranks == members) kinds[call.first].push_back(call.second);
  }
  CollectiveOverlap all;
  double alone_s = 0, beside_s = 0;
  for (const auto& [kind, same] : kinds) {
    if (!tells(same)) continue;
    const auto [alone, beside] = ends_of_line(same);
    if (alone <= 0) continue;
    alone_s += alone * static_cast<double>(same.size());
    beside_s += beside * static_cast<double>(same.size());
    all.calls += static_cast<int>(same.size());
  }
  if (alone_s > 0) all.slowdown = std::max(1.0, beside_s / alone_s);
  return all;
}

}  // namespace linkcast::kineto
