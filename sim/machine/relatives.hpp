#pragma once
// Which measured machines are most like one that nobody measured: a rule on structure, never on names or folders.
#include <string>
#include <vector>

#include "sim/machine/lend.hpp"

namespace linkcast::lending {

struct Relative {
  std::size_t lender = 0;  ///< place in the list that was given
  std::string alike;       ///< in words: what is the same, and what differs
};

/// The nearest first: those of the same maker of GPUs that measured copies themselves. Nearer is, in this order, the
/// same model of GPU, the same compute capability, fewer releases of GPUs between; GPUs joined alike (mesh, switch, not
/// at all); the same kind of link to the CPU; the generations of the first and of PCIe; then who measured more.
std::vector<Relative> relatives_of(const Topology& topology, const std::vector<Lender>& machines);

}  // namespace linkcast::lending
