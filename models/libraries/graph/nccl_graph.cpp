// NCCL 2.7 to 2.30: one class, versions by their traits.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/graph/node_model.hpp"
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

const Device& device_of(const Cluster& cluster, int gpu) {
  return cluster.node().topology().devices[static_cast<std::size_t>(cluster.node().gpu(gpu))];
}

/// GPUs whose links the library's search does not know: not NVIDIA's.
bool foreign(const Cluster& cluster, const std::vector<int>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](int gpu) { return device_of(cluster, gpu).model.find("gfx") != std::string::npos; });
}

/// Whether each head reaches its NIC below the CPU: by a PCIe switch, or directly.
bool nics_within_switches(const Cluster& cluster, const std::map<int, int>& entries) {
  const Platform& node = cluster.node();
  for (const auto& [nic, head] : entries)
    for (const int link : cluster.to_nic(head).links) {
      const int to = node.links()[static_cast<std::size_t>(link)].to;
      if (node.topology().devices[static_cast<std::size_t>(to)].kind == DeviceKind::kCpu) return false;
    }
  return true;
}

Tree chain_from(const Channel& ring) { return {ring.order, ring.hops, ring.blocks, ring.in, ring.in}; }

/// A ring in one node as the library finds it there, and a chain along it, for each NIC next to a member, at the
/// fastest speed that all these NICs carry.
/// @source  models/libraries/SOURCES.md, "Graph era: NICs", GPUs that are not NVIDIA's
Communicator headed(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, bool proxies) {
  Communicator made;
  if (gpus.size() > 1) {
    made = build_communicator(version, cluster.node(), gpus);
  } else {
    made.library = version.name;
    made.gpus = gpus;
    made.path_class = made.tree_class = "LOC";
    made.one_order = true;
    made.channels.push_back({gpus, {}, 0, 1});
  }
  const std::map<int, int> entries = nic_heads(cluster, gpus);
  double carried = std::numeric_limits<double>::infinity();
  for (const auto& entry : entries) carried = std::min(carried, nic_bandwidth(cluster, entry.first).si / kGiga);
  const int sm = library_sm(device_of(cluster, gpus.front())), found = static_cast<int>(entries.size());
  const std::vector<double>& speeds = std::prev(version.search.network_speeds.upper_bound(sm))->second;
  const auto speed = std::find_if(speeds.begin(), speeds.end(), [&](double one) { return one <= carried; });
  if (speed != speeds.end()) carried = *speed;
  const int most = std::max(1, version.search.max_channels / 2 / found);
  const int parts = std::min(split_factor(version.search, sm, found, carried), most);
  made.network_channel_bandwidth = made.tree_channel_bandwidth = {carried / parts * kGiga};
  const bool near = nics_within_switches(cluster, entries);
  made.network_class = to_text(near ? PathClass::kPxb : PathClass::kPhb);
  made.nics_near = near;
  made.channels = headed_rings(cluster, made.channels, entries, {parts, proxies && version.search.proxies_to_nic});
  made.trees.clear();
  for (const Channel& ring : made.channels) made.trees.push_back(chain_from(ring));
  return made;
}

/// Rings and trees over several equal nodes, each of which begins and ends at a NIC.
/// @param proxies  GPUs may send by the NIC of another one (PXN), from the version on that has it
/// @throws InputError  no GPU, more nodes than the fabric has room for
/// @source  models/libraries/SOURCES.md, "Graph era: NICs"
Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                          bool proxies) {
  check_nodes(cluster, gpus, nodes);
  Communicator built = foreign(cluster, gpus) ? headed(version, cluster, gpus, proxies)
                                              : build_part(version, cluster.node(), gpus, nics_of(cluster), proxies);
  std::set<int> entries;
  for (const Channel& ring : built.channels) entries.insert(ring.in.nic);
  const int found = static_cast<int>(entries.size());
  built.nodes = nodes;
  built.plugin = plugin_of(cluster.node().wiring());
  // One channel a NIC in use: what crosses the fabric once goes up the tree and once down, in the same channel.
  built.nvls_channels = built.nvls_channels > 0 ? found : 0;
  const double network = nodes > 2 ? built.network_channel_bandwidth.si / 2 : built.network_channel_bandwidth.si;
  built.nvls_channel_bandwidth = {std::min(built.nvls_channel_bandwidth.si, network)};
  built.why =
      fmt::format("{} rings over {} nodes and {} NICs of each, ways to NICs of class {}; inside a node: {}",
                  built.channels.size(), nodes, found, built.network_class, gpus.size() == 1 ? "one GPU" : built.why);
  return built;
}

Generations generations(const Platform& platform, const std::vector<int>& gpus) {
  std::set<int> sm;
  for (const int gpu : gpus) sm.insert(platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm);
  const int cpu = platform.socket_of(platform.gpu(gpus.front()));
  const CpuMaker maker = cpu_maker(platform.topology().devices[static_cast<std::size_t>(cpu)]);
  return {*sm.begin(), *sm.rbegin(), maker == CpuMaker::kAmd, maker == CpuMaker::kPower};
}

/// What one thread block moves by LL128, before it was measured.
Prior lines_rate(int sm) {
  // What the tuner takes for the most that a channel carries, GB/s. source: models/libraries/SOURCES.md, the newest
  // figure for each generation
  static const BySm kMost = {{70, 20}, {90, 36.7}, {100, 40}};
  // source: 22.6 GB/s of 36.7 on H200 (models/params/hgx-h200.json); 13.4 and 18.1 of 20 on A100
  constexpr double kShare = 0.6, kSpread = 0.4;
  return {kShare * by_sm(kMost, sm) * kGiga, kSpread};
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
      if (!request.admits(row) || (request.protocol.empty() && !row.enabled)) continue;
      if (tuned(row.algorithm).multicast && !request.nvls) continue;
      if (!best || row.time < best->time) best = &row;
    }
    if (!best)
      throw InputError(version_->name + " has no " + request.algorithm +
                       (request.protocol.empty() || request.algorithm.empty() ? "" : " ") + request.protocol + " for " +
                       request.operation + " here" +
                       (request.without.empty() ? "" : " without " + joined(request.without)));
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
