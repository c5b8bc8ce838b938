// RCCL: presets of whole nodes, NCCL's search elsewhere, a cost model of its own.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "models/libraries/generations.hpp"
#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/graph/tuner.hpp"
#include "models/libraries/rccl/tuner.hpp"
#include "models/libraries/ring_search.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::rccl {
namespace {

/// NCCL's search of this release with the widths of XGMI.
/// @param rings  that it stops at; 0: as many as NCCL
graph::Version searched(const Release& release, Generation generation, int rings) {
  const std::vector<graph::Version>& all = graph::versions();
  graph::Version version =
      *std::find_if(all.begin(), all.end(), [&](const graph::Version& one) { return one.name == release.base; });
  version.name = release.name;
  graph::SearchTraits& search = version.search;
  search.nvlink = {{0, link_GBps(generation)}};
  search.speeds = {*search.speeds.begin()};
  search.network_speeds = {*search.network_speeds.begin()};
  search.plain_trees = search.many_hopper_stay_single = search.proxies_to_nic = false;
  if (rings > 0) search.max_channels = 2 * rings;
  return version;
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

/// One object each: the search knows its traits by their address.
const graph::Version& search_of(const Release& release, Generation generation, bool inside) {
  using Key = std::tuple<std::string, Generation, bool>;
  static const std::map<Key, graph::Version> kAll = [] {
    // One node with EPYC's CPUs: a search over MI250 and older stops at two rings. source: models/libraries/SOURCES.md
    constexpr int kFewRings = 2;
    std::map<Key, graph::Version> all;
    for (const Release& one : releases())
      for (const Generation gpu : {Generation::kMi100, Generation::kMi200, Generation::kMi300, Generation::kMi350}) {
        all[{one.name, gpu, true}] = searched(one, gpu, gpu < Generation::kMi300 ? kFewRings : 0);
        all[{one.name, gpu, false}] = searched(one, gpu, 0);
      }
    return all;
  }();
  return kAll.at({release.name, generation, inside});
}

/// @source  models/libraries/SOURCES.md, "RCCL" (facts about ROCm/rccl and ROCm/rocm-systems, no code of them)
/// @limits  rail trees, hierarchical and direct all_gather, copy engines and WarpSpeed are left out
class Rccl final : public Library, public RingLibrary {
 public:
  explicit Rccl(const Release& release) : release_(release) {}

  [[nodiscard]] const RingLibrary* rings() const override { return this; }
  [[nodiscard]] std::string maker() const override { return "amd"; }
  [[nodiscard]] bool spans_nodes() const override { return true; }

  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    check_members(platform, gpus);
    if (const Match match = find_preset(platform, gpus, 0, {}); match.preset != nullptr)
      return named(preset_inside(match, platform, gpus));
    return named(found_inside(platform, gpus, 1));
  }

  [[nodiscard]] Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          const ExitSettings& /*exits*/) const override {
    check_nodes(cluster, gpus, nodes);
    const std::map<int, int> entries = nic_heads(cluster, gpus);
    std::vector<int> nic_of;
    for (int gpu = 0; gpu < cluster.node().gpu_count(); ++gpu) nic_of.push_back(cluster.nic_of(gpu));
    const Match match = find_preset(cluster.node(), gpus, cluster.nics(), nic_of);
    Communicator built = match.preset != nullptr ? preset_across(match, cluster, gpus, nodes)
                                                 : found_across(cluster, gpus, nodes, entries);
    built.nics_near = nics_within_switches(cluster, entries);
    built.network_class = built.nics_near ? "PXB" : "PHB";
    built.plugin = plugin_of(cluster.node().wiring());
    built.why += fmt::format("; over {} nodes and {} NICs of each", nodes, entries.size());
    return named(std::move(built));
  }

  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    const auto choice = choose(platform, communicator, {operation, size, "ring", forced});
    return {choice->entry.protocol, choice->payload_share};
  }

  [[nodiscard]] std::vector<TunerEntry> tuner(const Platform& platform, const Communicator& communicator,
                                              const TunerRequest& request) const override {
    const Situation here = situation(platform, communicator);
    const std::string by_size = protocol_by_size(here, request);
    std::vector<TunerEntry> rows = tuner_table(here, request);
    for (TunerEntry& row : rows) row.enabled = row.enabled && (by_size.empty() || row.protocol == by_size);
    return rows;
  }

  /// The least time among the rows that are enabled, then the rules by size.
  [[nodiscard]] std::optional<TunerChoice> choose(const Platform& platform, const Communicator& communicator,
                                                  const TunerRequest& request) const override {
    if (!request.protocol.empty()) static_cast<void>(graph::protocol_index(request.protocol));
    const Situation here = situation(platform, communicator);
    if (auto pairs = all_pairs(here, request)) return pairs;
    const std::vector<TunerEntry> rows = tuner_table(here, request);
    const TunerEntry* best = &graph::least_row(release_.name, rows, request);
    const std::string by_size = protocol_by_size(here, request);
    for (const TunerEntry& row : rows)
      if (row.algorithm == best->algorithm && row.protocol == by_size && request.admits(row)) best = &row;
    return with_channels(here, *best, request);
  }

  [[nodiscard]] std::optional<MessageChoice> message(const Communicator& communicator, Bytes size,
                                                     int channels) const override {
    return graph::message_of(communicator, size.si, channels);
  }

  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return rccl::base_latency(protocol);
  }
  /// The ring's. Inside a node tables differ little.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    return rccl::hop_latency(tuning_table(release_.table_of_mi300).ring, protocol, path_class);
  }

 private:
  [[nodiscard]] Communicator named(Communicator built) const {
    built.library = release_.name;
    return built;
  }

  [[nodiscard]] Communicator found_inside(const Platform& platform, const std::vector<int>& gpus, int nodes) const {
    const Generation generation = generation_of(platform, gpus);
    Communicator built = graph::build_communicator(search_of(release_, generation, nodes == 1), platform, gpus);
    const int times =
        repeats(generation, static_cast<int>(gpus.size()), nodes, static_cast<int>(built.channels.size()));
    for (Channel& channel : built.channels) channel.blocks = times;
    for (Tree& tree : built.trees) tree.blocks = times;
    if (built.path_class == "NVL") built.path_class = kXgmi;
    if (built.tree_class == "NVL") built.tree_class = kXgmi;
    built.message_channels = message_channels(platform, gpus, nodes);
    return built;
  }

  /// A ring in one node as the library finds it there, and a chain along it, for each NIC next to a member, at the
  /// fastest speed that all these NICs carry. Its own orders between nodes are in its presets.
  [[nodiscard]] Communicator found_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          const std::map<int, int>& entries) const {
    Communicator built;
    if (gpus.size() > 1) {
      built = found_inside(cluster.node(), gpus, nodes);
    } else {
      built.gpus = gpus;
      built.path_class = built.tree_class = "LOC";
      built.one_order = true;
      built.channels.push_back({gpus, {}, 0, 1});
    }
    const Generation generation = generation_of(cluster.node(), gpus);
    const graph::SearchTraits& search = search_of(release_, generation, false).search;
    double carried = std::numeric_limits<double>::infinity();
    for (const auto& entry : entries) carried = std::min(carried, nic_bandwidth(cluster, entry.first).si / kGiga);
    const std::vector<double>& speeds = search.network_speeds.begin()->second;
    const auto speed = std::find_if(speeds.begin(), speeds.end(), [&](double one) { return one <= carried; });
    if (speed != speeds.end()) carried = *speed;
    const int found = static_cast<int>(entries.size()), most = std::max(1, search.max_channels / 2 / found);
    const int parts = std::min(graph::split_factor(search, kAmpere, found, carried), most);
    built.nodes = nodes;
    built.network_channel_bandwidth = built.tree_channel_bandwidth = {carried / parts * kGiga};
    built.channels = headed_rings(cluster, built.channels, entries, {parts, false});
    built.trees.clear();
    const int times = repeats(generation, built.ranks(), nodes, static_cast<int>(built.channels.size()));
    for (Channel& ring : built.channels) {
      ring.blocks = times;
      built.trees.push_back(chain_from(ring));
    }
    built.message_channels = message_channels(cluster.node(), gpus, nodes);
    return built;
  }

  [[nodiscard]] Situation situation(const Platform& platform, const Communicator& built) const {
    const Generation generation = generation_of(platform, built.gpus);
    const Preset* preset = preset_of(platform, built);
    const int table = preset == nullptr ? 0 : preset->table.value_or(release_.table_of_mi300);
    const bool all_to_all = preset != nullptr && generation >= Generation::kMi300;
    return {release_, built, generation, tuning_table(table), all_to_all};
  }

  const Release& release_;
};

bool register_all() {
  for (const Release& release : releases())
    libraries().add({release.name, "RCCL " + release.stands_for + ": preset rings of whole nodes, else NCCL's search",
                     "models/libraries/SOURCES.md, RCCL (facts about ROCm/rccl and ROCm/rocm-systems)"},
                    [&release] { return std::make_unique<Rccl>(release); });
  return join_parameters("rccl", {});
}

const bool rccl_registered = register_all();

}  // namespace
}  // namespace linkcast::rccl
