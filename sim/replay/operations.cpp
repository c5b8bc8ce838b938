#include "sim/replay/operations.hpp"

#include <set>

#include "sim/plugin/collective.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

constexpr const char* kMessage = "message";

std::string name_of(const TraceEvent& event) { return event.kind == TraceKind::kCollective ? event.op : kMessage; }

double bus_factor(const Exchange& exchange) {
  const int ranks = static_cast<int>(exchange.ranks.size());
  return exchange.op == kMessage || ranks < 2 ? 1 : collectives().get(exchange.op).bus_factor(ranks);
}

}  // namespace

void Operations::bring_up(State& state, double now_s) {
  const double passed_s = now_s - state.updated_s;
  state.updated_s = now_s;
  if (state.computing > 0) return;
  for (auto& [op, sum] : state.sums)
    if (sum.open > 0) sum.exposed_s += passed_s;
}

void Operations::begins(int rank, const TraceEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  ++(communicates(event.kind) ? state.sums[name_of(event)].open : state.computing);
}

void Operations::ends(int rank, const TraceEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  --(communicates(event.kind) ? state.sums[name_of(event)].open : state.computing);
}

void Operations::moved(const Exchange& exchange) {
  const double bus_B = exchange.size_B * bus_factor(exchange);
  for (const int rank : exchange.ranks) {
    Sum& sum = ranks_[at(rank)].sums[exchange.op];
    ++sum.calls;
    sum.size_B += exchange.size_B;
    sum.bus_B += bus_B;
    sum.time_s += exchange.ended_s - exchange.began_s;
    if (!exchange.recorded_s) continue;
    ++sum.recorded_calls;
    sum.recorded_s += *exchange.recorded_s;
  }
}

std::vector<OperationTimes> Operations::times(std::size_t first_rank, std::size_t end_rank) const {
  std::set<std::string> names;
  for (std::size_t rank = first_rank; rank < end_rank; ++rank)
    for (const auto& [op, sum] : ranks_[rank].sums) names.insert(op);
  std::vector<OperationTimes> all;
  for (const std::string& op : names) {
    Sum sum;
    double ranks = 0;
    for (std::size_t rank = first_rank; rank < end_rank; ++rank) {
      const auto own = ranks_[rank].sums.find(op);
      if (own == ranks_[rank].sums.end()) continue;
      ++ranks;
      sum.calls += own->second.calls;
      sum.recorded_calls += own->second.recorded_calls;
      sum.size_B += own->second.size_B;
      sum.bus_B += own->second.bus_B;
      sum.time_s += own->second.time_s;
      sum.exposed_s += own->second.exposed_s;
      sum.recorded_s += own->second.recorded_s;
    }
    const auto calls = static_cast<double>(sum.calls);
    OperationTimes row{op, calls / ranks, sum.size_B / ranks, sum.time_s / ranks, sum.exposed_s / ranks};
    if (sum.time_s > 0) row.bus_bandwidth_Bps = sum.bus_B / sum.time_s;
    if (sum.calls > 0 && sum.recorded_calls == sum.calls) {
      row.recorded_s = sum.recorded_s / ranks;
      if (sum.recorded_s > 0) row.recorded_bus_bandwidth_Bps = sum.bus_B / sum.recorded_s;
    }
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace linkcast::replay
