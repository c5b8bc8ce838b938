#pragma once
#include "sim/machine/fabric.hpp"

namespace linkcast {

/// The least that must be cut to part two sets of endpoints.
struct Cut {
  int cables = 0;
  BytesPerSecond bandwidth;  ///< one direction
};

/// The minimum cut between the first `half` endpoints and the others: what the first half can send to the second one at
/// most, whatever the routing. Nodes fill a fabric in order, so this is the cut between two neighbouring jobs.
Cut bisection(const Fabric& fabric, int half);

}  // namespace linkcast
