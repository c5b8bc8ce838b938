#pragma once
// What a library's kernels pay for hops through host memory: fitted on this machine, else believed from how they work.
#include <string>

#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/collective_job.hpp"
#include "sim/plan/channel_flows.hpp"

namespace linkcast::collective {

// One load from host memory, which a receiver makes at least once a step, and one round trip for its credit and its
// flag before the first. source: H200, 1.17 us (calibrate/data/hgx-h200/20261121a-remote_load.json); over other PCIe
// generations 0.9 to 1.5 us are likely, hence the spread
inline constexpr double kHostLoad_s = 1.17e-6, kHostLoadSpread = 0.3;

/// Whether a hop of its rings goes through host memory; of its trees; of its messages.
bool through_host(const Communicator& communicator);
bool trees_through_host(const Communicator& communicator);
bool messages_through_host(const Communicator& communicator);

/// Of a machine whose library was measured over other hops: what base, hop and thread blocks cost through host memory.
/// For what goes through it.
/// @param blocks  row of what one block moves
/// @param share  of a block's threads that move one way
void take_host_path(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                    const LibraryRow& blocks, double share, CollectiveCost& cost);

/// How its kernels take hops through host memory; as copies do where kernels were never measured.
/// @param through  a hop goes through host memory
/// @param steps  in which a rank of a closed ring sends; 0: a chain, or a message
/// @param elements_B  that a thread moves at once, 16 where parts are aligned
/// @param buffers_B  of the library's buffers of one GPU that the call touches
activities::HostHops host_hops(const Platform& platform, const Communicator& communicator, bool through, int steps,
                               double elements_B, double buffers_B);

/// Buffers of one GPU that a ring or chain touches: two chunks of each block, at most its buffer.
double ring_buffers_B(const CollectiveJob& job, int blocks);
/// The same of messages to `peers` others.
double message_buffers_B(int blocks, int peers);

/// Bytes that a thread moves at once of parts that begin at multiples of `distance_B`; 0: all begin where buffers do.
double element_B(const Collective& op, const std::string& protocol, double distance_B);

}  // namespace linkcast::collective
