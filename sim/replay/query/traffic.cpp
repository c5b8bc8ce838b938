#include "sim/replay/query/traffic.hpp"

#include <utility>

#include "sim/records/object_reader.hpp"
#include "sim/replay/trace_feed.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

std::string name_of(const TraceFeed& feed, const FedEvent& event) {
  const std::string op = feed.op_of(event);
  return op.empty() ? to_text(event.kind) : op;
}

/// Kinds that every feed has come first, then operations of collectives by their numbers.
std::size_t place_of(const FedEvent& event) {
  constexpr std::size_t kKinds = 8, kCopies = 4;
  if (event.kind == TraceKind::kCollective) return kKinds + kCopies + at(event.which);
  return event.kind == TraceKind::kCopy ? kKinds + at(static_cast<int>(event.copy()))
                                        : at(static_cast<int>(event.kind));
}

}  // namespace

void Traffic::starts(const std::vector<ReplayRank>& ranks) {
  for (const ReplayRank& rank : ranks) {
    if (feeds_.empty() || feeds_.back() != rank.feed) feeds_.push_back(rank.feed);
    ranks_.push_back({{}, feeds_.size() - 1});
  }
  number_of_.resize(feeds_.size());
}

Traffic::Kind& Traffic::kind_of(std::size_t feed, const FedEvent& event) {
  std::vector<int>& numbers = number_of_[feed];
  const std::size_t place = place_of(event);
  if (numbers.size() <= place) numbers.resize(place + 1, kNone);
  if (numbers[place] == kNone) {
    const auto [known, fresh] = numbers_.try_emplace(name_of(*feeds_[feed], event), static_cast<int>(kinds_.size()));
    if (fresh) kinds_.emplace_back();
    numbers[place] = known->second;
  }
  return kinds_[at(numbers[place])];
}

void Traffic::meets(int rank, const FedEvent& event, double now_s) {
  std::vector<double>& since_s = ranks_[at(rank)].since_s;
  if (since_s.size() <= at(event.queue)) since_s.resize(at(event.queue) + 1, kNever);
  since_s[at(event.queue)] = now_s;
}

void Traffic::ends(int rank, const FedEvent& event, double now_s) {
  if (event.kind == TraceKind::kCompute) {
    compute_s_ += event.amount;
    return;
  }
  Rank& own = ranks_[at(rank)];
  Kind& kind = kind_of(own.feed, event);
  ++kind.calls;
  kind.size_B += event.amount;
  // None: a message that had come before its receive.
  if (own.since_s.size() <= at(event.queue) || own.since_s[at(event.queue)] == kNever) return;
  kind.time_s += now_s - std::exchange(own.since_s[at(event.queue)], kNever);
}

Json Traffic::json() const {
  Json kinds = Json::array();
  double total_s = 0, total_B = 0;
  for (const auto& [name, number] : numbers_) {
    const Kind& kind = kinds_[at(number)];
    kinds.push_back({{"name", name}, {"calls", kind.calls}, {"size_B", kind.size_B}, {"time_s", kind.time_s}});
    total_s += kind.time_s;
    total_B += kind.size_B;
  }
  return {{"compute_s", compute_s_}, {"total_s", total_s}, {"total_B", total_B}, {"kinds", kinds}};
}

}  // namespace linkcast::replay
