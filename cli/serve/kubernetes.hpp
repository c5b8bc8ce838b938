#pragma once
// Kubernetes' scheduler extender, version 1: which nodes can take a pod, and how good they are.
// source: kubernetes/kube-scheduler extender/v1/types.go: ExtenderArgs, ExtenderFilterResult, HostPriorityList,
// MaxExtenderPriority 10; the names of fields are those of the Go types
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/serve/node_states.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast::serve {

inline constexpr int kBestPriority = 10;  // MaxExtenderPriority

/// What a pod asks: annotations linkcast/job and linkcast/platform, and the limits nvidia.com/gpu of its containers.
struct PodAsk {
  std::string job;       ///< empty: the pod does not say, and any node is as good
  std::string platform;  ///< of nodes that do not say theirs; may be empty
  int gpus = 0;
};

/// A node that a pod may go to.
struct NodeOffer {
  std::string name;
  std::optional<Json> state{};  ///< {platform, busy, with}; nullopt: not known
  std::string unknown{};        ///< why not
};

struct ExtenderArgs {
  PodAsk pod;
  std::vector<NodeOffer> nodes;
  bool by_name = false;  ///< NodeNames was sent, not Nodes
  Json node_list{};      ///< Nodes as sent
};

/// The platform of a node by its labels. @param wanted  of several that fit; may be empty. @throws InputError
using PlatformOf = std::function<std::string(const GpuLabels& labels, const std::string& wanted)>;

/// @param states  what nodes are known to run: they come before annotations linkcast/platform and linkcast/busy, and
///                these before labels nvidia.com/gpu.product and nvidia.com/gpu.count
/// @throws InputError  no pod, no nodes, an annotation of the pod or a limit that cannot be read; what is wrong with a
///                     node is its reason
ExtenderArgs read_extender_args(const Json& args, const NodeStates::Nodes& states, const PlatformOf& platform_of);

/// Free GPUs of a node as its state says, or why the node cannot be asked.
using Free = std::function<int(const Json& state)>;
/// Time of the pod's job on a node in this state.
using TimeOn = std::function<double(const Json& state)>;

/// Asks for the times as well, so that a node on which the job cannot run is left out now.
Json filter_result(const ExtenderArgs& args, const Free& free, const TimeOn& time_on);
/// 10: as fast as on the best of these nodes' platforms when idle; else in inverse proportion to the time.
Json host_priorities(const ExtenderArgs& args, const Free& free, const TimeOn& time_on);

}  // namespace linkcast::serve
