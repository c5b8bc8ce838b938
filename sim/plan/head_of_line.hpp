#pragma once
// Lossless links without congestion control: what cannot move on fills the buffers behind it, back to its source, and
// what shares a queue with it waits at the head of the line.
#include <functional>
#include <vector>

namespace linkcast::congestion {

/// Bytes from one port to another, evenly over several ways, on one service level.
struct QueuedFlow {
  int port = 0;           ///< of the source: a switch serves its ports in turn
  double wanted_Bps = 0;  ///< what the port would send if nothing were in the way
  int service_level = 0;
  std::vector<std::vector<int>> ways{};  ///< links in order
};

/// What each flow gets, of what it wants. A queue is a link and a service level.
///   1. A queue is given its link's rate; levels share a link in turn, as much as each has to send. Where more arrives
///      than leaves, all are held back alike: first in, first out serves in proportion of arrivals.
///   2. The bytes of a held-back flow stand in every queue on their way before that one. The queue is served in turns,
///      port after port, and a turn ends only when its packet moves: so no port gets more through it than the fastest
///      of the ports that are held back there.
///   3. What 2 holds back stands in queues itself: repeated until nothing changes. None falls below the share that the
///      flows to the hot spot have.
/// A flow's share is the average over its ways.
/// @source  Pfister and Norton, "Hot spot" contention and combining in multistage interconnection networks, IEEE Trans.
///          Computers C-34 (1985): tree saturation; Gran et al., First experiences with congestion control in
///          InfiniBand hardware, IPDPS 2010: victims fall to the rate of the flows to the hot spot
std::vector<double> head_of_line_shares(const std::vector<QueuedFlow>& flows,
                                        const std::function<double(int link)>& capacity_Bps);

}  // namespace linkcast::congestion
