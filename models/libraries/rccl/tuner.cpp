#include "models/libraries/rccl/tuner.hpp"

#include <algorithm>
#include <cmath>

#include "models/libraries/graph/tuner.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast::rccl {
namespace {

using graph::kLL;
using graph::kLL128;
using graph::kProtocolNames;
using graph::kSimple;

// source of this block: models/libraries/SOURCES.md, "RCCL"
constexpr PerProtocol kBase_us = {12, 12, 17}, kPciHop_us = {2.2, 2.2, 5.7}, kLeastHop_us = {2, 2, 6};
constexpr double kLargerRootedLL = 1.65;  // source: as above; broadcast and reduce of one node of MI300X
constexpr double kSmallestBent = 64;
constexpr PerProtocol kPayload = {8.0 / 16, 7.0 / 8, 1};
constexpr int kThreads = 256;
constexpr PerProtocol kLeastPerThread = {8, 8, 64}, kLeastPerThreadOfParts = {16, 64, 64};

bool in_parts(RingOperation operation) {
  return operation == RingOperation::kAllGather || operation == RingOperation::kReduceScatter;
}

double bend(const std::vector<double>& by_size, double size_B) {
  const double index = std::floor(std::log2(std::max(size_B / kSmallestBent, 1.0)));
  return by_size[static_cast<std::size_t>(std::min(index, static_cast<double>(by_size.size()) - 1))];
}

class CostModel {
 public:
  CostModel(const Situation& here, const TunerRequest& request)
      : here_(here),
        communicator_(here.communicator),
        request_(request),
        operation_(ring_operation(communicator_.library, request.operation)),
        ranks_(communicator_.ranks()),
        nodes_(communicator_.nodes) {}

  [[nodiscard]] std::vector<TunerEntry> rows() const {
    std::vector<TunerEntry> rows;
    for (const bool tree : {true, false}) {
      if (tree && operation_ != RingOperation::kAllReduce) continue;
      const AlgorithmFigures& figures = tree ? here_.table.tree : here_.table.ring;
      for (std::size_t p = 0; p < kProtocols; ++p) {
        const double ratio = (nodes_ > 2 ? figures.ratio_more : figures.ratio)[p];
        if (ratio > 0) rows.push_back(row(tree, figures, p, ratio));
      }
    }
    return rows;
  }

 private:
  [[nodiscard]] double bus_GBps() const {
    return static_cast<double>(communicator_.channels.size()) * graph::channel_bandwidth(communicator_).si / kGiga;
  }

  [[nodiscard]] double share(bool tree) const {
    if (operation_ == RingOperation::kAllReduce) return tree ? 0.5 : ranks_ / (2 * (ranks_ - 1));
    return in_parts(operation_) ? ranks_ / (ranks_ - 1) : 1;
  }

  [[nodiscard]] double inside_hop(const AlgorithmFigures& figures, std::size_t protocol) const {
    return hop_latency(figures, kProtocolNames[protocol], communicator_.path_class).si / kMicro;
  }

  [[nodiscard]] double ring_us(const AlgorithmFigures& figures, std::size_t protocol) const {
    const double hop = inside_hop(figures, protocol), between = figures.network_hop_us[protocol];
    if (operation_ == RingOperation::kBroadcast || operation_ == RingOperation::kReduce)
      return nodes_ > 1 ? between : hop;
    const bool twice = operation_ == RingOperation::kAllReduce;
    const double steps = (twice ? 2 : 1) * (ranks_ - 1);
    if (nodes_ == 1) return steps * hop;
    const double crossed = !twice ? nodes_ - 1 : 2 * (here_.release.late_steps ? nodes_ - 1 : nodes_);
    return std::max(0.0, steps - crossed) * std::max(hop, kLeastHop_us[protocol]) + crossed * between;
  }

  [[nodiscard]] double tree_us(const AlgorithmFigures& figures, std::size_t protocol) const {
    return 2 * ((ranks_ / nodes_ - 1) * inside_hop(figures, protocol) +
                std::floor(std::log2(nodes_)) * figures.network_hop_us[protocol]);
  }

  [[nodiscard]] bool enabled(bool tree, std::size_t protocol) const {
    const bool mi300 = here_.generation >= Generation::kMi300;
    if (protocol == kLL128) return mi300 && here_.release.ranges && here_.all_to_all && communicator_.nics_near;
    return !(tree && protocol == kSimple && mi300 && nodes_ == 1);
  }

  [[nodiscard]] TunerEntry row(bool tree, const AlgorithmFigures& figures, std::size_t protocol, double ratio) const {
    const bool rooted = operation_ == RingOperation::kBroadcast || operation_ == RingOperation::kReduce;
    const bool larger = rooted && protocol == kLL && nodes_ == 1 && here_.generation >= Generation::kMi300;
    const double GBps = bus_GBps() * ratio * share(tree) * (larger ? kLargerRootedLL : 1);
    const double us = kBase_us[protocol] + (tree ? tree_us(figures, protocol) : ring_us(figures, protocol));
    const double bent = tree || nodes_ > 1 ? bend(figures.bends[protocol], request_.size.si) : 1;
    const double time_s = us * kMicro + request_.size.si / (GBps * bent * kGiga);
    return {tree ? "tree" : "ring", kProtocolNames[protocol], {GBps * kGiga}, {us * kMicro}, {time_s},
            enabled(tree, protocol)};
  }

  const Situation& here_;
  const Communicator& communicator_;
  const TunerRequest& request_;
  RingOperation operation_;
  double ranks_;
  int nodes_;
};

const ProtocolRange& range_of(const ProtocolRanges& ranges, RingOperation operation) {
  switch (operation) {
    case RingOperation::kAllReduce:
      return ranges.all_reduce;
    case RingOperation::kAllGather:
      return ranges.all_gather;
    case RingOperation::kReduceScatter:
      return ranges.reduce_scatter;
    case RingOperation::kReduce:
      return ranges.reduce;
    case RingOperation::kBroadcast:
      break;
  }
  return ranges.broadcast;
}

}  // namespace

Seconds base_latency(const std::string& protocol) { return {kBase_us[graph::protocol_index(protocol)] * kMicro}; }

Seconds hop_latency(const AlgorithmFigures& figures, const std::string& protocol, const std::string& path_class) {
  const std::size_t index = graph::protocol_index(protocol);
  const double own = path_class == kXgmi ? figures.hop_us[index] : 0;  // 0: the table is without this protocol
  return {(own > 0 ? own : kPciHop_us[index]) * kMicro};
}

std::vector<TunerEntry> tuner_table(const Situation& here, const TunerRequest& request) {
  return CostModel(here, request).rows();
}

std::string protocol_by_size(const Situation& here, const TunerRequest& request) {
  const Communicator& communicator = here.communicator;
  const ProtocolRanges* ranges = here.release.ranges && here.all_to_all ? protocol_ranges(here.generation) : nullptr;
  if (ranges == nullptr || !request.protocol.empty()) return "";
  const RingOperation operation = ring_operation(communicator.library, request.operation);
  const bool rooted = operation == RingOperation::kReduce || operation == RingOperation::kBroadcast;
  if (rooted && !here.release.rooted_ranges) return "";
  const double bytes = request.size.si / (in_parts(operation) ? communicator.ranks() : 1);
  if (communicator.nodes == 1)
    return operation == RingOperation::kReduceScatter && bytes <= ranges->inside_scatter_B ? kProtocolNames[kLL] : "";
  const ProtocolRange& range = range_of(*ranges, operation);
  const double stretch = operation == RingOperation::kAllReduce && communicator.nodes > 2 ? ranges->more_nodes : 1;
  if (bytes <= range.ll_B) return kProtocolNames[kLL];
  return kProtocolNames[bytes <= range.ll128_B * stretch && communicator.nics_near ? kLL128 : kSimple];
}

std::optional<TunerChoice> all_pairs(const Situation& here, const TunerRequest& request) {
  const bool forced = !request.algorithm.empty() || !request.protocol.empty() || request.channels > 0;
  if (forced || !here.all_to_all || here.communicator.nodes > 1 || request.operation != "all_reduce") return {};
  // source: models/libraries/SOURCES.md, "RCCL": four blocks to 64 KiB, eight to 16 MiB, LL to 512 KiB. Below 1 KiB
  // rings run: public figures fall from 23 to 14 us there
  constexpr double kFrom_B = 1024, kFew_B = 65536, kLL_B = 524288, kTo_B = 16777216, kDirectTo_B = 8388608;
  const double size_B = request.size.si;
  const double to_B = here.release.all_pairs && here.generation == Generation::kMi300 ? kTo_B
                      : here.release.direct_kernels                                   ? kDirectTo_B
                                                                                      : 0;
  if (size_B < kFrom_B || size_B > to_B) return {};
  const std::size_t protocol = size_B <= kLL_B ? kLL : kSimple;
  TunerChoice choice;
  choice.entry.algorithm = "all_pairs";
  choice.entry.protocol = kProtocolNames[protocol];
  choice.channels = size_B <= kFew_B ? 4 : 8;
  choice.threads = kThreads;
  choice.payload_share = kPayload[protocol];
  if (!request.admits(choice.entry)) return {};
  return choice;
}

TunerChoice with_channels(const Situation& here, const TunerEntry& entry, const TunerRequest& request) {
  const Communicator& communicator = here.communicator;
  const std::size_t protocol = graph::protocol_index(entry.protocol);
  TunerChoice choice{entry, 0, kThreads, kPayload[protocol]};
  int all = 0;
  for (const Channel& channel : communicator.channels) all += channel.blocks;
  choice.channels = request.channels > 0 ? request.channels : std::max(all, request.least_channels);
  if (request.most_channels > 0) choice.channels = std::min(choice.channels, request.most_channels);
  const bool parts = in_parts(ring_operation(communicator.library, request.operation));
  const bool late = here.release.ranges && parts && communicator.nodes > 1;
  const bool each_rank = entry.algorithm == "ring" && (protocol == kLL || (late && protocol == kLL128));
  const double least =
      (late ? kLeastPerThreadOfParts : kLeastPerThread)[protocol] * (each_rank ? communicator.ranks() : 1);
  while (choice.channels > 1 && request.size.si < choice.channels * choice.threads * least) --choice.channels;
  return choice;
}

}  // namespace linkcast::rccl
