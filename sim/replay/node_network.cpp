#include "sim/replay/node_network.hpp"

#include <utility>

#include "sim/replay/collective_flows.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

std::vector<double> capacities(const Platform& platform) {
  std::vector<double> all;
  for (const Constraint& constraint : platform.constraints()) all.push_back(constraint.capacity.value);
  return all;
}

}  // namespace

NodeNetwork::NodeNetwork(catalogue::Catalogue& catalogue, std::string platform_id, std::string library)
    : FlowNetwork(capacities(catalogue.platform(platform_id))),
      catalogue_(catalogue),
      platform_(catalogue.platform(platform_id)),
      platform_id_(std::move(platform_id)),
      library_(library.empty() ? platform_.calibration().default_library : std::move(library)) {}

FlowNetwork::Planned NodeNetwork::plan(const NetworkOp& op) {
  if (op.kind == NetworkOp::Kind::kCollective || op.kind == NetworkOp::Kind::kMessage) {
    FlowsAlone together = collective_flows(catalogue_, platform_id_, library_, op, said());
    place_own_limits(
        together.own_limits, [this](double Bps) { return fluid().add_constraint(Bps); }, together.flows);
    return {{std::move(together.flows)}, together.spread};
  }
  FlowsAlone copy = copy_stages(catalogue_, platform_id_, op);
  Planned planned{{}, copy.spread};
  for (Activity& stage : copy.flows) planned.stages.push_back({std::move(stage)});
  return planned;
}

double NodeNetwork::slow(int gpu) const { return platform_.topology().devices[at(platform_.gpu(gpu))].slow; }

std::string NodeNetwork::link_id(int constraint) const {
  return at(constraint) < platform_.constraints().size() ? platform_.constraints()[at(constraint)].id : "";
}

}  // namespace linkcast::replay
