// NCCL 2.7 to 2.30: one class, versions by their traits.
#include <algorithm>
#include <set>

#include "models/libraries/graph/across.hpp"
#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/node_model.hpp"
#include "models/libraries/graph/tuner.hpp"
#include "sim/base/factors.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::graph {
namespace {

Generations generations(const Platform& platform, const std::vector<int>& gpus) {
  std::set<int> sm;
  for (const int gpu : gpus) sm.insert(platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm);
  const int cpu = platform.socket_of(platform.gpu(gpus.front()));
  const CpuMaker maker = cpu_maker(platform.topology().devices[static_cast<std::size_t>(cpu)]);
  return {*sm.begin(), *sm.rbegin(), maker == CpuMaker::kAmd, maker == CpuMaker::kPower};
}

/// @source  models/libraries/SOURCES.md (facts about the tags of NVIDIA/nccl named in `versions()`, no code of it)
/// @limits  several nodes: across.hpp. CollNet reduces in the fabric only where it is asked for.
class NcclGraph final : public Library, public RingLibrary {
 public:
  explicit NcclGraph(const Version& version) : version_(&version) {}

  [[nodiscard]] const RingLibrary* rings() const override { return this; }

  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    return build_communicator(*version_, platform, gpus);
  }

  /// NCCL_TOPO_FILE is older than its graph era.
  [[nodiscard]] bool takes_topology_files() const override { return true; }

  [[nodiscard]] bool spans_nodes() const override { return true; }

  [[nodiscard]] Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          bool pxn) const override {
    return graph::build_across(*version_, cluster, gpus, nodes, pxn);
  }

  [[nodiscard]] bool has_pxn() const override { return version_->search.proxies_to_nic; }

  /// Of the ring: what the tuner takes, or what was forced.
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    const auto choice = choose(platform, communicator, {operation, size, "ring", forced});
    return {choice->entry.protocol, choice->payload_share};
  }

  [[nodiscard]] std::vector<TunerEntry> tuner(const Platform& platform, const Communicator& communicator,
                                              const TunerRequest& request) const override {
    return tuner_table(version_->tuner, communicator, generations(platform, communicator.gpus), request);
  }

  /// The least time among the rows that are enabled; a forced row need not be enabled.
  [[nodiscard]] std::optional<TunerChoice> choose(const Platform& platform, const Communicator& communicator,
                                                  const TunerRequest& request) const override {
    if (!request.protocol.empty()) static_cast<void>(protocol_index(request.protocol));
    const TunerEntry* best = nullptr;
    const std::vector<TunerEntry> rows = tuner(platform, communicator, request);
    for (const TunerEntry& row : rows) {
      if (!request.algorithm.empty() && row.algorithm != request.algorithm) continue;
      if (request.protocol.empty() ? !row.enabled : row.protocol != request.protocol) continue;
      if (tuned(row.algorithm).multicast && !request.nvls) continue;
      if (!best || row.time < best->time) best = &row;
    }
    if (!best)
      throw InputError(version_->name + " has no " + request.algorithm +
                       (request.protocol.empty() || request.algorithm.empty() ? "" : " ") + request.protocol + " for " +
                       request.operation + " here");
    return with_blocks(version_->tuner, communicator, *best, request);
  }

  [[nodiscard]] AlgorithmLatency algorithm_latency(const Communicator& communicator,
                                                   const std::string& algorithm) const override {
    const TunedAlgorithm& known = tuned(algorithm);
    return known.latency != nullptr ? known.latency(version_->tuner, communicator) : AlgorithmLatency();
  }

  /// By generation, whatever the version: the machine does not change with it.
  [[nodiscard]] Prior multicast_share(const Platform& platform, const Communicator& communicator) const override {
    return graph::multicast_share(generations(platform, communicator.gpus).least);
  }

  [[nodiscard]] std::optional<MessageChoice> message(const Communicator& communicator, Bytes size) const override {
    return message_of(communicator, size.si);
  }

  /// Of the ring.
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return {version_->tuner.ring.base[protocol_index(protocol)] * kMicro};
  }

  /// Of the ring.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    const Latency& ring = version_->tuner.ring;
    return {(path_class == "NVL" ? ring.nvlink_hop : ring.pci_hop)[protocol_index(protocol)] * kMicro};
  }

 private:
  const Version* version_;
};

bool register_all() {
  for (const Version& version : versions())
    libraries().add(
        {version.name, "NCCL " + version.stands_for + ": rings and trees by search, tuner (tag " + version.tag + ")",
         "models/libraries/SOURCES.md (facts about NVIDIA/nccl tag " + version.tag + ")"},
        [&version] { return std::make_unique<NcclGraph>(version); });
  return true;
}

const bool nccl_graph_registered = register_all();

}  // namespace
}  // namespace linkcast::graph
