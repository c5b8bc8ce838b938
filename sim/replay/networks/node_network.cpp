// The links of one node, with the forecasts of single collectives and copies as flows on them.
#include <utility>

#include "sim/replay/collective_flows.hpp"
#include "sim/replay/copy_flows.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/message_flows.hpp"
#include "sim/replay/network_kind.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

class NodeNetwork final : public FlowNetwork {
 public:
  NodeNetwork(catalogue::Catalogue& catalogue, const NetworkRequest& request)
      : FlowNetwork(catalogue.lone_node(request.platform), request),
        catalogue_(catalogue),
        platform_(catalogue.platform(request.platform)),
        platform_id_(request.platform),
        library_(request.library.empty() ? platform_.calibration().default_library : request.library),
        curves_(!library_.empty() && libraries().get(library_).rings() == nullptr),
        stages_(stages_messages(library_)) {}

  [[nodiscard]] int gpus() const override { return platform_.gpu_count(); }
  [[nodiscard]] double slow(int gpu) const override {
    return platform_.topology().devices[at(platform_.gpu(gpu))].slow;
  }

 private:
  activities::Plan plan(const NetworkOp& op) override {
    if (op.kind != NetworkOp::Kind::kCollective && op.kind != NetworkOp::Kind::kMessage)
      return copy_plan(catalogue_, platform_id_, op, false);
    if (op.kind == NetworkOp::Kind::kMessage && curves_) return stages_ ? plan(message_as_call(op)) : message(op);
    return collective_flows(catalogue_, platform_id_, library_, op, said());
  }
  std::optional<activities::Plan> plan_behind(const NetworkOp& op) override {
    return copy_plan(catalogue_, platform_id_, op, true);
  }
  /// Of a library whose messages have curves of their own.
  activities::Plan message(const NetworkOp& op) {
    activities::Message message;
    message.from.device = platform_.gpu(op.gpus.at(0));
    message.to.device = platform_.gpu(op.gpus.at(1));
    message.bytes = op.size_B;
    return message_flows(catalogue_.lone_node(platform_id_), message, catalogue_.solver("fluid"), said()).plan;
  }
  [[nodiscard]] std::string link_id(int key) const override { return platform_.constraints()[at(key)].id; }

  catalogue::Catalogue& catalogue_;
  const Platform& platform_;
  std::string platform_id_, library_;
  bool curves_, stages_;  ///< the library's messages have curves of their own; they go through host memory
};

class Node final : public NetworkKind {
 public:
  [[nodiscard]] std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                    const NetworkRequest& request) const override {
    if (!request.transport.empty()) throw InputError("transport: is of messages between nodes, and needs nodes");
    if (request.gpus_per_node > 0) throw InputError("gpus_per_node: needs nodes");
    return std::make_unique<NodeNetwork>(catalogue, request);
  }
};

const bool node_registered =
    network_kinds().add({"node", "the links of one node", "docs/traces.md"}, [] { return std::make_unique<Node>(); });

}  // namespace
}  // namespace linkcast::replay
