#include "sim/collective/collective_messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "sim/activities/channel_flows.hpp"
#include "sim/activities/message_rates.hpp"
#include "sim/activities/message_ways.hpp"
#include "sim/congestion/reduced_alltoall.hpp"
#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

// Where messages cannot be taken together: 16,256 activities, some seconds. Who asks for the direct form may wait
// longer. source: ours
constexpr int kDirectRanks = 128, kDirectRanksAsked = 512;
constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: ends at the same time

/// How the library sends a group, and what comes before its bytes.
struct Group {
  MessageChoice choice;
  CollectivePlan made;
  activities::MessageRates::Group sizes;
};

/// @param bytes  of a message
Group start_group(const CollectiveJob& job, double bytes) {
  if (!(job.algorithm.empty() && job.protocol.empty()))
    throw InputError("op: " + job.op_name + " is made of messages, which take no algorithm and no protocol");
  const auto choice = job.rings().message(job.communicator, {bytes});
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  CollectivePlan made{{"messages", choice->protocol, choice->channels, choice->payload_share},
                      message_cost(job.node(), job.rings(), job.communicator, choice->protocol)};
  made.cost.channel_Bps *= alignment_share(choice->protocol, job.op.own_part() ? bytes : 0);
  made.latency_s = made.cost.base_s + made.cost.hop_s;
  if (!job.one_node()) {
    const double network_s = job.rings().network_hop_latency("ring", choice->protocol).si;
    made.latency_s += network_s;
    made.cost.error_s = std::hypot(made.cost.error_s, kNetworkHopError * network_s);
  }
  made.busiest_B = bytes;
  return {*choice, made, {job.ranks(), job.op.own_part(), made.cost.channel_Bps}};
}

/// What messages between nodes have in common. @param cap_Bps  most payload of one
congestion::UniformTraffic traffic_of(const CollectiveJob& job, const Group& group, double cap_Bps) {
  return {job.communicator.nodes, job.communicator.gpus, group.made.busiest_B, 1 / group.choice.payload_share, cap_Bps};
}

/// Of what limits the activities that end last, the keys.
std::vector<int> last_limits(const Solution& solution, const std::vector<int>& keys) {
  std::set<int> limits;
  for (std::size_t i = 0; i < solution.limited_by.size(); ++i)
    if (solution.limited_by[i] != kOwnCap && solution.finish_s[i] >= kTogether * solution.makespan_s)
      limits.insert(keys[at(solution.limited_by[i])]);
  return {limits.begin(), limits.end()};
}

/// One activity for each message between nodes.
class BetweenNodes {
 public:
  BetweenNodes(const CollectiveJob& job, congestion::UniformTraffic traffic, activities::ClusterProblem& problem)
      : job_(job),
        traffic_(std::move(traffic)),
        ways_(activities::message_ways(job.machine, job.communicator.gpus, traffic_.stored)),
        problem_(problem) {}

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
      problem_.pass_fabric(endpoint(from), endpoint(to), traffic_.stored);
      problem_.pass_engines(endpoint(from), endpoint(to), traffic_.stored);
      problem_.pass_constraints(to.node, ways_.in[at(to.gpu)].uses);
      farthest_s_ = std::max(farthest_s_, fabric_latency(job_.machine.fabric(), endpoint(from), endpoint(to)).si);
    }
    activity.rate_cap_Bps = std::min(activity.rate_cap_Bps, traffic_.rate_cap_Bps);
    problem_.add(std::move(activity));
  }
  /// What the longest way adds to the start-up.
  [[nodiscard]] double distance_s() const { return job_.machine.beyond_nearest({farthest_s_}).si; }

 private:
  [[nodiscard]] int endpoint(ClusterGpu end) const {
    return job_.machine.endpoint(end.node, job_.machine.nic_of(job_.communicator.gpus[at(end.gpu)]));
  }

  const CollectiveJob& job_;
  congestion::UniformTraffic traffic_;
  activities::MessageWays ways_;
  activities::ClusterProblem& problem_;
  double farthest_s_ = 0;
};

void plan_between(const CollectiveJob& job, const std::vector<PairMessage>& messages, Group& group,
                  activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.choice, messages, group.sizes);
  const double cap_Bps = rates.rate_Bps(messages.front(), std::numeric_limits<double>::infinity());
  BetweenNodes between(job, traffic_of(job, group, cap_Bps), problem);
  for (const PairMessage& message : messages) between.add(message);
  group.made.latency_s += between.distance_s();
}

void plan_in_node(const CollectiveJob& job, const std::vector<PairMessage>& messages, Group& group,
                  activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.choice, messages, group.sizes);
  const double payload_share = group.choice.payload_share;
  for (const PairMessage& message : messages) {
    const int from = job.communicator.gpus[at(message.from)], to = job.communicator.gpus[at(message.to)];
    const bool peers = job.node().peer_route(job.node().gpu(from), job.node().gpu(to)).has_value();
    const double link_Bps = activities::kernel_Bps(job.node(), from, to) * payload_share;
    const activities::ChannelLoad load{message.size.si, payload_share, rates.rate_Bps(message, link_Bps)};
    group.made.busiest_B = std::max(group.made.busiest_B, load.bytes);
    std::vector<Hop> way{{from, to, peers ? HopKind::kPeer : HopKind::kHostMemory}};
    problem.add_in_node(0, activities::channel_activity(problem.in_node(), way, load));
    group.made.hops.push_back(std::move(way));
  }
}

/// Of all messages together, per byte of one of them.
std::vector<Use> loads_of(const Problem& problem, const std::vector<int>& keys, double bytes) {
  std::vector<Use> sums;
  for (const int key : keys) sums.push_back({key, 0});
  for (const Activity& message : problem.activities)
    for (const Use& use : message.uses) sums[at(use.constraint)].weight += use.weight * message.work_B / bytes;
  return sums;
}

MessageAnswer run_direct(const CollectiveJob& job, MessageParts wanted, Solver& solver) {
  activities::ClusterProblem made(job.machine);
  if (wanted.busy) made.keep_crossings();
  MessageAnswer answer{plan(job, made)};
  const Problem& problem = made.problem();
  std::vector<int> keys;
  for (std::size_t i = 0; i < problem.capacity_Bps.size(); ++i) keys.push_back(made.key(static_cast<int>(i)));
  const Solution solution = solver.run(problem);
  answer.engine = "direct";
  answer.flow_s = solution.makespan_s;
  answer.classes = problem.activities.size();
  answer.messages = static_cast<double>(answer.classes);
  answer.limits = last_limits(solution, keys);
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_messages(made);
  if (wanted.loads) answer.loads = loads_of(problem, keys, answer.made.busiest_B);
  return answer;
}

/// @returns  false, with the reason in `answer`, where messages cannot be taken together
bool run_reduced(const CollectiveJob& job, MessageParts wanted, MessageAnswer& answer) {
  const double bytes = job.size_B / job.ranks();
  const Group group = start_group(job, bytes);
  const activities::MessageRates rates(group.choice, group.sizes);
  const congestion::UniformTraffic traffic =
      traffic_of(job, group, rates.rate_Bps({0, 1, {bytes}}, std::numeric_limits<double>::infinity()));
  auto reduced = congestion::reduce_alltoall(job.machine, traffic, wanted.loads);
  if (const auto* irregular = std::get_if<congestion::Irregular>(&reduced)) {
    answer.why_direct = irregular->why;
    return false;
  }
  congestion::ReducedAlltoall& sums = std::get<congestion::ReducedAlltoall>(reduced);
  answer.made = group.made;
  answer.made.latency_s += job.machine.beyond_nearest({sums.farthest_s}).si;
  answer.engine = "reduced";
  answer.messages = sums.messages;
  answer.classes = sums.classes;
  answer.limits = sums.limits;
  answer.flow_s = sums.time_s;
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_alltoall(job.machine, traffic);
  answer.loads = std::move(sums.loads);
  return true;
}

}  // namespace

CollectivePlan plan_messages(const CollectiveJob& job, activities::ClusterProblem& problem) {
  const std::vector<PairMessage> messages = job.op.messages({job.size_B}, job.ranks());
  Group group = start_group(job, messages.front().size.si);
  job.one_node() ? plan_in_node(job, messages, group, problem) : plan_between(job, messages, group, problem);
  return group.made;
}

MessageAnswer run_messages(const CollectiveJob& job, MessageParts wanted, Solver& solver) {
  if (!job.op.every_pair()) {
    if (job.engine == "reduced") throw InputError("engine: reduced is for operations between every pair of ranks");
    return run_direct(job, wanted, solver);
  }
  MessageAnswer answer;
  const int ranks = job.ranks();
  if (job.engine == "direct" || !run_reduced(job, wanted, answer)) {
    const std::string why = answer.why_direct;
    if (job.engine == "reduced") throw InputError("engine: reduced is not exact here: " + why);
    const int most = job.engine == "direct" ? kDirectRanksAsked : kDirectRanks;
    if (ranks > most)
      throw InputError("op: " + job.op_name + " of " + std::to_string(ranks) +
                       " ranks: " + (why.empty() ? "the direct engine" : why + ", and the direct engine") +
                       " takes at most " + std::to_string(most));
    answer = run_direct(job, wanted, solver);
    answer.why_direct = why;
  }
  return answer;
}

}  // namespace linkcast::collective
