// How many thread blocks and threads a size keeps busy.
#include "models/libraries/graph/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "models/libraries/generations.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"

namespace linkcast::graph {
namespace {

// Shares of the bus bandwidth. source of this block: models/libraries/SOURCES.md, "Graph era: tuner"
constexpr double kRingLL128 = 0.92;
constexpr double kPlainTree = 0.85;
constexpr double kTreeLL = 1 / 3.8;
constexpr double kTreeLL128 = 7.0 / 9;
constexpr double kSmallestCorrected = 64;
constexpr double kPlateauFrom_B = 64;  // a rank and channel
constexpr double kSimpleSends = 3;     // sends of a step in Simple
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Trees by size, from 64 B in powers of two. source: models/libraries/SOURCES.md, "Graph era: tuner"
using Corrections = std::array<std::vector<double>, kProtocols>;
const std::vector<double> kTreeLLBySize = {1,   1,   1,   1,   0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
                                           0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1,   1,   1,   1};
const Corrections kEarly = {kTreeLLBySize, std::vector<double>{1,   1,   1,   1,   1,   0.9, 0.8, 0.8, 0.8, 0.7, 0.6,
                                                               0.6, 0.6, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 1},
                            std::vector<double>{0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6,
                                                0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.6, 0.7, 0.8, 0.9}};
const Corrections kLate = {kTreeLLBySize,
                           std::vector<double>{1,   1,   1,   1,   1,   0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
                                               0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1,   1},
                           std::vector<double>{0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
                                               0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9}};

double correction(const TunerTraits& traits, std::size_t protocol, double size_B) {
  const auto& table = (traits.late_corrections ? kLate : kEarly)[protocol];
  const double index = std::floor(std::log2(std::max(size_B / kSmallestCorrected, 1.0)));
  return index < static_cast<double>(table.size()) ? table[static_cast<std::size_t>(index)] : 1;
}

class CostModel {
 public:
  CostModel(const TunerTraits& traits, const Communicator& communicator, const Generations& generations,
            const TunerRequest& request)
      : traits_(traits),
        made_(communicator),
        generations_(generations),
        request_(request),
        operation_(ring_operation(communicator.library, request.operation)),
        ranks_(communicator.ranks()),
        nodes_(communicator.nodes),
        channels_(static_cast<double>(communicator.channels.size())) {}

  [[nodiscard]] std::vector<TunerEntry> rows() const {
    std::vector<TunerEntry> rows;
    if (is(RingOperation::kAllReduce))
      for (std::size_t p = 0; p < kProtocols; ++p)
        rows.push_back(row(true, p, tree_bus(p) * (made_.plain_trees ? kPlainTree : 1) / 2, tree_latency(p),
                           correction(traits_, p, request_.size.si)));
    for (std::size_t p = 0; p < kProtocols; ++p)
      rows.push_back(row(false, p, ring_bus(p) * ring_ratio(), ring_latency(p) * plateau(p), 1));
    for (TunerEntry& entry : switch_rows(traits_, made_, generations_, request_)) rows.push_back(std::move(entry));
    return rows;
  }

 private:
  [[nodiscard]] bool is(RingOperation operation) const { return operation_ == operation; }
  [[nodiscard]] double ll_limited(double bus) const {
    if (nodes_ > 1) {
      const double most = (generations_.amd ? traits_.network_ll_amd : traits_.network_ll).at(nodes_);
      return most > 0 ? std::min(bus, most) : bus;
    }
    return traits_.ll_max.empty() ? bus : std::min(bus, by_sm(traits_.ll_max, generations_.least));
  }

  /// GB/s that all channels together carry, before any protocol.
  [[nodiscard]] double bus(BytesPerSecond channel) const {
    const double all = channels_ * channel.si / kGiga;
    const bool only_a100 = generations_.least == kAmpere && generations_.most == kAmpere;
    return only_a100 && traits_.a100_total > 0 ? std::min(all, traits_.a100_total) : all;
  }

  [[nodiscard]] double ring_bus(std::size_t protocol) const {
    const double all = bus(channel_bandwidth(made_));
    if (protocol == kSimple) return all;
    const bool quarter = is(RingOperation::kAllReduce) || is(RingOperation::kReduce) || nodes_ > 1;
    if (protocol == kLL) return ll_limited(traits_.ll_half ? all / 2 : quarter ? all / 4 : all / 3);
    const double channel = traits_.ring_ll128_by_op.empty() ? by_sm(traits_.ring_ll128, generations_.least)
                                                            : traits_.ring_ll128_by_op.at(operation_);
    return std::min(all * (made_.gpus.size() == 1 ? traits_.ring_ll128_alone : kRingLL128), channels_ * channel);
  }

  /// Of all trees, before any protocol
  [[nodiscard]] double tree_within(double limit) const {
    return std::min(bus(tree_bandwidth(made_)) * traits_.tree_share, limit);
  }

  [[nodiscard]] double tree_bus(std::size_t protocol) const {
    if (nodes_ > 1) return network_tree_bus(protocol);
    const double limit = !traits_.tree_channel.empty() ? channels_ * by_sm(traits_.tree_channel, generations_.least)
                         : protocol == kLL128 && generations_.least >= kAmpere ? traits_.tree_total_a100_ll128
                                                                               : traits_.tree_total;
    const double all = tree_within(limit);
    if (protocol == kSimple) return all;
    if (protocol == kLL) return ll_limited(all * kTreeLL);
    const double lines = all * kTreeLL128;
    return traits_.tree_ll128.empty() ? lines
                                      : std::min(lines, channels_ * by_sm(traits_.tree_ll128, generations_.least));
  }

  /// A limit a channel if the version has one, else of all channels.
  [[nodiscard]] double network_limit(const std::map<int, NetworkLimit>& channel, const NetworkLimit& all) const {
    if (channel.empty()) return all.at(nodes_) > 0 ? all.at(nodes_) : kNoLimit;
    auto row = channel.upper_bound(generations_.least);
    if (row != channel.begin()) --row;
    return channels_ * row->second.at(nodes_);
  }

  [[nodiscard]] double network_tree_bus(std::size_t protocol) const {
    const bool lines = protocol == kLL128 && generations_.least >= kAmpere;
    const double limit = network_limit(traits_.network_tree_channel,
                                       lines ? traits_.network_tree_ll128_a100 : traits_.network_tree_total);
    const double all = tree_within(limit);
    if (protocol == kSimple) return all;
    if (protocol == kLL) return ll_limited(all * kTreeLL);
    return std::min(all * traits_.network_tree_ll128_share, network_limit(traits_.network_tree_ll128, {}));
  }

  [[nodiscard]] double ring_ratio() const {
    if (is(RingOperation::kAllReduce)) return ranks_ / (2 * (ranks_ - 1));
    return is(RingOperation::kAllGather) || is(RingOperation::kReduceScatter) ? ranks_ / (ranks_ - 1) : 1;
  }

  /// Of a hop inside a node: NVLink's only if every hop is one direct NVLink.
  static double inner_hop(const Latency& latency, std::size_t protocol, const std::string& path_class) {
    return (path_class == to_text(PathClass::kNvl) ? latency.nvlink_hop : latency.pci_hop)[protocol];
  }
  /// The same of a tree: on POWER that of a ring if chunks are large.
  [[nodiscard]] double tree_hop(std::size_t protocol) const {
    const bool as_ring = generations_.power && protocol == kSimple && made_.tree_class != to_text(PathClass::kNvl);
    return inner_hop(as_ring ? traits_.ring : traits_.tree, protocol, made_.tree_class);
  }

  /// Of hops inside a node that are on the way between nodes.
  [[nodiscard]] double stretch(std::size_t protocol) const {
    return nodes_ > 1 && protocol == kLL ? traits_.network_ll_stretch : 1;
  }

  /// A step between nodes, with what a plug-in reports of its network.
  [[nodiscard]] double network_hop(const Latency& latency, std::size_t protocol) const {
    return latency.network_hop[protocol] + made_.plugin.reported_s / kMicro;
  }

  [[nodiscard]] double ring_latency(std::size_t protocol) const {
    return traits_.ring.base[protocol] + (operation_ == RingOperation::kBroadcast || is(RingOperation::kReduce)
                                              ? chain_steps(protocol)
                                              : ring_steps(protocol));
  }

  /// Broadcast and reduce: one hop if all channels run in one order; else a hop a rank, in Simple as long as a tree's.
  [[nodiscard]] double chain_steps(std::size_t protocol) const {
    const bool as_tree = protocol == kSimple && !made_.one_order;
    const double hop = nodes_ > 1 ? network_hop(as_tree ? traits_.tree : traits_.ring, protocol)
                       : as_tree  ? tree_hop(protocol)
                                  : inner_hop(traits_.ring, protocol, made_.path_class);
    return made_.one_order ? hop : ranks_ * hop;
  }

  /// The others: between nodes every step sends, also inside a node, by a thread that takes its time for it.
  [[nodiscard]] double ring_steps(std::size_t protocol) const {
    const bool twice = is(RingOperation::kAllReduce);
    const double steps = (twice ? 2 : 1) * (ranks_ - 1);
    double hop = inner_hop(traits_.ring, protocol, made_.path_class) * stretch(protocol);
    if (nodes_ == 1) return steps * hop;
    const double between = !twice ? nodes_ - 1 : 2 * (traits_.last_step_inside ? nodes_ - 1 : nodes_);
    hop = std::max(
        hop, (generations_.amd ? traits_.send_us_amd : traits_.send_us) * (protocol == kSimple ? kSimpleSends : 1));
    return std::max(0.0, steps - between) * hop + between * network_hop(traits_.ring, protocol);
  }

  /// Between nodes a ring's all_reduce in Simple is slower at sizes that are more than a few bytes a rank.
  [[nodiscard]] double plateau(std::size_t protocol) const {
    const bool slow = nodes_ > 1 && protocol == kSimple && is(RingOperation::kAllReduce) &&
                      request_.size.si / (channels_ * ranks_) >= kPlateauFrom_B;
    return !slow ? 1 : generations_.least >= kAmpere ? traits_.plateau_ampere : traits_.plateau;
  }

  [[nodiscard]] double tree_latency(std::size_t protocol) const {
    const double between = nodes_ > 1 ? std::log2(nodes_) : 0;
    return traits_.tree.base[protocol] + 2 * (ranks_ / nodes_ - 1) * tree_hop(protocol) * stretch(protocol) +
           2 * between * network_hop(traits_.tree, protocol);
  }

  /// LL128 needs stores of 128 bytes that arrive whole: Volta or newer, all of one generation, NVLink all the way, and
  /// NICs that are not behind a CPU. A plug-in may leave it out.
  [[nodiscard]] bool usable(bool tree, std::size_t protocol) const {
    if (made_.plugin.leaves_out(kProtocolNames[protocol])) return false;
    if (protocol != kLL128) return true;
    if (nodes_ > 1 && !made_.nics_near) return false;
    const auto path_class = path_class_of(tree ? made_.tree_class : made_.path_class);
    return generations_.least >= kVolta && generations_.least == generations_.most && path_class &&
           *path_class <= PathClass::kNvb;
  }

  [[nodiscard]] TunerEntry row(bool tree, std::size_t protocol, double GBps, double latency_us, double by_size) const {
    const double time = latency_us * kMicro + request_.size.si / (GBps * by_size * kGiga);
    return {tree ? "tree" : "ring", kProtocolNames[protocol], {GBps * kGiga}, {latency_us * kMicro}, {time},
            usable(tree, protocol)};
  }

  const TunerTraits& traits_;
  const Communicator& made_;
  Generations generations_;
  const TunerRequest& request_;
  RingOperation operation_;
  double ranks_;
  int nodes_;
  double channels_;
};

}  // namespace

bool may_take(const TunerEntry& row, const TunerRequest& request) {
  return request.admits(row) && (row.enabled || !request.protocol.empty()) &&
         (request.nvls || !tuned(row.algorithm).multicast);
}

const TunerEntry& least_row(const std::string& library, const std::vector<TunerEntry>& rows,
                            const TunerRequest& request) {
  const TunerEntry* best = nullptr;
  for (const TunerEntry& row : rows)
    if (may_take(row, request) && (best == nullptr || row.time < best->time)) best = &row;
  if (best == nullptr)
    throw InputError(library + " has no " + request.algorithm +
                     (request.protocol.empty() || request.algorithm.empty() ? "" : " ") + request.protocol + " for " +
                     request.operation + " here" +
                     (request.without.empty() ? "" : " without " + linkcast::joined(request.without)));
  return *best;
}

std::size_t protocol_index(const std::string& protocol) {
  const auto it = std::find(kProtocolNames.begin(), kProtocolNames.end(), protocol);
  if (it == kProtocolNames.end()) throw InputError("protocol '" + protocol + "': one of LL, LL128, Simple");
  return static_cast<std::size_t>(it - kProtocolNames.begin());
}

std::vector<TunerEntry> tuner_table(const TunerTraits& traits, const Communicator& communicator,
                                    const Generations& generations, const TunerRequest& request) {
  return CostModel(traits, communicator, generations, request).rows();
}

namespace {

// source of this block: models/libraries/SOURCES.md, "Graph era: blocks and threads"
constexpr int kThreads = 512, kThreadsLL128 = 640, kThreadsNvls = 640, kThreadsNarrow = 256;
constexpr double kNarrow = 12e9;  // source: the same; bytes/s of all rings together
constexpr PerProtocol kLeastPerThread = {8, 8, 64};
constexpr int kHalvedWhileMultipleOf = 128;
constexpr double kCellTraffic = 16384, kCellGrain = 16, kLLTraffic = 4, kAllReduceTraffic = 2;

// Messages. source: models/libraries/SOURCES.md, "Graph era: messages"
constexpr double kLeastPart_B = 65536, kMostPart_B = 16777216, kLLPart_B = 16384, kLeastPartLL_B = 4096;

int blocks_of(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

int most_threads(const Communicator& made, const TunerEntry& entry) {
  if (tuned(entry.algorithm).multicast) return kThreadsNvls;
  const std::size_t protocol = protocol_index(entry.protocol);
  if (protocol == kLL128) return kThreadsLL128;
  const double bus = static_cast<double>(made.channels.size()) * channel_bandwidth(made).si;
  const bool narrow = tuned(entry.algorithm).ring && protocol == kSimple && bus <= kNarrow;
  return narrow ? kThreadsNarrow : kThreads;
}

double least_per_thread(const Communicator& made, const TunerEntry& entry) {
  const std::size_t protocol = protocol_index(entry.protocol);
  const bool each_rank = protocol == kLL && tuned(entry.algorithm).ring;
  return kLeastPerThread[protocol] * (each_rank ? made.ranks() : 1);
}

/// Work goes to channels in whole cells of at least 16 KiB of traffic, so that rounding up may leave some without any.
int channels_with_cells(int channels, const Communicator& made, const TunerEntry& entry, const TunerRequest& request) {
  const double ranks = made.ranks();
  const RingOperation operation = ring_operation(made.library, request.operation);
  const bool split = operation == RingOperation::kAllGather || operation == RingOperation::kReduceScatter;
  const double traffic = (split                                    ? ranks
                          : operation == RingOperation::kAllReduce ? kAllReduceTraffic
                                                                   : 1) *
                         (protocol_index(entry.protocol) == kLL ? kLLTraffic : 1);
  const double cell_B = std::ceil(std::ceil(kCellTraffic / traffic) / kCellGrain) * kCellGrain;
  const double cells = std::max(1.0, std::ceil(request.size.si / (split ? ranks : 1) / cell_B));  // of nothing: one
  return static_cast<int>(std::ceil(cells / std::ceil(cells / channels)));
}

}  // namespace

TunerChoice with_blocks(const TunerTraits& traits, const Communicator& communicator, const TunerEntry& entry,
                        const TunerRequest& request) {
  TunerChoice choice{entry, 0, most_threads(communicator, entry), kPayloadShare[protocol_index(entry.protocol)]};
  if (tuned(entry.algorithm).multicast) {
    choice.channels = communicator.nvls_blocks;
    return choice;
  }
  choice.channels = request.channels > 0 ? request.channels : std::max(blocks_of(communicator), request.least_channels);
  if (request.most_channels > 0) choice.channels = std::min(choice.channels, request.most_channels);
  const double least = least_per_thread(communicator, entry);
  while (request.size.si < choice.channels * choice.threads * least) {
    if (choice.channels >= 2)
      --choice.channels;
    else if (choice.threads % kHalvedWhileMultipleOf == 0)
      choice.threads /= 2;
    else
      break;
  }
  choice.whole_chunks = traits.whole_chunks;
  if (traits.cells) choice.channels = channels_with_cells(choice.channels, communicator, entry, request);
  return choice;
}

MessageChoice message_of(const Communicator& communicator, double size_B, int forced) {
  const int channels = forced > 0 ? forced : blocks_of(communicator);
  const int all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(channels)));
  const int most = communicator.message_channels > 0 ? std::min(all, communicator.message_channels) : all;
  int least = most;
  while (least > 1 && least * communicator.ranks() > all) least /= 2;
  // Between nodes they have no buffers for LL. source: models/libraries/SOURCES.md, "Graph era: messages"
  const bool small =
      communicator.nodes == 1 && size_B <= kLLPart_B * (communicator.message_channels > 0 ? most : least);
  const auto parts = [&](double part_B) {
    return std::max(1, std::min(least, static_cast<int>(std::ceil(size_B / part_B))));
  };
  MessageChoice choice;
  choice.channels = parts(small ? kLeastPartLL_B : kLeastPart_B);
  while (size_B / choice.channels > kMostPart_B && choice.channels <= most / 2) choice.channels *= 2;
  choice.all_channels = all;
  const std::size_t protocol = small ? kLL : kSimple;
  choice.protocol = kProtocolNames[protocol];
  choice.payload_share = kPayloadShare[protocol];
  return choice;
}

}  // namespace linkcast::graph
