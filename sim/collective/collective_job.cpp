#include "sim/collective/collective_job.hpp"

#include <algorithm>
#include <cmath>

#include "sim/activities/channel_flows.hpp"
#include "sim/activities/message_rates.hpp"

namespace linkcast::collective {
namespace {

// What a block takes of each rank's part in one round. source: NCCL's buffers, 4 slots of 512 KiB a chunk (SOURCES.md)
constexpr double kRound_B = 2097152;
// What a block of a chain takes before it passes it on. source: an eighth of the buffer of a channel, 4 MiB
// (NCCL_BUFFSIZE, NCCL user guide; 8 steps, SOURCES.md)
constexpr double kChunk_B = 524288;

int total_blocks(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

TunerRequest request_of(const Job& job) { return {job.op_name, {job.size_B}, job.algorithm, job.protocol, job.nvls}; }

Taken library_takes(const Job& job) {
  const auto choice = job.library.choose(job.platform, job.communicator, request_of(job));
  if (choice) return {choice->entry.algorithm, choice->entry.protocol, choice->channels, choice->payload_share};
  if (job.algorithm == "tree") throw InputError("algorithm: " + job.communicator.library + " builds no trees");
  if (job.algorithm == "nvls") throw InputError("algorithm: " + job.communicator.library + " has no NVLS");
  const ProtocolChoice old =
      job.library.protocol(job.platform, job.communicator, job.op_name, {job.size_B}, job.protocol);
  return {"ring", old.protocol, total_blocks(job.communicator), old.payload_share};
}

/// Hops of the activities that ring or tree number i becomes, in their order.
std::vector<std::vector<Hop>> ways_of(const Job& job, bool tree, std::size_t i) {
  if (tree) return activities::tree_ways(job.communicator.trees[i]);
  return {activities::ring_hops(job.communicator.channels[i], job.op.closed())};
}

void add_way(activities::ProblemBuilder& builder, Run& run, std::vector<Hop> way, const activities::ChannelLoad& load) {
  run.activities.push_back(builder.add_activity(activities::channel_activity(builder, way, load)));
  run.hops.push_back(std::move(way));
}

/// Each member is the head of one part. What one thread block moves was never measured, so only the links limit.
Run prepare_nvls(const Job& job, activities::ProblemBuilder& builder, const Taken& taken) {
  Run run{taken, library_cost(job.library.choose(job.platform, job.communicator, request_of(job))->entry.latency)};
  run.latency_s = run.cost.base_s;
  run.busiest_B = job.size_B / job.ranks();
  for (const int head : job.communicator.gpus) {
    run.activities.push_back(
        builder.add_activity(activities::multicast_activity(builder, job.communicator.gpus, head, run.busiest_B)));
    run.hops.emplace_back();
  }
  return run;
}

/// Every ring or tree in steady state at once.
Run prepare_channels(const Job& job, activities::ProblemBuilder& builder, const Taken& which) {
  Run run{which, {}};
  const Taken& taken = run.taken;
  const bool tree = taken.algorithm == "tree";
  const int round = tree ? 2 * (job.ranks() - 1) : job.op.steps(job.ranks());
  // Calls follow each other, as nccl-tests times them: the root of a chain goes on while the last call runs down it.
  run.steps = tree || job.op.closed() ? round : 1;
  run.cost = collective_cost(job.platform, job.library, job.communicator, taken.algorithm, taken.protocol, run.steps);
  run.latency_s = run.cost.base_s + run.steps * run.cost.hop_s;
  run.cost.channel_Bps *= alignment_share(taken.protocol, job.op.block_distance({job.size_B}, job.ranks()).si);
  const double per_hop = tree ? job.size_B : job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
  const int distinct = static_cast<int>(tree ? job.communicator.trees.size() : job.communicator.channels.size());
  for (int i = 0; i < distinct; ++i) {
    const int blocks = job.communicator.trees.empty() ? job.communicator.channels[static_cast<std::size_t>(i)].blocks
                                                      : blocks_on(i, distinct, taken.blocks);
    if (blocks == 0) continue;
    const activities::ChannelLoad load{per_hop * blocks / taken.blocks, taken.payload_share,
                                       blocks * run.cost.channel_Bps};
    run.most_blocks = std::max(run.most_blocks, blocks);
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    for (std::vector<Hop>& way : ways_of(job, tree, static_cast<std::size_t>(i)))
      add_way(builder, run, std::move(way), load);
  }
  return run;
}

/// Every message of the group at once, each with the blocks that the library gives it.
Run prepare_messages(const Job& job, activities::ProblemBuilder& builder, const std::vector<PairMessage>& messages) {
  if (!(job.algorithm.empty() && job.protocol.empty()))
    throw InputError("op: " + job.op_name + " is made of messages, which take no algorithm and no protocol");
  const auto choice = job.library.message(job.communicator, messages.front().size);
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  Run run{{"messages", choice->protocol, choice->channels, choice->payload_share},
          message_cost(job.platform, job.library, job.communicator, choice->protocol)};
  run.latency_s = run.cost.base_s + run.cost.hop_s;
  run.cost.channel_Bps *= alignment_share(choice->protocol, job.op.block_distance({job.size_B}, job.ranks()).si);
  const activities::MessageRates rates(*choice, messages, {job.ranks(), job.op.own_part(), run.cost.channel_Bps});
  for (const PairMessage& message : messages) {
    const int from = job.communicator.gpus[static_cast<std::size_t>(message.from)];
    const int to = job.communicator.gpus[static_cast<std::size_t>(message.to)];
    const auto& route = job.platform.peer_route(job.platform.gpu(from), job.platform.gpu(to));
    const activities::ChannelLoad load{
        message.size.si, choice->payload_share,
        rates.rate_Bps(message, activities::kernel_Bps(job.platform, from, to) * choice->payload_share)};
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    add_way(builder, run, {{from, to, route ? HopKind::kPeer : HopKind::kHostMemory}}, load);
  }
  return run;
}

/// What the time of the bytes grows by where they have to wait. A round of a ring contains a part, `turn_steps`, in
/// which a block sends nothing. In the first round all blocks turn at once and the links idle; then they drift apart as
/// in a random walk, so that after r rounds 1 / sqrt(r) of the part is still common: 2 sqrt(R) - 1 in R rounds.
double waiting_stretch(const Job& job, const Run& run) {
  if (run.taken.algorithm == "ring" && run.taken.protocol == "Simple" && !job.op.closed())
    return chain_fill(job.size_B, run.taken.blocks, job.op.steps(job.ranks()), job.calls);
  if (run.taken.algorithm != "ring" || run.cost.turn_steps <= 0 || !job.op.closed() || run.flow_s <= 0) return 1;
  const double piece_B = job.size_B / job.ranks() / run.taken.blocks;
  const double rounds = std::max(1.0, piece_B / kRound_B);
  return 1 + run.cost.turn_steps / run.steps * (2 * std::sqrt(rounds) - 1) / rounds;
}

}  // namespace

int blocks_on(int i, int distinct, int blocks) { return blocks / distinct + (i < blocks % distinct ? 1 : 0); }

double chain_fill(double size_B, int blocks, int hops, int calls) {
  return 1 + hops * std::min(1.0, kChunk_B * blocks / size_B) / calls;
}

Run prepare(const Job& job, activities::ProblemBuilder& builder) {
  const std::vector<PairMessage> messages = job.op.messages({job.size_B}, job.ranks());
  if (!messages.empty()) return prepare_messages(job, builder, messages);
  const Taken taken = library_takes(job);
  return taken.algorithm == "nvls" ? prepare_nvls(job, builder, taken) : prepare_channels(job, builder, taken);
}

void read_times(const Solution& solution, Run& run) {
  run.flow_s = 0;
  run.limited_by.clear();
  for (const int activity : run.activities) {
    run.flow_s = std::max(run.flow_s, solution.finish_s[static_cast<std::size_t>(activity)]);
    if (!solution.limited_by.empty()) run.limited_by.push_back(solution.limited_by[static_cast<std::size_t>(activity)]);
  }
}

void finish(const Job& job, const Solution& solution, Run& run) {
  read_times(solution, run);
  run.stretch = waiting_stretch(job, run);
  run.flow_s *= run.stretch;
}

Run run_alone(const Job& job, Solver& solver) {
  activities::ProblemBuilder builder(job.platform);
  Run run = prepare(job, builder);
  finish(job, solver.run(builder.problem()), run);
  return run;
}

}  // namespace linkcast::collective
