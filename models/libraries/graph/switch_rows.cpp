// Rows of the cost model that are no ring and no tree of GPUs: NVLS, CollNet and PAT.
#include <algorithm>
#include <array>
#include <cmath>

#include "models/libraries/generations.hpp"
#include "models/libraries/graph/tuner.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast::graph {
namespace {

// source of this block: models/libraries/SOURCES.md, "CollNet and PAT"
constexpr double kPatShare = 0.75;
constexpr double kCollnetShare = 0.5;       // up and down, as a tree
constexpr double kCollnetPerPeer_us = 0.4;  // source: as above; CollNet direct, each way
constexpr const char* kSimpleName = "Simple";

constexpr double kCountedGpus = 8;
// Of each byte loaded. source: docs/model.md, packets: a header of 16 bytes for a line of 128 and its header
constexpr double kRequest = 16.0 / 144;

AlgorithmLatency::Part part(double each_us, double count) { return {each_us * kMicro, count}; }
double peers_of(const Communicator& communicator) { return static_cast<double>(communicator.gpus.size()) - 1; }

AlgorithmLatency nvls_latency(const TunerTraits& traits, const Communicator& communicator) {
  AlgorithmLatency latency;
  latency.base_s = traits.nvls_hop_us * kMicro;
  if (communicator.nodes > 1) latency.between = part(traits.nvls_network_us, 1);
  return latency;
}

AlgorithmLatency nvls_tree_latency(const TunerTraits& traits, const Communicator& communicator) {
  AlgorithmLatency latency;
  latency.base_s = traits.nvls_hop_us * kMicro;
  latency.between = part(traits.nvls_tree_network_hop_us, 2 * std::log2(static_cast<double>(communicator.nodes)));
  return latency;
}

AlgorithmLatency collnet_direct_latency(const TunerTraits& traits, const Communicator& communicator) {
  const double peers = peers_of(communicator);
  AlgorithmLatency latency;
  latency.inside = part(traits.collnet_hop_us, 2 * std::min(1.0, peers));
  latency.between = part(traits.collnet_network_us, 1);
  latency.ranks = part(kCollnetPerPeer_us, 2 * peers);
  return latency;
}

AlgorithmLatency collnet_chain_latency(const TunerTraits& traits, const Communicator& communicator) {
  AlgorithmLatency latency;
  latency.inside = part(traits.collnet_chain_hop_us, 2 * peers_of(communicator));
  latency.between = part(traits.collnet_chain_network_us, 1);
  return latency;
}

AlgorithmLatency pat_latency(const TunerTraits& traits, const Communicator& communicator) {
  AlgorithmLatency latency;
  latency.base_s = traits.pat_base_us * kMicro;
  latency.between = part(traits.pat_network_hop_us, std::floor(std::log2(static_cast<double>(communicator.nodes))));
  latency.ranks = part(traits.pat_rank_us, communicator.ranks());
  return latency;
}

constexpr const char *kNvls = "nvls", *kNvlsTree = "nvls_tree", *kCollnetDirect = "collnet_direct",
                     *kCollnetChain = "collnet_chain", *kPat = "pat";
constexpr TunedAlgorithm kTuned[] = {
    {.name = "ring", .ring = true},
    {.name = "tree"},
    {.name = kNvls, .multicast = true, .latency = nvls_latency},
    {.name = kNvlsTree, .multicast = true, .latency = nvls_tree_latency},
    {.name = kCollnetDirect, .latency = collnet_direct_latency},
    {.name = kCollnetChain, .latency = collnet_chain_latency},
    {.name = kPat, .latency = pat_latency},
};

class SwitchRows {
 public:
  SwitchRows(const TunerTraits& traits, const Communicator& made, const Generations& generations,
             const TunerRequest& request)
      : traits_(traits),
        made_(made),
        generations_(generations),
        request_(request),
        operation_(ring_operation(made.library, request.operation)) {}

  std::vector<TunerEntry> rows() {
    add_nvls();
    add_collnet();
    add_pat();
    return std::move(rows_);
  }

 private:
  [[nodiscard]] bool reduces_all() const { return operation_ == RingOperation::kAllReduce; }
  [[nodiscard]] bool in_parts() const {
    return operation_ == RingOperation::kAllGather || operation_ == RingOperation::kReduceScatter;
  }

  void add(const char* algorithm, double GBps, bool enabled) {
    const AlgorithmLatency latency = tuned(algorithm).latency(traits_, made_);
    const double latency_s = latency.total_s() + made_.plugin.reported_s * latency.between.count;
    const double time_s = latency_s + request_.size.si / (GBps * kGiga);
    rows_.push_back({algorithm, kSimpleName, {GBps * kGiga}, {latency_s}, {time_s}, enabled});
  }

  void add_nvls() {
    if (made_.nvls_channels == 0 || traits_.nvls_hop_us <= 0 || made_.plugin.leaves_out(kMulticast)) return;
    const double bus = made_.nvls_channels * made_.nvls_channel_bandwidth.si / kGiga;
    const double reduced = bus * by_sm(traits_.nvls_efficiency, generations_.least);
    if (reduces_all() && made_.nodes == 1) add(kNvls, reduced, request_.nvls);
    if (reduces_all() && made_.nodes > 1) {
      add(kNvlsTree, reduced, request_.nvls);
      if (request_.collnet) add(kNvls, reduced, request_.nvls);
    }
    if (in_parts() && made_.nodes == 1 && traits_.nvls_parts != NvlsParts::kNone)
      add(kNvls, of_parts(bus, reduced), request_.nvls);
  }

  [[nodiscard]] double of_parts(double bus, double reduced) const {
    const double others = (made_.ranks() - 1.0) / made_.ranks();
    if (traits_.nvls_parts == NvlsParts::kWhole) return bus;
    return traits_.nvls_parts == NvlsParts::kShare ? reduced : reduced * others * others;
  }

  /// GB/s that all NICs together carry.
  [[nodiscard]] double network_bus() const {
    return static_cast<double>(made_.channels.size()) * made_.network_channel_bandwidth.si / kGiga;
  }

  void add_collnet() {
    if (!request_.collnet || made_.nodes == 1 || !reduces_all()) return;
    const double bus = network_bus() * kCollnetShare;
    add(kCollnetDirect, bus * nccl_generation(generations_.least).collnet_direct, made_.gpus.size() > 1);
    add(kCollnetChain, bus, true);
  }

  /// One GPU a node.
  void add_pat() {
    if (traits_.pat_base_us <= 0 || made_.nodes == 1 || made_.gpus.size() > 1 || !in_parts()) return;
    add(kPat, network_bus() * kPatShare, true);
  }

  const TunerTraits& traits_;
  const Communicator& made_;
  const Generations& generations_;
  const TunerRequest& request_;
  RingOperation operation_;
  std::vector<TunerEntry> rows_{};
};

}  // namespace

const TunedAlgorithm& tuned(std::string_view algorithm) {
  for (const TunedAlgorithm& one : kTuned)
    if (one.name == algorithm) return one;
  static constexpr TunedAlgorithm kUnknown;
  return kUnknown;
}

/// The library's figure is of payload; each GPU receives n + 1 parts of n of it, and a header for each line it loads.
Prior multicast_share(int sm) {
  const NcclGeneration& counted = nccl_generation(std::max(sm, kHopper));
  return {counted.multicast_GBps * (1 + 1 / kCountedGpus + kRequest) / counted.links_GBps, counted.multicast_spread};
}

std::vector<TunerEntry> switch_rows(const TunerTraits& traits, const Communicator& communicator,
                                    const Generations& generations, const TunerRequest& request) {
  return SwitchRows(traits, communicator, generations, request).rows();
}

}  // namespace linkcast::graph
