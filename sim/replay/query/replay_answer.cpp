#include "sim/replay/query/replay_answer.hpp"

#include <map>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/query/shared_keys.hpp"
#include "sim/replay/trace_feed.hpp"

namespace linkcast::replay {
namespace {

/// What an application moves, and how long it is on the way: the sums that a profiler prints by kind of transfer.
class Traffic final : public ReplayObserver {
 public:
  void starts(const std::vector<ReplayRank>& ranks) override;
  void meets(int rank, const FedEvent& event, double now_s) override;
  void ends(int rank, const FedEvent& event, double now_s) override;

  /// {compute_s, total_s, total_B, kinds: [{name, calls, size_B, time_s}]}. Kinds are operations of collectives, the
  /// three copies, send and recv; each rank's part counts, from the moment when all had come. total_* are of the kinds.
  [[nodiscard]] Json json() const;

 private:
  static constexpr int kNone = -1;
  static constexpr double kNever = -1;
  struct Kind {
    long calls = 0;
    double size_B = 0, time_s = 0;
  };
  struct Rank {
    std::vector<double> since_s{};  ///< by stream: of what is on the way; kNever: nothing
    std::size_t feed = 0;
  };
  Kind& kind_of(std::size_t feed, const FedEvent& event);

  std::vector<Rank> ranks_;
  std::vector<const TraceFeed*> feeds_;
  std::vector<std::vector<int>> number_of_;  ///< in kinds_, by feed and place of the kind
  std::map<std::string, int> numbers_;
  std::vector<Kind> kinds_;
  double compute_s_ = 0;
};

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

double sum_of(const Json& rows, const std::string& key) {
  double sum = 0;
  for (const Json& row : rows) sum += row.at(key).get<double>();
  return sum;
}

}  // namespace

Json replay_answer(catalogue::Catalogue& catalogue, const ReplayRequest& request) {
  Traffic traffic;
  ReplayRequest seen = request;
  seen.machine = catalogue.with_library_topology(request.machine, request.library_topology, request.p2p_level);
  Json result = to_json(replay(catalogue, seen, {&traffic}));
  query::put_library_topology(*seen.machine, result);
  result["traffic"] = traffic.json();
  for (const char* key : {"communication_s", "exposed_s"}) result["traffic"][key] = sum_of(result["ranks"], key);
  return result;
}

}  // namespace linkcast::replay
