#include "sim/forecast/collective_shape.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/wire_bound.hpp"

namespace linkcast::collective {
namespace {

/// Numbers as their bytes, one behind the other.
class Bytewise {
 public:
  template <class Number>
  void add(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    text_.append(bytes, sizeof number);
  }
  void add(const std::string& text) {
    add(text.size());
    text_ += text;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// One ring or one way of a tree as the flow of a byte.
/// @param alone  nothing else flows: of the links only the slowest counts, the first of equals as the solver takes it
void add_way(Bytewise& shape, const activities::ProblemBuilder& builder, const std::vector<Hop>& way, bool alone) {
  const Activity flow = activities::channel_activity(builder, way, {1, 1, std::numeric_limits<double>::infinity()});
  // a further member belongs into the shape
  const auto& [delay_s, work_B, rate_cap_Bps, uses, after, queues, trunk] = flow;
  shape.add(delay_s);
  shape.add(work_B);
  shape.add(rate_cap_Bps);
  shape.add(after.size());
  shape.add(queues.size());
  shape.add(trunk);
  if (!alone) {
    shape.add(uses.size());
    for (const Use& use : uses) {
      shape.add(use.constraint);
      shape.add(use.weight);
    }
    return;
  }
  std::pair<double, int> slowest{std::numeric_limits<double>::infinity(), kOwnCap};
  double wire_Bps = std::numeric_limits<double>::infinity();
  for (const Use& use : uses) {
    wire_Bps = std::min(wire_Bps, activities::nominal_Bps(builder.platform(), use.constraint) / use.weight);
    slowest = std::min(slowest, {builder.problem().capacity_Bps[static_cast<std::size_t>(use.constraint)] / use.weight,
                                 use.constraint});
  }
  shape.add(slowest.first);
  shape.add(wire_Bps);
  if (slowest.second == kOwnCap) return;
  const Resolved& limit = builder.platform().constraints()[static_cast<std::size_t>(slowest.second)].capacity;
  shape.add(limit.edited ? limit.rel_error : -1.0);  // which the interval depends on
}

/// Which parts cross host memory, where that matters (narrow_host_share()): kinds of hops and ranks, around the ring.
void add_parts(Bytewise& shape, const Communicator& made, const Channel& ring) {
  const RingLibrary* rings = libraries().get(made.library).rings();
  if (rings == nullptr || !rings->keeps_step() || !through_host(made)) return;
  for (const Hop& hop : ring.hops) shape.add(static_cast<int>(hop.kind));
  for (const int gpu : ring.order) shape.add(std::find(made.gpus.begin(), made.gpus.end(), gpu) - made.gpus.begin());
}

void add_what_the_library_believes(Bytewise& shape, const Communicator& communicator) {
  shape.add(communicator.path_class);
  shape.add(communicator.link_equivalents);
  shape.add(communicator.library_channel_bandwidth.si);
  shape.add(communicator.fallback);
  shape.add(communicator.rings_found);
  shape.add(communicator.one_order);
  shape.add(communicator.tree_class);
  shape.add(communicator.plain_trees);
  shape.add(communicator.tree_channel_bandwidth.si);
  shape.add(communicator.nodes);
  shape.add(communicator.network_channel_bandwidth.si);
  shape.add(communicator.nics_near);
  shape.add(communicator.plugin.reported_s);
  shape.add(communicator.plugin.tuner);
  shape.add(communicator.plugin.buffer_B);
  shape.add(communicator.plugin.without.size());
  for (const std::string& protocol : communicator.plugin.without) shape.add(protocol);
  shape.add(communicator.nvls_channels);
  shape.add(communicator.nvls_blocks);
  shape.add(communicator.nvls_channel_bandwidth.si);
}

}  // namespace

CollectiveForecast forecast_collectives(catalogue::Catalogue& catalogue, const catalogue::Machine& machine,
                                        const std::string& library_id, const std::vector<CollectiveAsk>& all) {
  std::vector<PlacedJob> placed;
  std::vector<CollectiveJob> jobs;
  for (const CollectiveAsk& ask : all) {
    PlacedCollective call{library_id, ask.op, ask.size_B};
    call.parts_B = ask.parts_B;
    call.own = ask.own;
    placed.push_back(place_job(machine, call, {{0}, ask.gpus}));
    jobs.push_back(placed.back().job);
  }
  Solver& solver = catalogue.solver(SolverChoice::name());
  if (jobs.size() == 1) return forecast_of(jobs.front(), run_alone(jobs.front(), solver));
  return forecast_together(jobs, run_together(jobs, machine.lone_node(), solver));
}

CollectiveTimes forecast_alone(const Cluster& machine, const Library& library, const Communicator& communicator,
                               const std::string& op, double size_B, Solver& solver) {
  const CollectiveJob job{machine, library, communicator, collectives().get(op), op, size_B};
  const CollectiveRun run = run_alone(job, solver);
  const uncertainty::Interval interval = interval_of(job, run);
  return {run.time_s(), interval.low_s, interval.high_s};
}

std::optional<std::string> collective_shape(const Platform& platform, const Communicator& communicator,
                                            const std::string& op_name) {
  const Collective& op = collectives().get(op_name);
  if (op.shape() == Shape::kPairs || !communicator.caller.empty()) return std::nullopt;  // more routes than the rings'
  Bytewise shape;
  shape.add(communicator.gpus.size());
  for (const int gpu : communicator.gpus) {
    const Device& device = platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))];
    shape.add(device.sm);
    shape.add(device.slow);
  }
  add_what_the_library_believes(shape, communicator);
  const activities::ProblemBuilder builder(platform);
  shape.add(communicator.channels.size());
  for (const Channel& channel : communicator.channels) {
    shape.add(channel.blocks);
    shape.add(channel.links);
    add_parts(shape, communicator, channel);
    add_way(shape, builder, activities::ring_hops(channel, op.closed()),
            communicator.channels.size() == 1 && !through_host(communicator));
  }
  shape.add(communicator.trees.size());
  for (const Tree& tree : communicator.trees) {
    shape.add(tree.blocks);
    for (const std::vector<Hop>& way : activities::tree_ways(tree)) add_way(shape, builder, way, false);
  }
  return shape.take();
}

}  // namespace linkcast::collective
