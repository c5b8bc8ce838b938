#include "sim/replay/operations.hpp"

#include <map>

#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/replay/trace_feed.hpp"

namespace linkcast::replay {
namespace {

constexpr const char* kMessage = "message";

/// Place of its sum.
std::size_t place_of(const FedEvent& event) { return event.kind == TraceKind::kCollective ? at(event.which) + 1 : 0; }

}  // namespace

void Operations::starts(const std::vector<ReplayRank>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks_[rank].feed = ranks[rank].feed;
}

void Operations::bring_up(State& state, double now_s) {
  const double passed_s = now_s - state.updated_s;
  state.updated_s = now_s;
  if (state.computing > 0) return;
  for (Sum& sum : state.sums)
    if (sum.open > 0) sum.exposed_s += passed_s;
}

Operations::Sum& Operations::sum_at(State& state, std::size_t place) {
  if (state.sums.size() <= place) state.sums.resize(place + 1);
  state.sums[place].met = true;
  return state.sums[place];
}

void Operations::begins(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  ++(communicates(event.kind) ? sum_at(state, place_of(event)).open : state.computing);
}

void Operations::ends(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  --(communicates(event.kind) ? sum_at(state, place_of(event)).open : state.computing);
}

double Operations::bus_factor(const TraceFeed* feed, const Exchange& exchange) {
  if (exchange.op == Exchange::kMessage || exchange.ranks.size() < 2) return 1;
  BusFactor& known = bus_factor_;
  if (known.feed != feed || known.op != exchange.op || known.ranks != exchange.ranks.size())
    known = {feed, exchange.op, exchange.ranks.size(),
             collectives().get(feed->op(exchange.op)).bus_factor(static_cast<int>(exchange.ranks.size()))};
  return known.factor;
}

void Operations::moved(const Exchange& exchange) {
  const double bus_B = exchange.size_B * bus_factor(ranks_[at(exchange.ranks.front())].feed, exchange);
  for (const int rank : exchange.ranks) {
    Sum& sum = sum_at(ranks_[at(rank)], at(exchange.op + 1));
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
  std::map<std::string, std::size_t> places;  // of one job's feed
  for (std::size_t rank = first_rank; rank < end_rank; ++rank)
    for (std::size_t place = 0; place < ranks_[rank].sums.size(); ++place)
      if (ranks_[rank].sums[place].met)
        places.emplace(place == 0 ? kMessage : ranks_[rank].feed->op(static_cast<int>(place) - 1), place);
  std::vector<OperationTimes> all;
  for (const auto& [op, place] : places) {
    Sum sum;
    double ranks = 0;
    for (std::size_t rank = first_rank; rank < end_rank; ++rank) {
      const std::vector<Sum>& sums = ranks_[rank].sums;
      if (place >= sums.size() || !sums[place].met) continue;
      const Sum& own = sums[place];
      ++ranks;
      sum.calls += own.calls;
      sum.recorded_calls += own.recorded_calls;
      sum.size_B += own.size_B;
      sum.bus_B += own.bus_B;
      sum.time_s += own.time_s;
      sum.exposed_s += own.exposed_s;
      sum.recorded_s += own.recorded_s;
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
