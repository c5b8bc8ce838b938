// NCCL 2.7 to 2.30: one class, versions by their traits.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/libraries/generations.hpp"
#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/graph/node_model.hpp"
#include "models/libraries/graph/plugin_regions.hpp"
#include "models/libraries/graph/tuner.hpp"
#include "models/libraries/graph/version.hpp"
#include "models/libraries/ring_search.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::graph {
namespace {

std::vector<GraphNic> nics_of(const Cluster& cluster) {
  std::vector<GraphNic> nics;
  for (int nic = 0; nic < cluster.nics(); ++nic)
    nics.push_back({cluster.nic_device(nic), nic_bandwidth(cluster, nic).si / kGiga});
  for (int gpu = 0; gpu < cluster.node().gpu_count(); ++gpu)
    nics[static_cast<std::size_t>(cluster.nic_of(gpu))].users.insert(gpu);
  return nics;
}

Generations generations(const Platform& platform, const std::vector<int>& gpus) {
  std::set<int> sm;
  for (const int gpu : gpus) sm.insert(platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm);
  const int cpu = platform.socket_of(platform.gpu(gpus.front()));
  const CpuMaker maker = cpu_maker(platform.topology().devices[static_cast<std::size_t>(cpu)]);
  return {*sm.begin(), *sm.rbegin(), maker == CpuMaker::kAmd, maker == CpuMaker::kPower};
}

/// Rings and trees over several equal nodes, each of which begins and ends at a NIC.
/// @throws InputError  no GPU, more nodes than the fabric has room for
/// @source  models/libraries/SOURCES.md, "Graph era: NICs"
Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                          const ExitSettings& exits) {
  check_nodes(cluster, gpus, nodes);
  Communicator built = build_part(version, cluster.node(), gpus, nics_of(cluster), exits);
  std::set<int> entries;
  for (const Channel& ring : built.channels) entries.insert(ring.in.nic);
  const int found = static_cast<int>(entries.size());
  built.nodes = nodes;
  built.message_channels = exits.peer_channels;
  built.plugin = plugin_of(cluster.node().wiring());
  // One channel a NIC in use: what crosses the fabric once goes up the tree and once down, in the same channel.
  built.nvls_channels = built.nvls_channels > 0 ? found : 0;
  built.nvls_blocks =
      built.nvls_channels > 0 ? nccl_generation(generations(cluster.node(), gpus).least).nvls_blocks_between : 0;
  const double network = nodes > 2 ? built.network_channel_bandwidth.si / 2 : built.network_channel_bandwidth.si;
  built.nvls_channel_bandwidth = {std::min(built.nvls_channel_bandwidth.si, network)};
  built.why =
      fmt::format("{} rings over {} nodes and {} NICs of each, ways to NICs of class {}; inside a node: {}",
                  built.channels.size(), nodes, found, built.network_class, gpus.size() == 1 ? "one GPU" : built.why);
  return built;
}

/// Rate of one thread block by LL128, before it was measured.
Prior lines_rate(int sm) {
  // The most that a channel carries as the tuner has it, GB/s. source: models/libraries/SOURCES.md, the newest
  // figure for each generation
  static const BySm kMost = {{70, 20}, {90, 36.7}, {100, 40}};
  // source: 22.6 GB/s of 36.7 on H200 (models/params/hgx-h200.json); 13.4 and 18.1 of 20 on A100
  constexpr double kShare = 0.6, kSpread = 0.4;
  return {kShare * by_sm(kMost, sm) * kGiga, kSpread};
}

/// Whether the plug-in's tuner looks at all. @source  aws/aws-ofi-nccl, src/tuner: it leaves two nodes to NCCL
bool has_ruler(const Communicator& communicator, const TunerRequest& request) {
  const std::string& tuner = communicator.plugin.tuner;
  return request.plugin_tuner && !tuner.empty() && communicator.nodes > (tuner == kUnknownTuner ? 1 : 2);
}

/// The row that the plug-in's tuner makes cost nothing: that of the first region with the call's size and ranks that
/// the library could take. @returns  null: the library's own estimates decide
const TunerEntry* ruled_row(const Communicator& communicator, const TunerRequest& request,
                            const std::vector<TunerEntry>& rows) {
  if (!has_ruler(communicator, request)) return nullptr;
  for (const PluginRegion* region :
       plugin_regions_at(communicator.plugin.tuner, request.operation, static_cast<int>(communicator.gpus.size()),
                         request.size.si, communicator.ranks()))
    for (const TunerEntry& row : rows)
      if (row.enabled && may_take(row, request) && row.algorithm == region->algorithm &&
          row.protocol == region->protocol)
        return &row;
  return nullptr;
}

/// A warning where a plug-in has a tuner; empty: the choice rests on the library's estimates.
std::string why_ruled(const Communicator& communicator, const TunerRequest& request, const TunerEntry& own,
                      const TunerEntry* ruled) {
  if (!has_ruler(communicator, request)) return "";
  if (communicator.plugin.tuner == kUnknownTuner)
    return "the network's plug-in replaces NCCL's choice by a table that is not public: the choice here is that of "
           "NCCL's own model, and another one may run";
  if (ruled == nullptr) return "";
  const bool same = own.algorithm == ruled->algorithm && own.protocol == ruled->protocol;
  return fmt::format(
      "the tuner of EFA's plug-in chose {} {}, where NCCL's own model takes {}; plugin_tuner false "
      "(OFI_NCCL_TUNER_TYPE=INTERNAL) leaves the choice to NCCL",
      ruled->algorithm, ruled->protocol, same ? "the same" : own.algorithm + " " + own.protocol);
}

/// @source  models/libraries/SOURCES.md (facts about the tags of NVIDIA/nccl named in `versions()`, no code of it)
/// @limits  CollNet reduces in the fabric only where it is asked for.
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
                                          const ExitSettings& exits) const override {
    return graph::build_across(*version_, cluster, gpus, nodes, exits);
  }

  [[nodiscard]] bool has_pxn() const override { return version_->search.proxies_to_nic; }
  [[nodiscard]] bool has_exit_settings() const override { return true; }

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

  /// The row of the plug-in's tuner, else the least time among the rows that are enabled; a forced row need not be
  /// enabled.
  [[nodiscard]] std::optional<TunerChoice> choose(const Platform& platform, const Communicator& communicator,
                                                  const TunerRequest& request) const override {
    if (!request.protocol.empty()) static_cast<void>(protocol_index(request.protocol));
    const std::vector<TunerEntry> rows = tuner(platform, communicator, request);
    const TunerEntry& best = least_row(version_->name, rows, request);
    const TunerEntry* ruled = version_->tuner.plugin_tuners ? ruled_row(communicator, request, rows) : nullptr;
    TunerChoice choice = with_blocks(version_->tuner, communicator, ruled != nullptr ? *ruled : best, request);
    choice.by_rule = ruled != nullptr;
    if (version_->tuner.plugin_tuners) choice.why = why_ruled(communicator, request, best, ruled);
    return choice;
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

  /// The same: LL128 gets faster with the generation.
  [[nodiscard]] std::optional<Prior> block_rate(const Platform& platform, const Communicator& communicator,
                                                const std::string& protocol) const override {
    if (protocol_index(protocol) != kLL128) return std::nullopt;
    return lines_rate(generations(platform, communicator.gpus).least);
  }

  [[nodiscard]] std::optional<MessageChoice> message(const Communicator& communicator, Bytes size,
                                                     int channels) const override {
    return message_of(communicator, size.si, channels);
  }

  /// Of the ring.
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return {version_->tuner.ring.base[protocol_index(protocol)] * kMicro};
  }

  /// Of the ring.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    const Latency& ring = version_->tuner.ring;
    return {(path_class == to_text(PathClass::kNvl) ? ring.nvlink_hop : ring.pci_hop)[protocol_index(protocol)] *
            kMicro};
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
