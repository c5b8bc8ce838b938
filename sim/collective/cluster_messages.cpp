#include "sim/collective/cluster_messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sim/activities/cluster_problem.hpp"
#include "sim/activities/message_rates.hpp"
#include "sim/activities/message_ways.hpp"
#include "sim/congestion/reduced_alltoall.hpp"

namespace linkcast::collective {
namespace {

// Where messages cannot be taken together: 16,256 activities, some seconds. Who asks for the direct form may wait
// longer. source: ours
constexpr int kDirectRanks = 128, kDirectRanksAsked = 512;
constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: ends at the same time

/// Protocol and start-up, and what all messages have in common.
struct Prepared {
  Run run;
  congestion::UniformTraffic traffic;
};

/// @param messages  empty: one from each rank to each other
Prepared prepare_messages(const ClusterJob& job, const std::vector<PairMessage>& messages) {
  const int ranks = job.communicator.ranks();
  const double bytes = messages.empty() ? job.size_B / ranks : messages.front().size.si;
  const auto choice = job.library.message(job.communicator, {bytes});
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  CollectiveCost cost = message_cost(job.cluster.node(), job.library, job.communicator, choice->protocol);
  cost.channel_Bps *= alignment_share(choice->protocol, job.op.block_distance({job.size_B}, ranks).si);
  const activities::MessageRates::Group group{ranks, job.op.own_part(), cost.channel_Bps};
  const activities::MessageRates rates =
      messages.empty() ? activities::MessageRates(*choice, group) : activities::MessageRates(*choice, messages, group);
  Run run{{"messages", choice->protocol, choice->channels, choice->payload_share}, cost};
  const double network_s = job.library.network_hop_latency("ring", choice->protocol).si;
  run.latency_s = cost.base_s + cost.hop_s + network_s;
  run.cost.error_s = std::hypot(cost.error_s, kNetworkHopError * network_s);
  run.busiest_B = bytes;
  const double cap = rates.rate_Bps(messages.empty() ? PairMessage{0, 1, {bytes}} : messages.front(),
                                    std::numeric_limits<double>::infinity());
  return {run, {job.communicator.nodes, job.communicator.gpus, bytes, 1 / choice->payload_share, cap}};
}

/// Of what limits the activities that end last, the keys.
std::vector<int> last_limits(const Solution& solution, const std::vector<int>& keys) {
  std::set<int> limits;
  for (std::size_t i = 0; i < solution.limited_by.size(); ++i)
    if (solution.limited_by[i] != kOwnCap && solution.finish_s[i] >= kTogether * solution.makespan_s)
      limits.insert(keys[static_cast<std::size_t>(solution.limited_by[i])]);
  return {limits.begin(), limits.end()};
}

void solve(const Problem& problem, const std::vector<int>& keys, Solver& solver, MessageAnswer& answer) {
  const Solution solution = solver.run(problem);
  answer.run.flow_s = solution.makespan_s;
  answer.classes = problem.activities.size();
  answer.limits = last_limits(solution, keys);
}

/// One activity for each message.
class DirectForm {
 public:
  DirectForm(const ClusterJob& job, const Prepared& prepared)
      : job_(job),
        prepared_(prepared),
        ways_(activities::message_ways(job.cluster, job.communicator.gpus, prepared.traffic.stored)),
        problem_(job.cluster) {
    if (job.keep_busy) problem_.keep_crossings();
  }

  void add(const PairMessage& message) {
    const int members = static_cast<int>(job_.communicator.gpus.size());
    const ClusterGpu from{message.from / members, message.from % members};  // members by their place
    const ClusterGpu to{message.to / members, message.to % members};
    Activity activity;
    activity.work_B = message.size.si;
    if (from.node == to.node) {
      const activities::NodeWay& way = ways_.inside[at(from.gpu)][at(to.gpu)];
      problem_.pass_constraints(from.node, way.uses);
      activity.rate_cap_Bps = way.rate_cap_Bps;
    } else {
      problem_.pass_constraints(from.node, ways_.out[at(from.gpu)].uses);
      problem_.pass_fabric(endpoint(from), endpoint(to), prepared_.traffic.stored);
      problem_.pass_engines(endpoint(from), endpoint(to), prepared_.traffic.stored);
      problem_.pass_constraints(to.node, ways_.in[at(to.gpu)].uses);
      farthest_s_ = std::max(farthest_s_, fabric_latency(job_.cluster.fabric(), endpoint(from), endpoint(to)).si);
    }
    activity.rate_cap_Bps = std::min(activity.rate_cap_Bps, prepared_.traffic.rate_cap_Bps);
    problem_.add(std::move(activity));
  }

  void finish(Solver& solver, MessageAnswer& answer) {
    const Problem& problem = problem_.problem();
    std::vector<int> keys;
    for (std::size_t i = 0; i < problem.capacity_Bps.size(); ++i) keys.push_back(problem_.key(static_cast<int>(i)));
    solve(problem, keys, solver, answer);
    answer.run.latency_s += job_.cluster.beyond_nearest({farthest_s_}).si;
    if (job_.keep_busy) answer.busy = congestion::BusyLinks::of_messages(problem_);
    if (job_.keep_loads) answer.loads = loads(keys);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// Of all messages together, per byte of one of them.
  std::vector<Use> loads(const std::vector<int>& keys) {
    std::vector<Use> sums;
    for (const int key : keys) sums.push_back({key, 0});
    for (const Activity& message : problem_.problem().activities)
      for (const Use& use : message.uses)
        sums[at(use.constraint)].weight += use.weight * message.work_B / prepared_.traffic.bytes;
    return sums;
  }
  [[nodiscard]] int gpu(int member) const { return job_.communicator.gpus[at(member)]; }
  [[nodiscard]] int endpoint(ClusterGpu end) const {
    return job_.cluster.endpoint(end.node, job_.cluster.nic_of(gpu(end.gpu)));
  }

  const ClusterJob& job_;
  const Prepared& prepared_;
  activities::MessageWays ways_;
  activities::ClusterProblem problem_;
  double farthest_s_ = 0;
};

MessageAnswer run_direct(const ClusterJob& job, Solver& solver) {
  const std::vector<PairMessage> messages = job.op.messages({job.size_B}, job.communicator.ranks());
  const Prepared prepared = prepare_messages(job, messages);
  MessageAnswer answer{prepared.run, "direct", ""};
  answer.messages = static_cast<double>(messages.size());
  DirectForm form(job, prepared);
  for (const PairMessage& message : messages) form.add(message);
  form.finish(solver, answer);
  return answer;
}

/// @returns  false, with the reason in `answer`, where messages cannot be taken together
bool run_reduced(const ClusterJob& job, MessageAnswer& answer) {
  const Prepared prepared = prepare_messages(job, {});
  auto reduced = congestion::reduce_alltoall(job.cluster, prepared.traffic, job.keep_loads);
  if (const auto* irregular = std::get_if<congestion::Irregular>(&reduced)) {
    answer.why_direct = irregular->why;
    return false;
  }
  congestion::ReducedAlltoall& made = std::get<congestion::ReducedAlltoall>(reduced);
  answer.run = prepared.run;
  answer.engine = "reduced";
  answer.messages = made.messages;
  answer.classes = made.classes;
  answer.limits = made.limits;
  answer.run.flow_s = made.time_s;
  answer.run.latency_s += job.cluster.beyond_nearest({made.farthest_s}).si;
  if (job.keep_busy) answer.busy = congestion::BusyLinks::of_alltoall(job.cluster, prepared.traffic);
  answer.loads = std::move(made.loads);
  return true;
}

}  // namespace

MessageAnswer run_messages(const ClusterJob& job, Solver& solver) {
  if (!job.op.every_pair()) {
    if (job.engine == "reduced") throw InputError("engine: reduced is for operations between every pair of ranks");
    return run_direct(job, solver);
  }
  MessageAnswer answer;
  const int ranks = job.communicator.ranks();
  if (job.engine == "direct" || !run_reduced(job, answer)) {
    const std::string why = answer.why_direct;
    if (job.engine == "reduced") throw InputError("engine: reduced is not exact here: " + why);
    const int most = job.engine == "direct" ? kDirectRanksAsked : kDirectRanks;
    if (ranks > most)
      throw InputError("op: " + job.op_name + " of " + std::to_string(ranks) +
                       " ranks: " + (why.empty() ? "the direct engine" : why + ", and the direct engine") +
                       " takes at most " + std::to_string(most));
    answer = run_direct(job, solver);
    answer.why_direct = why;
  }
  return answer;
}

}  // namespace linkcast::collective
