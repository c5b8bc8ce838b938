#include "sim/forecast/collective_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/plan/channel_flows.hpp"

namespace linkcast::collective {
namespace {

int total_blocks(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

/// Algorithm of versions without a cost model.
const std::string& only_algorithm() {
  static const std::string only = [] {
    for (const std::string& name : algorithms().names())
      if (algorithms().get(name).without_cost_model()) return name;
    throw InvariantError("no algorithm for libraries without a cost model");
  }();
  return only;
}

Choice library_choice(const CollectiveJob& job) {
  if (job.of_messages()) return {kGroupedMessages, ""};
  const auto choice = job.rings().choose(job.node(), job.communicator, job.tuner_request());
  if (choice)
    return {choice->entry.algorithm, choice->entry.protocol, choice->channels, choice->payload_share,
            choice->in_flight_B,     choice->whole_chunks,   choice->why};
  const std::string& only = only_algorithm();
  if (!job.algorithm.empty() && job.algorithm != only)
    throw InputError("algorithm: " + job.communicator.library + " has no " + job.algorithm);
  const ProtocolChoice old = job.rings().protocol(job.node(), job.communicator, job.call(), {job.size_B}, job.protocol);
  return {only, old.protocol, total_blocks(job.communicator), old.payload_share};
}

/// A block has no more in flight than its buffer holds, and hears that a step has arrived after the hop back.
/// @source  Little's law; NCCL's credit: a sender is at most 8 steps ahead (models/libraries/SOURCES.md)
void limit_by_buffer(const CollectiveJob& job, const Choice& choice, CollectiveCost& cost) {
  if (job.buffers.of(choice.protocol) <= 0) return;
  const double window_B = job.buffer_B(choice.protocol);
  const auto limit = [&](double hop_s, double& rate_Bps) {
    if (hop_s > 0) rate_Bps = std::min(rate_Bps, window_B / (2 * hop_s));
  };
  limit(cost.hop_s, cost.channel_Bps);
  if (!job.one_node()) limit(cost.network_hop_s, cost.network_Bps);
}

}  // namespace

CollectiveCost cost_of(const CollectiveJob& job, const Choice& choice) {
  CollectiveCost cost = choice.runs().cost(
      {job.node(), job.rings(), job.communicator, choice.protocol, choice.blocks, choice.in_flight_B});
  limit_by_buffer(job, choice, cost);
  if (job.launching.kind != launch::Kind::kGraph) return cost;
  const ParameterKey key = key::graph_sooner.of_all(library_family(job.communicator.library));
  constexpr double kMost = 0.5;  // source: ours, so that a base stays one
  if (const Parameter* sooner = job.node().calibration().find(key.name))
    cost.base_s -= std::min(sooner->value, kMost * cost.base_s);
  return cost;
}

void add_latency(const CollectiveJob& job, const Steps& steps, CollectivePlan& plan) {
  const Hops& hops = steps.hops;
  plan.steps = static_cast<int>(std::lround(hops.inside + hops.between));
  plan.cost = cost_of(job, plan.choice);
  plan.latency_s = plan.cost.latency_s(hops) + steps.distance_s;
  plan.latency_terms = plan.cost.latency_terms(hops);
  plan.between_s = job.one_node() ? 0 : hops.between * plan.cost.network_hop_s;
}

void add_table_latency(const CollectiveJob& job, CollectivePlan& plan, const Hops& hops) {
  plan.cost = cost_of(job, plan.choice);
  plan.latency_s = plan.cost.latency_s(hops);
  plan.latency_terms = plan.cost.latency_terms(hops);
  if (job.one_node()) return;
  plan.latency_s += plan.choice.runs().first_byte_s(job, activities::distance_in(job.machine));
  const AlgorithmLatency table = job.rings().algorithm_latency(job.communicator, plan.choice.algorithm);
  plan.steps = std::max(1, static_cast<int>(table.between.count));
}

double blocks_Bps(const CollectiveCost& cost, double blocks, bool between) {
  return blocks * (between ? std::min(cost.channel_Bps, cost.network_Bps) : cost.channel_Bps);
}

int blocks_on(int i, int distinct, int blocks) { return blocks / distinct + (i < blocks % distinct ? 1 : 0); }

double blocks_of_each(const CollectivePlan& plan, std::size_t parts) {
  return static_cast<double>(plan.choice.blocks) / static_cast<double>(parts);
}

void add_in_node(activities::ClusterProblem& problem, CollectivePlan& plan, std::vector<Hop> route,
                 const activities::ChannelLoad& load) {
  problem.add_in_node(0, activities::channel_activity(problem.in_node(), route, load),
                      activities::idle_uses(problem.in_node(), route, load));
  plan.hops.push_back(std::move(route));
}

CollectivePlan plan(const CollectiveJob& job, activities::ClusterProblem& problem) {
  if (job.one_node()) problem.include_node(0);
  CollectivePlan plan;
  if (job.own != nullptr)
    plan.choice.own = job.own;
  else
    plan.choice = library_choice(job);
  plan.choice.runs().plan(job, problem, plan);
  return plan;
}

}  // namespace linkcast::collective
