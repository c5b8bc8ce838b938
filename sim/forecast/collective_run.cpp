#include "sim/forecast/collective_run.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/forecast/channel_flows.hpp"
#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/library_view.hpp"
#include "sim/forecast/request.hpp"
#include "sim/forecast/verdict.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast {
namespace {

// Beside latency and rates: what the model of rings and messages leaves out. source: six operations on 2 to 4 H200
// (nccl_ops of occasion 20261121a, never fitted): 90 % of the points lie within 19 %
constexpr double kCollectiveError = 0.11;
// What a block takes of each rank's part in one round. source: NCCL's buffers, 4 slots of 512 KiB a chunk (SOURCES.md)
constexpr double kRound_B = 2097152;
constexpr double kWorthSaying = 0.05;  // source: ours, half of kCollectiveError

Json channels_json(const Communicator& communicator) {
  Json channels = Json::array();
  for (const Channel& channel : communicator.channels) channels.push_back(channel.order);
  return channels;
}

int total_blocks(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

/// What the library takes, whichever of its interfaces says so.
struct Taken {
  std::string algorithm = "ring", protocol;
  int blocks = 0;  ///< thread blocks in use
  double payload_share = 1;
};

/// One collective as the library would run it.
struct Run {
  Taken taken;
  Solution solution;
  CollectiveCost cost;
  double latency_s = 0;
  double busiest_B = 0;                  ///< payload on each hop of the ring or tree that carries most
  double flow_s = 0;                     ///< time of the bytes
  std::vector<std::vector<Hop>> hops{};  ///< of each activity of the solution
  [[nodiscard]] double time_s() const { return latency_s + flow_s; }
};

struct Job {
  const Platform& platform;
  const Library& library;
  const Communicator& communicator;
  const Collective& op;
  std::string op_name;
  double size_B = 0;
  [[nodiscard]] int ranks() const { return static_cast<int>(communicator.gpus.size()); }
};

Taken library_takes(const Job& job, const std::string& algorithm, const std::string& protocol) {
  const auto choice =
      job.library.choose(job.platform, job.communicator, {job.op_name, {job.size_B}, algorithm, protocol, false});
  if (choice) return {choice->entry.algorithm, choice->entry.protocol, choice->channels, choice->payload_share};
  if (algorithm == "tree") throw InputError("algorithm: " + job.communicator.library + " builds no trees");
  const ProtocolChoice old = job.library.protocol(job.platform, job.communicator, job.op_name, {job.size_B}, protocol);
  return {"ring", old.protocol, total_blocks(job.communicator), old.payload_share};
}

/// Thread blocks in use on distinct ring or tree number i of `distinct`: they go round all of them.
int blocks_on(int i, int distinct, int blocks) { return blocks / distinct + (i < blocks % distinct ? 1 : 0); }

/// Hops of the activities that ring or tree number i becomes, in their order.
std::vector<std::vector<Hop>> ways_of(const Job& job, bool tree, std::size_t i) {
  if (tree) return tree_ways(job.communicator.trees[i]);
  return {ring_hops(job.communicator.channels[i], job.op.closed())};
}

/// Every ring or tree in steady state at once. A round of a ring contains a part, `turn_steps`, in which a block sends
/// nothing. In the first round all blocks turn at once; later they are out of step, and the slower the links make the
/// other steps, the less that part weighs.
Run run_channels(const Job& job, Solver& solver, const Taken& taken) {
  const bool tree = taken.algorithm == "tree";
  const int round = tree ? 2 * (job.ranks() - 1) : job.op.steps(job.ranks());
  // Calls follow each other, as nccl-tests times them: the root of a chain goes on while the last call runs down it.
  const int steps = tree || job.op.closed() ? round : 1;
  Run run{
      taken, {}, collective_cost(job.platform, job.library, job.communicator, taken.algorithm, taken.protocol, steps)};
  run.latency_s = run.cost.base_s + steps * run.cost.hop_s;
  run.cost.channel_Bps *= alignment_share(taken.protocol, job.op.block_distance({job.size_B}, job.ranks()).si);
  const double per_hop = tree ? job.size_B : job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
  const int distinct = static_cast<int>(tree ? job.communicator.trees.size() : job.communicator.channels.size());
  ProblemBuilder builder(job.platform);
  int most_blocks = 1;
  for (int i = 0; i < distinct; ++i) {
    const int blocks = job.communicator.trees.empty() ? job.communicator.channels[static_cast<std::size_t>(i)].blocks
                                                      : blocks_on(i, distinct, taken.blocks);
    if (blocks == 0) continue;
    const ChannelLoad load{per_hop * blocks / taken.blocks, taken.payload_share, blocks * run.cost.channel_Bps};
    most_blocks = std::max(most_blocks, blocks);
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    for (std::vector<Hop>& way : ways_of(job, tree, static_cast<std::size_t>(i))) {
      builder.add_activity(channel_activity(builder, way, load));
      run.hops.push_back(std::move(way));
    }
  }
  run.solution = solver.run(builder.problem());
  run.flow_s = run.solution.makespan_s;
  if (run.cost.turn_steps > 0 && job.op.closed() && run.flow_s > 0) {
    const double block_Bps = run.busiest_B / most_blocks / run.flow_s;
    const double piece_B = job.size_B / job.ranks() / taken.blocks;
    const double first = taken.protocol == "Simple" ? std::min(1.0, kRound_B / piece_B) : 0;
    run.flow_s *= 1 + run.cost.turn_steps / steps * (first + (1 - first) * block_Bps / run.cost.channel_Bps);
  }
  return run;
}

/// Links that limit a ring or tree; of one limited by its host hops, the links of those hops.
Json bottleneck_json(const Platform& platform, const std::vector<std::vector<Hop>>& hops,
                     const std::vector<int>& limited_by) {
  std::set<std::string> ids;
  for (std::size_t way = 0; way < limited_by.size(); ++way) {
    const int limit = limited_by[way];
    if (limit != kOwnCap) {
      ids.insert(platform.constraints()[static_cast<std::size_t>(limit)].id);
      continue;
    }
    for (const Hop& hop : hops.at(way)) {
      if (hop.kind != HopKind::kHostMemory) continue;
      const StagedRoute route = staged_route(platform, platform.gpu(hop.from), platform.gpu(hop.to));
      for (const auto* leg : {&route.up, &route.down})
        for (const int link : *leg) ids.insert(platform.constraints()[static_cast<std::size_t>(link)].id);
    }
  }
  return ids;
}

std::string library_name(const Platform& platform, ObjectReader& r) {
  return r.optional<std::string>("library").value_or(platform.calibration().default_library);
}

/// Every message of the group at once, each with the blocks that the library gives it.
Run run_messages(const Job& job, Solver& solver, const std::vector<PairMessage>& messages) {
  const auto choice = job.library.message(job.communicator, messages.front().size);
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  Run run{{"messages", choice->protocol, choice->channels, choice->payload_share},
          {},
          message_cost(job.platform, job.library, job.communicator, choice->protocol)};
  run.latency_s = run.cost.base_s + run.cost.hop_s;
  run.cost.channel_Bps *= alignment_share(choice->protocol, job.op.block_distance({job.size_B}, job.ranks()).si);
  ProblemBuilder builder(job.platform);
  for (const PairMessage& message : messages) {
    const int from = job.communicator.gpus[static_cast<std::size_t>(message.from)];
    const int to = job.communicator.gpus[static_cast<std::size_t>(message.to)];
    const auto& route = job.platform.peer_route(job.platform.gpu(from), job.platform.gpu(to));
    const ChannelLoad load{message.size.si, choice->payload_share, choice->channels * run.cost.channel_Bps};
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    run.hops.push_back({{from, to, route ? HopKind::kPeer : HopKind::kHostMemory}});
    builder.add_activity(channel_activity(builder, run.hops.back(), load));
  }
  run.solution = solver.run(builder.problem());
  run.flow_s = run.solution.makespan_s;
  return run;
}

Json warnings_of(const Job& job, const Run& run) {
  Json warnings = Json::array();
  if (!run.cost.measured)
    warnings.push_back("base and hop latencies are " + job.communicator.library + "'s assumptions, not measured on " +
                       job.platform.topology().name);
  std::set<std::string> nominal;
  for (const int limit : run.solution.limited_by)
    if (limit != kOwnCap && !job.platform.constraints()[static_cast<std::size_t>(limit)].capacity.calibrated)
      nominal.insert(job.platform.constraints()[static_cast<std::size_t>(limit)].id);
  for (const std::string& id : nominal) warnings.push_back("the rate of " + id + " is nominal, not calibrated");
  if (job.communicator.fallback) warnings.push_back(job.communicator.why);
  return warnings;
}

Interval interval_of(const Run& run) {
  Uncertainty uncertainty;
  uncertainty.add(run.cost.error_s / run.time_s());
  uncertainty.add(kCollectiveError);
  return uncertainty.around(run.time_s());
}

Json result_json(const Job& job, const Run& run) {
  const double time = run.time_s();
  Json out;
  put_interval(out, time, interval_of(run));
  out["latency_s"] = run.latency_s;
  out["algbw_Bps"] = job.size_B / time;
  out["busbw_Bps"] = job.size_B / time * job.op.bus_factor(job.ranks());
  out["library"] = job.communicator.library;
  out["algorithm"] = run.taken.algorithm;
  out["protocol"] = run.taken.protocol;
  out["channels"] = channels_json(job.communicator);
  out["blocks"] = run.taken.blocks;
  out["channel_bandwidth_Bps"] = run.busiest_B / run.flow_s;
  out["path_class"] = job.communicator.path_class;
  out["fallback"] = job.communicator.fallback;
  out["bottleneck"] = bottleneck_json(job.platform, run.hops, run.solution.limited_by);
  out["warnings"] = warnings_of(job, run);
  return out;
}

/// What the library believes of its choice, and what else it could have taken, forecast: fastest first.
void add_alternatives(const Job& job, Solver& solver, const Run& run, Json& out) {
  std::vector<std::pair<double, Json>> rows;
  for (const TunerEntry& entry :
       job.library.tuner(job.platform, job.communicator, {job.op_name, {job.size_B}, "", "", false})) {
    const bool taken = entry.algorithm == run.taken.algorithm && entry.protocol == run.taken.protocol;
    if (taken) out["library_believes"] = {{"time_s", entry.time.si}, {"bandwidth_Bps", entry.bandwidth.si}};
    if (taken || !entry.enabled || entry.algorithm == "nvls") continue;
    const double time = run_channels(job, solver, library_takes(job, entry.algorithm, entry.protocol)).time_s();
    rows.emplace_back(time, Json{{"algorithm", entry.algorithm},
                                 {"protocol", entry.protocol},
                                 {"time_s", time},
                                 {"library_believes_s", entry.time.si}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out["alternatives"] = Json::array();
  for (const auto& [time, row] : rows) out["alternatives"].push_back(row);
  if (!rows.empty() && rows.front().first < (1 - kWorthSaying) * run.time_s())
    out["hint"] = rows.front().second["algorithm"].get<std::string>() + " " +
                  rows.front().second["protocol"].get<std::string>() + " would be " +
                  std::to_string(static_cast<int>(std::lround(100 * (run.time_s() / rows.front().first - 1)))) +
                  " % faster than what the library takes";
}

}  // namespace

Json collective_answer(Catalogue& catalogue, const std::string& platform_id, Solver& solver, ObjectReader& r) {
  const Platform& platform = catalogue.platform(platform_id);
  const auto op_name = r.required<std::string>("op");
  const auto gpus = read_gpus(r, platform, 2);
  const double size_B = read_size(r, "size_B");
  const std::string library_id = library_name(platform, r);
  const auto protocol = r.optional<std::string>("protocol").value_or("");
  const std::string algorithm = r.has("algorithm") ? r.choice("algorithm", {"ring", "tree"}) : "";
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  r.finish();
  const Job job{platform,
                libraries().get(library_id),
                catalogue.communicator(platform_id, library_id, gpus),
                collectives().get(op_name),
                op_name,
                size_B};
  const std::vector<PairMessage> messages = job.op.messages({size_B}, job.ranks());
  if (!messages.empty() && !(algorithm.empty() && protocol.empty()))
    throw InputError("op: " + op_name + " is made of messages, which take no algorithm and no protocol");
  const Run run = messages.empty() ? run_channels(job, solver, library_takes(job, algorithm, protocol))
                                   : run_messages(job, solver, messages);
  Json out = result_json(job, run);
  if (alternatives && messages.empty()) add_alternatives(job, solver, run, out);
  return out;
}

Json rings_answer(Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  const Platform& platform = catalogue.platform(platform_id);
  const auto gpus = read_gpus(r, platform, 2);
  const std::string library_id = library_name(platform, r);
  const auto op = r.optional<std::string>("op");
  const double size_B = op ? read_size(r, "size_B") : 0;
  const bool nvls = r.optional<bool>("nvls").value_or(false);
  r.finish();
  const Communicator& communicator = catalogue.communicator(platform_id, library_id, gpus);
  Json out = communicator_json(communicator);
  out["library"] = library_id;
  if (op && collectives().get(*op).messages({size_B}, static_cast<int>(gpus.size())).empty()) {
    out.update(tuner_json(libraries().get(library_id), platform, communicator, {*op, {size_B}, "", "", nvls}));
  }
  std::vector<std::vector<Hop>> hops;  // only a fallback's limit is known without a size: its hops through host memory
  if (communicator.fallback)
    for (const Channel& channel : communicator.channels) hops.push_back(channel.hops);
  out["bottleneck"] = bottleneck_json(platform, hops, std::vector<int>(hops.size(), kOwnCap));
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast
