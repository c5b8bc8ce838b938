#include "sim/collective/collective_messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/activities/channel_flows.hpp"
#include "sim/activities/message_rates.hpp"
#include "sim/activities/message_ways.hpp"
#include "sim/collective/alignment.hpp"
#include "sim/collective/host_path.hpp"
#include "sim/congestion/reduced_alltoall.hpp"
#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

// Where messages cannot be taken together: 16,256 activities, some seconds. Who asks for the direct form may wait
// longer. source: ours
constexpr int kDirectRanks = 128, kDirectRanksAsked = 1024;
// Of more ranks, some hundred links a message would not fit into memory: of the ways of each kind between two cards so
// many stand for all. source: ours, as in schedules
constexpr int kAllWaysRanks = 512, kWays = 8;
constexpr double kTogether = 1 - 1e-9;  // source: ours, against rounding: ends at the same time

/// How the library sends a message of a size, and what comes before its bytes.
struct Start {
  MessageChoice choice;
  CollectiveCost cost;
  double latency_s = 0;
  std::vector<ErrorPart> error_s{};
};

Start start_of(const CollectiveJob& job, double bytes) {
  if (!(job.algorithm.empty() && job.protocol.empty()))
    throw InputError("op: " + job.op_name + " is made of messages, which take no algorithm and no protocol");
  const auto choice = job.rings().message(job.communicator, {bytes});
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  Start start{*choice, message_cost(job.node(), job.rings(), job.communicator, choice->protocol)};
  narrow_blocks(job.node(), job.rings(), job.communicator, choice->protocol, job.op.own_part() ? bytes : 0, start.cost);
  const double between = job.one_node() ? 0 : 1;
  start.cost.channel_Bps = std::min(start.cost.channel_Bps, start.cost.network_Bps);
  start.latency_s = start.cost.latency_s(1, between);
  start.error_s = start.cost.latency_error_s(1, between);
  return start;
}

/// Of a group whose largest message has so many bytes.
CollectivePlan plan_of(const Start& largest, double bytes) {
  CollectivePlan made{{"messages", largest.choice.protocol, largest.choice.channels, largest.choice.payload_share},
                      largest.cost};
  made.latency_s = largest.latency_s;
  made.latency_error_s = largest.error_s;
  made.busiest_B = bytes;
  return made;
}

/// Between two members by their places.
Hop message_hop(const Platform& platform, const Communicator& made, int from, int to) {
  if (!made.pairs.empty()) return made.pairs[at(from) * made.gpus.size() + at(to)];
  const int source = made.gpus[at(from)], target = made.gpus[at(to)];
  const bool peers = platform.peer_route(platform.gpu(source), platform.gpu(target)).has_value();
  return {source, target, peers ? HopKind::kPeer : HopKind::kHostMemory};
}

/// All messages of a job.
struct Group {
  std::vector<activities::MessageRates::Sent> sent;
  CollectivePlan made;
};

/// The group begins when its slowest message has started.
Group group_of(const CollectiveJob& job) {
  Group group;
  double most_B = 0, latency_s = 0;
  std::map<double, Start> starts;  // by size
  for (const PairMessage& message : job.op.messages({job.size_B}, job.ranks())) {
    const double bytes = message.size.si;
    auto known = starts.find(bytes);
    if (known == starts.end()) known = starts.emplace(bytes, start_of(job, bytes)).first;
    const Start& start = known->second;
    group.sent.push_back({message, start.choice, start.cost.channel_Bps});
    most_B = std::max(most_B, bytes);
    latency_s = std::max(latency_s, start.latency_s);
  }
  group.made = plan_of(group.sent.empty() ? start_of(job, 0) : starts.at(most_B), most_B);
  group.made.latency_s = std::max(group.made.latency_s, latency_s);
  return group;
}

/// One activity for each message between nodes.
class BetweenNodes {
 public:
  BetweenNodes(const CollectiveJob& job, activities::ClusterProblem& problem) : job_(job), problem_(problem) {}

  /// @param stored  bytes on the way for each of the message
  void add(const PairMessage& message, double stored, double rate_cap_Bps) {
    const activities::MessageWays& ways = ways_of(stored);
    const int members = static_cast<int>(job_.communicator.gpus.size());
    const ClusterGpu from{message.from / members, message.from % members};  // members by their place
    const ClusterGpu to{message.to / members, message.to % members};
    Activity activity;
    activity.work_B = message.size.si;
    if (from.node == to.node) {
      const activities::NodeWay& way = ways.inside[at(from.gpu)][at(to.gpu)];
      problem_.pass_constraints(from.node, way.uses);
      activity.rate_cap_Bps = way.rate_cap_Bps;
    } else {
      const activities::NodeWay& out = ways.out[at(from.gpu)][at(to.gpu)];
      const int leaves = endpoint(from, activities::way_out(exits(), at(from.gpu), at(to.gpu))),
                enters = endpoint(to, activities::way_in(exits(), at(to.gpu)));
      problem_.pass_constraints(from.node, out.uses);
      problem_.pass_fabric(leaves, enters, stored);
      problem_.pass_engines(leaves, enters, stored);
      problem_.pass_constraints(to.node, ways.in[at(to.gpu)].uses);
      activity.rate_cap_Bps = out.rate_cap_Bps;
      farthest_s_ = std::max(farthest_s_, fabric_latency(job_.machine.fabric(), leaves, enters).si);
    }
    activity.rate_cap_Bps = std::min(activity.rate_cap_Bps, rate_cap_Bps);
    problem_.add(std::move(activity));
  }
  /// What the longest way adds to the start-up.
  [[nodiscard]] double distance_s() const { return job_.machine.beyond_nearest({farthest_s_}).si; }

 private:
  [[nodiscard]] const activities::Exits& exits() const { return job_.communicator.exits; }
  [[nodiscard]] int endpoint(ClusterGpu end, const NicWay& way) const {
    const ClusterGpu gpu{end.node, job_.communicator.gpus[at(end.gpu)]};
    return job_.machine.endpoint(end.node, activities::network_end(job_.machine, gpu, way).nic);
  }

  const activities::MessageWays& ways_of(double stored) {
    auto known = ways_.find(stored);
    if (known == ways_.end())
      known =
          ways_.emplace(stored, activities::message_ways(job_.machine, job_.communicator.gpus, exits(), stored)).first;
    return known->second;
  }

  const CollectiveJob& job_;
  activities::ClusterProblem& problem_;
  std::map<double, activities::MessageWays> ways_;  ///< by bytes on the way for each of a message
  double farthest_s_ = 0;
};

void plan_between(const CollectiveJob& job, Group& group, activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.sent, job.ranks(), job.op.own_part());
  BetweenNodes between(job, problem);
  for (const activities::MessageRates::Sent& one : group.sent)
    between.add(one.message, 1 / one.choice.payload_share, rates.rate_Bps(one));
  group.made.latency_s += between.distance_s();
}

/// Channels of a group's messages on the first and the last link of each way: behind switches all of a GPU queue for
/// one link, where GPUs are joined directly those to each other GPU have links of their own.
class Queues {
 public:
  Queues(const CollectiveJob& job, const std::vector<activities::MessageRates::Sent>& sent,
         const activities::MessageRates& rates)
      : job_(job) {
    for (const auto& one : sent)
      if (const auto& way = way_of(one); way && !way->links.empty()) {
        on_link_[way->links.front()] += rates.channels(one.choice);
        if (way->links.size() > 1) on_link_[way->links.back()] += rates.channels(one.choice);
      }
  }
  /// The longer of both queues; 0 where no way is direct.
  [[nodiscard]] int of(const activities::MessageRates::Sent& one) const {
    const auto& way = way_of(one);
    return way && !way->links.empty() ? std::max(on_link_.at(way->links.front()), on_link_.at(way->links.back())) : 0;
  }

 private:
  [[nodiscard]] const std::optional<Route>& way_of(const activities::MessageRates::Sent& one) const {
    const auto gpu = [&](int rank) { return job_.node().gpu(job_.communicator.gpus[at(rank)]); };
    return job_.node().peer_route(gpu(one.message.from), gpu(one.message.to));
  }

  const CollectiveJob& job_;
  std::map<int, int> on_link_;
};

void plan_in_node(const CollectiveJob& job, Group& group, activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.sent, job.ranks(), job.op.own_part());
  const Queues queues(job, group.sent, rates);
  for (const activities::MessageRates::Sent& one : group.sent) {
    const Hop hop = message_hop(job.node(), job.communicator, one.message.from, one.message.to);
    const double payload_share = one.choice.payload_share;
    const double link_Bps = activities::kernel_Bps(job.node(), hop) * payload_share;
    const double distance_B = job.op.own_part() ? one.message.size.si : 0;
    const double buffers_B = message_buffers_B(one.choice.channels, job.op.every_pair() ? job.ranks() - 1 : 1);
    const activities::ChannelLoad load{one.message.size.si, payload_share,
                                       rates.rate_Bps(one, link_Bps, queues.of(one)),
                                       host_hops(job.node(), job.communicator, hop.kind == HopKind::kHostMemory, 0,
                                                 element_B(job.op, one.choice.protocol, distance_B), buffers_B)};
    std::vector<Hop> way{hop};
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
  const bool pairs = job.op.every_pair() || job.op.traits().parts == PartSizes::kOfPairs;
  const bool all = !pairs || job.ranks() <= kAllWaysRanks;
  activities::ClusterProblem problem(job.machine, all ? std::numeric_limits<int>::max() : kWays);
  MessageAnswer answer = run_each_message(job, wanted, problem, solver);
  if (!all) answer.most_ways = kWays;
  return answer;
}

/// @returns  false, with the reason in `answer`, where messages cannot be taken together
bool run_reduced(const CollectiveJob& job, MessageParts wanted, MessageAnswer& answer) {
  const double bytes = job.size_B / job.ranks();
  const Start start = start_of(job, bytes);
  const activities::MessageRates::Sent each{{0, 1, {bytes}}, start.choice, start.cost.channel_Bps};
  const activities::MessageRates rates(each, job.ranks(), job.op.own_part());
  const congestion::UniformTraffic traffic{
      job.communicator.nodes,         job.communicator.gpus, bytes,
      1 / start.choice.payload_share, rates.rate_Bps(each),  job.communicator.exits};
  auto reduced = congestion::reduce_alltoall(job.machine, traffic, wanted.loads);
  if (const auto* irregular = std::get_if<congestion::Irregular>(&reduced)) {
    answer.why_direct = irregular->why;
    return false;
  }
  congestion::ReducedAlltoall& sums = std::get<congestion::ReducedAlltoall>(reduced);
  answer.made = plan_of(start, bytes);
  answer.made.latency_s += job.machine.beyond_nearest({sums.farthest_s}).si;
  answer.engine = "reduced";
  answer.messages = sums.messages;
  answer.classes = sums.classes;
  answer.limits = sums.limits.empty() ? std::vector<int>{kOwnCap} : sums.limits;
  answer.flow_s = sums.time_s;
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_alltoall(job.machine, traffic);
  answer.loads = std::move(sums.loads);
  return true;
}

}  // namespace

CollectivePlan plan_messages(const CollectiveJob& job, activities::ClusterProblem& problem) {
  Group group = group_of(job);
  job.one_node() ? plan_in_node(job, group, problem) : plan_between(job, group, problem);
  return group.made;
}

std::vector<int> last_limits(const activities::ClusterProblem& problem, const Solution& solution) {
  std::set<int> limits;
  for (std::size_t i = 0; i < solution.limited_by.size(); ++i)
    if (solution.limited_by[i] != kOwnCap && solution.finish_s[i] >= kTogether * solution.makespan_s)
      limits.insert(problem.key(solution.limited_by[i]));
  if (limits.empty() && !solution.limited_by.empty()) return {kOwnCap};
  return {limits.begin(), limits.end()};
}

MessageAnswer run_each_message(const CollectiveJob& job, MessageParts wanted, activities::ClusterProblem& made,
                               Solver& solver) {
  if (wanted.busy) made.keep_crossings();
  MessageAnswer answer{plan(job, made)};
  const Problem& problem = made.problem();
  const Solution solution = solver.run(problem);
  answer.engine = "direct";
  answer.flow_s = solution.makespan_s;
  answer.classes = problem.activities.size();
  answer.messages = static_cast<double>(answer.classes);
  answer.limits = last_limits(made, solution);
  answer.shared_late = solution.late_shares > 0;
  if (wanted.busy) answer.busy = congestion::BusyLinks::of_messages(made);
  if (wanted.loads) {
    std::vector<int> keys;
    for (std::size_t i = 0; i < problem.capacity_Bps.size(); ++i) keys.push_back(made.key(static_cast<int>(i)));
    answer.loads = loads_of(problem, keys, answer.made.busiest_B);
  }
  return answer;
}

void check_ranks(const CollectiveJob& job, const std::string& why) {
  const int most = job.engine == "direct" ? kDirectRanksAsked : kDirectRanks;
  if (job.ranks() > most)
    throw InputError(
        "op: " + job.op_name + " of " + std::to_string(job.ranks()) +
        " ranks: " + (why.empty() ? "the direct engine" : why + ", and the direct engine") + " takes at most " +
        std::to_string(most) +
        (job.engine != "direct" && job.ranks() <= kDirectRanksAsked
             ? ", or " + std::to_string(kDirectRanksAsked) + " where engine says direct, which takes seconds"
             : ""));
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
