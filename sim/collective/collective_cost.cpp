#include "sim/collective/collective_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/collective/host_path.hpp"
#include "sim/records/learned.hpp"
#include "sim/records/parameter_rows.hpp"

namespace linkcast::collective {
namespace {

// The library's table is no measurement. source: it differs by up to a factor of 2 between versions for the same GPU
// (ring LL base 3.6 to 6.6 us, hop 0.4 to 0.6 us), and measured bases by more: calls of 8 B on 4 GPUs of V100, A100 and
// GH200 take 8.2, 11.9 and 7.8 us where it says 5 to 10
constexpr double kTableSpread = 0.7;

// Two blocks together move no less than one of them alone, and so on: at most as many times slower as there are.
constexpr double kMostCrowding = 1;  // source: counted, 1 + crowding = 2 for two blocks
// A tree's blocks split their threads between the way up and the way down. source: NCCL's all_reduce kernel runs both
// at once in one block (docs/communicators.md)
constexpr double kTreeShare = 0.5;

/// Every step of a ring waits for its slowest member; the hops of a tree follow each other through all of them.
double slowness(const Platform& platform, const Communicator& communicator, bool tree) {
  double most = 1, sum = 0;
  for (const int gpu : communicator.gpus) {
    const double slow = platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].slow;
    most = std::max(most, slow);
    sum += slow;
  }
  return tree ? sum / static_cast<double>(communicator.gpus.size()) : most;
}

/// Kernels that take `slow` times as long; `hops` for the steps.
void slow_down(CollectiveCost& cost, double slow, double hops) {
  cost.base_s *= slow;
  cost.hop_s *= hops;
  cost.channel_Bps /= slow;
}

/// Base and hops inside a node as measured on this machine, or as the library's table says.
void set_latency(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                 const std::string& protocol, CollectiveCost& cost) {
  const auto of = [&](const LibraryRow& row, Seconds table) {
    return learned(platform.calibration(), communicator.library, row, {table.si, kTableSpread});
  };
  const Learned base = of(key::ring_base[protocol], library.base_latency(protocol));
  const Learned hop = of(key::ring_hop[protocol], library.hop_latency(protocol, communicator.path_class));
  cost.base_s = base.value;
  cost.base_spread = ErrorPart(base);
  cost.hop_s = hop.value;
  cost.hop_spread = ErrorPart(hop);
  cost.measured = base.measured && hop.measured;
}

/// Of a tree: measured, or as a ring's.
void set_tree_latency(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                      const std::string& protocol, CollectiveCost& cost) {
  const Calibration& known = platform.calibration();
  const std::string family = library_family(communicator.library);
  const Parameter* base = known.find(key::tree_base[protocol].of_all(family));
  const Parameter* hop = known.find(key::tree_hop[protocol].of_all(family));
  if (base != nullptr && hop != nullptr) {
    cost.base_s = base->value;
    cost.base_spread = ErrorPart(base->stderr_ / base->value);
    cost.hop_s = hop->value;
    cost.hop_spread = ErrorPart(hop->stderr_ / hop->value);
    return;
  }
  const Learned slow = learned(known, communicator.library, key::tree_slowness[protocol]);
  const double by_class = library.hop_latency(protocol, communicator.tree_class).si /
                          library.hop_latency(protocol, communicator.path_class).si;
  cost.base_s *= slow.value;
  cost.hop_s *= slow.value * by_class;
  cost.slowness_spread = ErrorPart(slow);
}

void set_rates(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
               const std::string& protocol, int blocks, CollectiveCost& cost) {
  const Calibration& known = platform.calibration();
  const LibraryRow& channel = key::ring_channel[protocol];
  const Prior inside = library.block_rate(platform, communicator, protocol).value_or(*channel.prior);
  const Learned rate = learned(known, communicator.library, channel, inside);
  const Learned crowding = learned(known, communicator.library, key::ring_crowding[protocol]);
  const double others = std::min(crowding.value, kMostCrowding) * std::sqrt(std::max(0, blocks - 1));
  cost.channel_Bps = rate.value / (1 + others);
  cost.channel_spread = {ErrorPart(rate), ErrorPart(crowding).times(-others / (1 + others))};
  if (const auto believed = library.host_wait(); believed && communicator.fallback) {
    const Learned wait = learned(known, communicator.library, key::ring_host_wait[protocol], *believed);
    cost.host_wait = wait.value;
    // Of two ways of one rate the rate is 1 / (1 + wait).
    cost.channel_spread.push_back(ErrorPart(wait).times(-wait.value / (1 + wait.value)));
  }
  if (communicator.nodes == 1) return;
  const Learned network = learned(known, communicator.library, key::network_channel[protocol]);
  cost.network_Bps = network.value;
  cost.network_spread = ErrorPart(network);
  const Learned hop = learned(known, communicator.library, key::network_hop[protocol]);
  cost.network_hop_s = hop.value;
  cost.network_hop_spread = ErrorPart(hop);
  cost.network_measured = hop.measured;
}

/// All parts in base_s, their errors taken as independent.
void set_switch_latency(const Calibration& known, const std::string& library, const std::string& algorithm,
                        const AlgorithmLatency& table, CollectiveCost& cost) {
  double sum = 0, error = 0;
  cost.measured = cost.network_measured = true;
  const auto add = [&](const LibraryRow& row, double each_s, double count, bool& measured) {
    if (each_s * count <= 0) return;
    const Learned part = learned(known, library, row, {each_s, kTableSpread});
    sum += part.value * count;
    error = std::hypot(error, part.spread * part.value * count);
    measured = measured && part.measured;
  };
  const key::SwitchRows& rows = key::switch_rows(algorithm);
  add(rows.base, table.base_s, 1, cost.measured);
  add(rows.hop, table.inside.each_s, table.inside.count, cost.measured);
  add(rows.network_hop, table.between.each_s, table.between.count, cost.network_measured);
  add(rows.rank, table.ranks.each_s, table.ranks.count, cost.measured);
  cost.base_s = sum;
  cost.base_spread = ErrorPart(sum > 0 ? error / sum : 0);
}

/// Before GPUs are slow.
CollectiveCost cost_of(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                       const std::string& algorithm, const std::string& protocol, int blocks) {
  CollectiveCost cost;
  set_latency(platform, library, communicator, protocol, cost);
  set_rates(platform, library, communicator, protocol, blocks, cost);
  if (algorithm == "tree") {
    set_tree_latency(platform, library, communicator, protocol, cost);
    cost.channel_Bps *= kTreeShare;
    return cost;
  }
  if (const Parameter* turn =
          platform.calibration().find(key::ring_turn[protocol].of_all(library_family(communicator.library))))
    cost.turn_steps = turn->value;
  return cost;
}

}  // namespace

double tail_share(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                  const CollectiveTraits& traits, int steps) {
  if (!traits.reduces || traits.gathers || traits.root || steps <= 0) return 1;
  const Learned tail = learned(platform.calibration(), communicator.library, key::ring_tail[protocol]);
  return steps / (steps + tail.value);
}

std::vector<ErrorPart> CollectiveCost::latency_error_s(double inside, double between) const {
  return {base_spread.times(base_s), hop_spread.times(inside * hop_s), slowness_spread.times(base_s + inside * hop_s),
          network_hop_spread.times(between * network_hop_s)};
}

CollectiveCost collective_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                               const std::string& algorithm, const std::string& protocol, int blocks) {
  CollectiveCost cost = cost_of(platform, library, communicator, algorithm, protocol, blocks);
  const bool tree = algorithm == "tree";
  if (tree ? trees_through_host(communicator) : through_host(communicator))
    take_host_path(platform, communicator, protocol, key::host_channel[protocol], tree ? kTreeShare : 1, cost);
  slow_down(cost, slowness(platform, communicator, false), slowness(platform, communicator, tree));
  return cost;
}

CollectiveCost switch_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                           const std::string& algorithm, const std::string& protocol, int blocks) {
  const Calibration& known = platform.calibration();
  const bool multicast = algorithm.rfind("nvls", 0) == 0;
  CollectiveCost cost;
  if (multicast) {
    const Learned share =
        learned(known, communicator.library, key::nvls_link_share, library.multicast_share(platform, communicator));
    const Learned block = learned(known, communicator.library, key::nvls_channel);
    cost.link_share = std::min(1.0, share.value);
    cost.link_spread = ErrorPart(share);
    cost.rate_measured = share.measured;
    cost.channel_Bps = block.value;
    cost.channel_spread = {ErrorPart(block)};
  }
  if (!multicast || communicator.nodes > 1) {
    CollectiveCost rates;
    set_rates(platform, library, communicator, protocol, blocks, rates);
    cost.network_Bps = rates.network_Bps;
    cost.network_spread = rates.network_spread;
    if (!multicast) cost.channel_Bps = rates.channel_Bps;
    if (!multicast) cost.channel_spread = rates.channel_spread;
  }
  set_switch_latency(known, communicator.library, algorithm, library.algorithm_latency(communicator, algorithm), cost);
  const double slow = slowness(platform, communicator, false);
  slow_down(cost, slow, slow);
  return cost;
}

CollectiveCost message_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                            const std::string& protocol) {
  const double slow = slowness(platform, communicator, false);
  CollectiveCost cost = cost_of(platform, library, communicator, "ring", protocol, 1);
  const bool host = messages_through_host(communicator);
  if (host)
    take_host_path(platform, communicator, protocol,
                   protocol == "LL" ? key::host_channel[protocol] : key::host_message_channel, 1, cost);
  cost.turn_steps = 0;
  CollectiveCost smallest;
  set_latency(platform, library, communicator, "LL", smallest);
  const Learned base = learned(platform.calibration(), communicator.library, key::sendrecv_base,
                               {smallest.base_s + smallest.hop_s, kTableSpread});
  // The base is that of the smallest messages, which take LL; what Simple costs more is what it costs a ring more.
  cost.base_s += base.value - smallest.base_s;
  cost.base_spread = ErrorPart(base);
  cost.hop_s = 0;
  if (protocol == "Simple") {
    const Learned rate = learned(platform.calibration(), communicator.library, key::sendrecv_channel);
    if (!host || rate.value < cost.channel_Bps) {
      cost.channel_Bps = rate.value;
      cost.channel_spread = {ErrorPart(rate)};
    }
  }
  slow_down(cost, slow, slow);
  return cost;
}

}  // namespace linkcast::collective
