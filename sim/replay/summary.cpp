#include "sim/replay/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/index.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::replay {
namespace {

// Share of the critical path below which faster links hardly matter: all that they could gain. source: ours
constexpr double kHardly = 0.1;
constexpr double kPercent = 100;

std::string percent(double share) { return fmt::format("{} %", std::lround(kPercent * share)); }

}  // namespace

std::string bound_of(const CriticalPath& path) {
  const double all_s = std::accumulate(path.seconds.begin(), path.seconds.end(), 0.0);
  if (all_s <= 0) return "";
  const double host = path.seconds[CriticalPath::kHost] / all_s;
  const double links = (path.seconds[CriticalPath::kNetwork] + path.seconds[CriticalPath::kCopy]) / all_s;
  const double device = 1 - host - links;
  const std::string gain = "gain at most " + percent(links);
  const std::string faster = "faster links " + std::string(links < kHardly ? "hardly matter: they " : "") + gain;
  if (links >= host && links >= device) return "link-bound: " + faster;
  return (host >= device ? "host-bound: CPUs are late, " : "device-bound: GPUs compute, ") + faster;
}

void ReplaySummary::bring_up(State& state, double now_s) {
  const double passed_s = now_s - state.updated_s;
  state.updated_s = now_s;
  if (state.computing > 0) state.times.compute_s += passed_s;
  if (state.communicating > 0) state.times.communication_s += passed_s;
  if (state.communicating > 0 && state.computing == 0) state.times.exposed_s += passed_s;
  if (state.waiting > 0) state.times.waiting_s += passed_s;
  if (state.communicating == 0 && state.computing == 0) state.times.idle_s += passed_s;
}

void ReplaySummary::begins(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  ++(communicates(event.kind) ? state.communicating : state.computing);
  if (communicates(event.kind)) ++state.waiting;
}

void ReplaySummary::meets(int rank, const FedEvent& event, double now_s) {
  if (!communicates(event.kind)) return;
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  --state.waiting;
}

void ReplaySummary::ends(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  --(communicates(event.kind) ? state.communicating : state.computing);
  makespan_s_ = std::max(makespan_s_, now_s);
}

void ReplaySummary::step(int rank, const FedEvent& event, int /*step*/, double now_s) {
  ++steps_[at(rank)];
  if (const RecordedTime* recorded = event.recorded()) recorded_s_[at(rank)].push_back(recorded->duration_s());
  makespan_s_ = std::max(makespan_s_, now_s);
}

RankTimes ReplaySummary::times_until(std::size_t rank, double now_s) const {
  State state = ranks_[rank];
  bring_up(state, now_s);
  return state.times;
}

std::vector<double> ReplaySummary::recorded_steps(std::size_t first_rank, std::size_t end_rank) const {
  const std::size_t steps = steps_[first_rank];
  for (std::size_t rank = first_rank; rank < end_rank; ++rank)
    if (recorded_s_[rank].size() != steps || steps_[rank] != steps) return {};
  std::vector<double> durations;
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> of_ranks;
    for (std::size_t rank = first_rank; rank < end_rank; ++rank) of_ranks.push_back(recorded_s_[rank][step]);
    durations.push_back(median(std::move(of_ranks)));
  }
  return durations;
}

}  // namespace linkcast::replay
