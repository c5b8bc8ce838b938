// Operations made of messages between pairs of ranks: alltoall, sendrecv, gather, scatter, in one group.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/message_start.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/message_rates.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/plan/two_limits.hpp"

namespace linkcast {
namespace {

using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::CollectivePlan;
using collective::CostRequest;
using collective::Figure;
using collective::MessageStart;

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
  CollectivePlan plan;
};

/// The group begins when its slowest message has started.
Group group_of(const CollectiveJob& job) {
  Group group;
  double most_B = 0, latency_s = 0;
  collective::MessageStarts starts(job);
  for (const PairMessage& message : job.op.messages({job.size_B}, job.ranks())) {
    const double bytes = message.size.si;
    const MessageStart& start = starts.of(bytes);
    group.sent.push_back({message, start.choice, start.cost.channel_Bps});
    most_B = std::max(most_B, bytes);
    latency_s = std::max(latency_s, start.latency_s);
  }
  group.plan = collective::plan_of_group(starts.of(most_B), most_B);
  group.plan.latency_s = std::max(group.plan.latency_s, latency_s);
  return group;
}

/// One activity for each message between nodes.
class BetweenNodes {
 public:
  BetweenNodes(const CollectiveJob& job, activities::ClusterProblem& problem) : job_(job), problem_(problem) {}

  /// @param stored  bytes on the route for each of the message
  void add(const PairMessage& message, double stored, double rate_cap_Bps) {
    const activities::MessageWays& ways = ways_of(stored);
    const int members = static_cast<int>(job_.communicator.gpus.size());
    const ClusterGpu from{message.from / members, message.from % members};  // members by their place
    const ClusterGpu to{message.to / members, message.to % members};
    Activity activity;
    activity.work_B = message.size.si;
    if (from.node == to.node) {
      const activities::NodeWay& route = ways.inside[at(from.gpu)][at(to.gpu)];
      problem_.pass_constraints(from.node, route.uses);
      activity.rate_cap_Bps = route.rate_cap_Bps;
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
  /// What the longest route adds to the start-up.
  [[nodiscard]] double distance_s() const { return job_.machine.beyond_nearest({farthest_s_}).si; }

 private:
  [[nodiscard]] const activities::Exits& exits() const { return job_.communicator.exits; }
  [[nodiscard]] int endpoint(ClusterGpu end, const NicWay& route) const {
    const ClusterGpu gpu{end.node, job_.communicator.gpus[at(end.gpu)]};
    return job_.machine.endpoint(end.node, activities::network_end(job_.machine, gpu, route).nic);
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
  std::map<double, activities::MessageWays> ways_;  ///< by bytes on the route for each of a message
  double farthest_s_ = 0;
};

void plan_between(const CollectiveJob& job, Group& group, activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.sent, job.ranks(), collective::own_messages(job));
  BetweenNodes between(job, problem);
  for (const activities::MessageRates::Sent& one : group.sent)
    between.add(one.message, 1 / one.choice.payload_share, rates.rate_Bps(one));
  group.plan.latency_s += between.distance_s();
}

/// Channels of a group's messages on the first and the last link of each way: behind switches all of a GPU queue for
/// one link, where GPUs are joined directly those to each other GPU have links of their own. Receivers that load send
/// a request for each line back.
class Queues {
 public:
  Queues(const CollectiveJob& job, const std::vector<activities::MessageRates::Sent>& sent,
         const activities::MessageRates& rates)
      : job_(job) {
    for (const auto& one : sent) {
      const double channels = rates.channels(one.choice);
      add(route_of(one.message.from, one.message.to), channels, data_);
      if (loaded(one))
        add(route_of(one.message.to, one.message.from), channels * activities::kernel_request_share(), requests_);
    }
  }
  /// The longer of both queues; 0 where no route is direct.
  [[nodiscard]] double of(const activities::MessageRates::Sent& one) const {
    const auto ends = ends_of(one, true);
    return std::max(ends.first, ends.second);
  }
  /// The shorter: above the channels of the message its sender sends to several, and its receiver gets from several.
  [[nodiscard]] double shorter_of(const activities::MessageRates::Sent& one) const {
    const auto ends = ends_of(one, false);
    return std::min(ends.first, ends.second);
  }

 private:
  using OnLinks = std::map<int, double>;

  static void add(const std::optional<Route>& route, double channels, OnLinks& on_links) {
    if (!route || route->links.empty()) return;
    on_links[route->links.front()] += channels;
    if (route->links.size() > 1) on_links[route->links.back()] += channels;
  }
  /// Between two A100 Simple's bytes stay in the sender's memory until the receiver loads them; other GPUs store.
  /// source: models/libraries/SOURCES.md, "Graph era: messages"
  [[nodiscard]] bool loaded(const activities::MessageRates::Sent& one) const {
    constexpr int kLoads = 80;  // compute capability
    const auto loads = [&](int rank) {
      const int gpu = job_.node().gpu(job_.communicator.gpus[at(rank)]);
      return job_.node().topology().devices[at(gpu)].sm == kLoads;
    };
    const auto& route = route_of(one.message.from, one.message.to);
    return one.choice.protocol == "Simple" && loads(one.message.from) && loads(one.message.to) && route &&
           job_.node().accelerators_only(route->links);
  }
  [[nodiscard]] std::pair<double, double> ends_of(const activities::MessageRates::Sent& one, bool requests) const {
    const auto& route = route_of(one.message.from, one.message.to);
    if (!route || route->links.empty()) return {0, 0};
    const auto on = [&](int link) {
      const auto requested = requests_.find(link);
      return data_.at(link) + (requests && requested != requests_.end() ? requested->second : 0);
    };
    return {on(route->links.front()), on(route->links.back())};
  }
  [[nodiscard]] const std::optional<Route>& route_of(int from, int to) const {
    const auto gpu = [&](int rank) { return job_.node().gpu(job_.communicator.gpus[at(rank)]); };
    return job_.node().peer_route(gpu(from), gpu(to));
  }

  const CollectiveJob& job_;
  OnLinks data_, requests_;
};

void plan_in_node(const CollectiveJob& job, Group& group, activities::ClusterProblem& problem) {
  const activities::MessageRates rates(group.sent, job.ranks(), collective::own_messages(job));
  const Queues queues(job, group.sent, rates);
  for (const activities::MessageRates::Sent& one : group.sent) {
    const Hop hop = message_hop(job.node(), job.communicator, one.message.from, one.message.to);
    const double payload_share = one.choice.payload_share;
    // source: four H200, alltoall of 2 and 4 GiB: 352 GB/s, where sendrecv gets 364
    constexpr double kMixed = 0.96;
    const double queue = queues.of(one);
    const bool mixed = queues.shorter_of(one) > rates.channels(one.choice);
    const double link_Bps = activities::kernel_Bps(job.node(), hop) * payload_share * (mixed ? kMixed : 1);
    const double distance_B = job.op.own_part() ? collective::part_distance_B(job, one.message.size.si) : 0;
    const double buffers_B =
        collective::message_buffers_B(one.choice.channels, job.op.every_pair() ? job.ranks() - 1 : 1);
    const activities::ChannelLoad load{
        one.message.size.si, payload_share, rates.rate_Bps(one, link_Bps, queue),
        collective::host_hops(job.node(), job.communicator, hop.kind == HopKind::kHostMemory, 0,
                              collective::element_B(job.op, one.choice.protocol, distance_B), buffers_B)};
    std::vector<Hop> route{hop};
    collective::add_in_node(problem, group.plan, std::move(route), load);
  }
}

/// Every message of the group at once, each with the channels that the library gives it.
class GroupedMessages final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kPairs; }
  /// The base is that of the smallest messages, which take LL; of Simple what it costs more.
  [[nodiscard]] CollectiveCost cost(const CostRequest& request) const override {
    const LibraryParameters known = request.platform.library_parameters();
    const Communicator& communicator = request.communicator;
    const std::string& protocol = request.protocol;
    CollectiveCost cost, smallest;
    collective::set_latency(request, cost);
    collective::set_rates(request, cost);
    const bool host = collective::messages_through_host(communicator);
    if (host)
      collective::take_host_path(request.platform, communicator, protocol,
                                 protocol == "LL" ? key::host_channel[protocol] : key::host_message_channel, 1, cost);
    collective::set_latency({request.platform, request.library, communicator, "LL"}, smallest);
    const Learned base = learned(known, communicator.library, key::sendrecv_base,
                                 {smallest.base_s + smallest.hop_s, collective::kTableSpread});
    const double more_s = cost.base_s - smallest.base_s;
    cost.base_s = base.value + (host ? more_s : 0);
    cost.set(Figure::kBase,
             {{uncertainty::term::kBase, 0, ErrorPart(base), cost.term(Figure::kBase).source, &key::sendrecv_base}});
    if (protocol == "Simple" && !host) {
      const Learned simple = learned(known, communicator.library, key::sendrecv_simple);
      cost.base_s += simple.value;
      cost.set(Figure::kSteps, {collective::term_of(uncertainty::term::kBase, simple, key::sendrecv_simple,
                                                    simple.value / cost.base_s)});
    }
    cost.hop_s = 0;
    if (protocol == "Simple") {
      const Learned rate = learned(known, communicator.library, key::sendrecv_channel);
      if (!host || rate.value < cost.channel_Bps) {
        cost.channel_Bps = rate.value;
        cost.set(Figure::kBlock, {collective::term_of(uncertainty::term::kSerialisation, rate, key::sendrecv_channel)});
      }
    }
    collective::wait_for_slowest(request, cost);
    return cost;
  }
  void plan(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& plan) const override {
    Group group = group_of(job);
    job.one_node() ? plan_in_node(job, group, problem) : plan_between(job, group, problem);
    plan = std::move(group.plan);
  }
  /// Ranks that also send wait until what came last is copied out of the buffers, which blocks do at twice the rate of
  /// doing both; those that only receive do so while the next call begins. Blocks that send and receive begin in step:
  /// all send, and then all copy what came out of the buffers while the links idle.
  [[nodiscard]] double stretch(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (!job.one_node() || plan.choice.protocol != "Simple" || flow_s <= 0) return 1;
    const double block_B = plan.busiest_B / std::max(1, plan.choice.blocks), Bps = 2 * plan.cost.channel_Bps;
    // source: pairs of H200, one channel: 256 KiB take 2.5 us more than the base and their bytes, 4 and 32 MiB no more
    constexpr double kLast_B = 131072;
    const double fill_s = std::min(kLast_B, block_B) / Bps;
    if (job.op.traits().root) return 1 + fill_s / flow_s / job.calls;
    const double in_step_s = plan.links_s + block_B / Bps;
    // source: NCCL_P2P_NVL_CHUNKSIZE 512 KiB (src/init.cc), at most a step of the buffer
    constexpr double kMost_B = 524288;
    const double rounds = block_B / std::min(kMost_B, job.step_B("Simple"));
    const double lost_s = std::max(0.0, in_step_s - flow_s) * activities::share_in_step(rounds);
    return 1 + (fill_s + lost_s) / flow_s;
  }
};

const bool messages_registered = algorithms().add(
    {collective::kGroupedMessages, "a group of sends and receives", "NCCL user guide, Point-to-point communication"},
    [] { return std::make_unique<GroupedMessages>(); });

}  // namespace
}  // namespace linkcast
