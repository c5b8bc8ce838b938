#pragma once
// Rings and trees in steady state as activities: one flow over all hops, limited by the slowest.
#include <vector>

#include "sim/machine/communicator.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::activities {

// Hops of kernels through host memory: what stores and loads over PCIe take of cables and memory.

/// How kernels take the hops of a channel that go through host memory.
struct HostHops {
  /// Steps in which a rank sends, of a closed ring: in the first it sends alone, in one more it receives alone, and all
  /// ranks keep step. 0: sends and receives all the time.
  int steps = 0;
  double wire = 1;    ///< bytes that PCIe carries, as of a copy's, per byte stored
  double memory = 1;  ///< share of the bytes that reaches memory, the rest staying in the CPU's cache
};

/// Most that kernels store into host memory, or load from it; infinite where never measured.
double host_kernel_Bps(const Platform& platform, bool stores);

/// Changes what hops take of PCIe cables to what kernels take, and adds the memory between them. Nothing where no hop
/// goes through host memory.
void add_host_hops(const Platform& platform, const std::vector<Hop>& hops, const HostHops& how, std::vector<Use>& uses);

/// How the bytes of one channel travel.
struct ChannelLoad {
  double bytes = 0;          ///< payload that crosses each hop
  double payload_share = 1;  ///< payload / bytes stored
  double rate_cap_Bps = 0;   ///< most payload the thread blocks move each way
  HostHops host{};
  double host_wait = 1;  ///< through host memory: part of the quicker way that does not overlap with the slower
};

/// Links of hops inside a node.
struct HopLinks {
  std::vector<int> all, peers;  ///< in order; of these, those of hops from GPU to GPU
};
/// Appends the links of a hop. @returns  the most one thread block gets through it, bytes/s; infinite if the links
/// alone limit it
double add_hop(const ProblemBuilder& builder, const Hop& hop, double host_wait, HopLinks& links);

/// What kernels take of these links: more of accelerator cables than they store (kernel_link_share()).
/// From GPU to GPU PCIe carries more stores in both directions than stores and loads.
std::vector<Use> kernel_uses(const ProblemBuilder& builder, const HopLinks& links);

/// Hops that carry data. @param closed  the last member sends to the first too
std::vector<Hop> ring_hops(const Channel& ring, bool closed);
/// The way up to the root and the way down, which flow at once.
std::vector<std::vector<Hop>> tree_ways(const Tree& tree);

/// One flow over all these hops: a ring, a way of a tree, or one message.
Activity channel_activity(const ProblemBuilder& builder, const std::vector<Hop>& hops, const ChannelLoad& load);
/// Part of its consumption, in bytes per byte of its work, during which nothing crosses a wire: a flow through host
/// memory holds PCIe for longer than its bytes take, as kernels store and load there more slowly than copies.
std::vector<Use> idle_uses(const ProblemBuilder& builder, const std::vector<Hop>& hops, const ChannelLoad& load);

/// What a head does with its part: all_reduce both, all_gather stores, reduce_scatter loads.
struct MulticastPart {
  double bytes = 0;
  bool loads = true, stores = true;
  double link_share = 1;  ///< of the rate of kernels on the links
};

/// The part of a collective that one member, its head, does with multicast by the NVSwitch: it loads the sum of what
/// all members hold, or stores what it holds to all at once, or first one and then the other.
/// @source  A. Ishii and R. Wells, The NVLink-Network Switch, Hot Chips 34 (2022): with n parts each GPU sends n + 1
///          and receives n + 1 of them, instead of 2 n
/// @throws InputError  the members are not all below one level of switches
Activity multicast_activity(const ProblemBuilder& builder, const std::vector<int>& members, int head,
                            const MulticastPart& part);

}  // namespace linkcast::activities
