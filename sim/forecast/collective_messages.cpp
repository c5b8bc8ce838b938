#include "sim/forecast/collective_messages.hpp"

#include <limits>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/forecast/message_start.hpp"
#include "sim/plan/busy_links.hpp"
#include "sim/plan/message_rates.hpp"

namespace linkcast::collective {
namespace {

constexpr int kDirectRanks = 1024;  // source: ours; a million activities, some ten seconds, 2 s of 512 ranks
// Of more ranks, some hundred links a message would not fit into memory. Those between two switches are then a trunk of
// all messages there. Where each message is wanted with its links, of the routes of each kind between two cards so many
// stand for all. source: ours, as in schedules
constexpr int kAllWaysRanks = 512, kWays = 8;
constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: ends at the same time

/// Of all messages together, per byte of one of them.
std::vector<Use> loads_of(const Problem& problem, const std::vector<int>& keys, double bytes) {
  std::vector<double> loads_B(keys.size(), 0);
  activities::add_loads(problem, loads_B);
  std::vector<Use> sums;
  for (std::size_t i = 0; i < keys.size(); ++i) sums.push_back({keys[i], loads_B[i] / bytes});
  return sums;
}

MessageAnswer run_direct(const CollectiveJob& job, MessageParts wanted, Solver& solver) {
  const bool pairs = job.op.every_pair() || job.op.traits().parts == PartSizes::kOfPairs;
  const bool few = !pairs || job.ranks() <= kAllWaysRanks,
             trunks = !few && !wanted.busy && job.machine.routing() == FabricRouting::kAdaptive;
  const bool all = few || trunks;
  activities::ClusterProblem problem(job.machine, all ? std::numeric_limits<int>::max() : kWays);
  if (trunks) problem.share_trunks();
  MessageAnswer answer = run_each_message(job, wanted, problem, solver);
  if (!all) answer.most_ways = kWays;
  return answer;
}

/// @returns  false, with the reason in `answer`, where messages cannot be taken together
bool run_reduced(const CollectiveJob& job, MessageParts wanted, MessageAnswer& answer) {
  const double bytes = job.size_B / job.ranks();
  const MessageStart start = MessageStarts(job).of(bytes);
  const activities::MessageRates::Sent each{{0, 1, {bytes}}, start.choice, start.cost.channel_Bps};
  const activities::MessageRates rates(each, job.ranks(), own_messages(job));
  const congestion::UniformTraffic traffic{
      job.communicator.nodes,         job.communicator.gpus, bytes,
      1 / start.choice.payload_share, rates.rate_Bps(each),  job.communicator.exits};
  auto reduced = congestion::reduce_alltoall(job.machine, traffic, wanted.loads);
  if (const auto* irregular = std::get_if<congestion::Irregular>(&reduced)) {
    answer.why_direct = irregular->why;
    return false;
  }
  congestion::ReducedAlltoall& sums = std::get<congestion::ReducedAlltoall>(reduced);
  answer.plan = plan_of_group(start, bytes);
  answer.plan.latency_s += job.machine.beyond_nearest({sums.farthest_s}).si;
  answer.engine = "reduced";
  answer.messages = sums.messages;
  answer.classes = sums.classes;
  answer.limits = sums.limits.empty() ? std::vector<int>{kOwnCap} : sums.limits;
  answer.flow_s = sums.time_s;
  answer.wire_s = sums.wire_s;
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_alltoall(job.machine, traffic);
  answer.loads = std::move(sums.loads);
  return true;
}

}  // namespace

std::vector<int> last_limits(const activities::ClusterProblem& problem, const Solution& solution) {
  std::set<int> limits;
  for (std::size_t i = 0; i < solution.limited_by.size(); ++i)
    if (solution.limited_by[i] != kOwnCap && solution.finish_s[i] >= kTogether * solution.makespan_s)
      limits.insert(problem.key(solution.limited_by[i]));
  if (limits.empty() && !solution.limited_by.empty()) return {kOwnCap};
  return {limits.begin(), limits.end()};
}

MessageAnswer run_each_message(const CollectiveJob& job, MessageParts wanted, activities::ClusterProblem& whole,
                               Solver& solver) {
  if (wanted.busy) whole.keep_crossings();
  MessageAnswer answer{plan(job, whole)};
  const Problem& problem = whole.problem();
  const Solution solution = solver.run(problem);
  answer.engine = "direct";
  answer.flow_s = solution.makespan_s;
  answer.wire_s = whole.wire_bound_s();
  answer.classes = problem.activities.size();
  answer.messages = static_cast<double>(answer.classes);
  answer.limits = last_limits(whole, solution);
  answer.shared_late = solution.late_shares > 0;
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_messages(whole);
  if (wanted.loads) {
    std::vector<int> keys;
    for (std::size_t i = 0; i < problem.capacity_Bps.size(); ++i) keys.push_back(whole.key(static_cast<int>(i)));
    answer.loads = loads_of(problem, keys, answer.plan.busiest_B);
  }
  return answer;
}

void check_ranks(const CollectiveJob& job, const std::string& why) {
  if (job.ranks() > kDirectRanks)
    throw InputError("op: " + job.op_name + " of " + std::to_string(job.ranks()) +
                     " ranks: " + (why.empty() ? "the direct engine" : why + ", and the direct engine") +
                     " takes at most " + std::to_string(kDirectRanks));
}

MessageAnswer run_messages(const CollectiveJob& job, MessageParts wanted, Solver& solver) {
  if (!job.op.every_pair()) {
    if (job.engine == "reduced") throw InputError("engine: reduced is for operations between every pair of ranks");
    if (job.op.traits().parts == PartSizes::kOfPairs) check_ranks(job, "");
    return run_direct(job, wanted, solver);
  }
  MessageAnswer answer;
  if (job.engine == "direct" || !run_reduced(job, wanted, answer)) {
    const std::string why = answer.why_direct;
    if (job.engine == "reduced") throw InputError("engine: reduced is not exact here: " + why);
    check_ranks(job, why);
    answer = run_direct(job, wanted, solver);
    answer.why_direct = why;
  }
  return answer;
}

}  // namespace linkcast::collective
