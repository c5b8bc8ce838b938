#pragma once
// A machine that nobody measured: its parameters come from the nearest machines that were, at the share of the nominal
// rate that was measured there, or are left to what data sheets say. Nearness is a rule on structure, never on names.
#include <map>
#include <string>
#include <vector>

#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::lending {

struct Lender {
  Calibration calibration;
  Topology topology;  ///< of the same machine
};

/// Is it a parameter of a library that a site's fabric decides: what a block moves between nodes, what more nodes lose?
/// Another machine's says nothing of it.
bool is_of_fabric(const std::string& name);

/// Parameters of a machine from others, best first, with errors that are at least those between machines of different
/// kinds.
std::map<std::string, Parameter> lend(const Topology& borrower, const std::vector<Lender>& lenders);

struct Relative {
  std::size_t lender = 0;  ///< place in the list that was given
  std::string alike;       ///< in words: what is the same, and what differs
};

/// The nearest first: those of the same maker of GPUs that measured copies themselves. Nearer is, in this order, the
/// same model of GPU, the same compute capability, fewer releases of GPUs between; GPUs joined alike (mesh, switch, not
/// at all); the same kind of link to the CPU; the generations of the first and of PCIe; then who measured more.
std::vector<Relative> relatives_of(const Topology& topology, const std::vector<Lender>& machines);

/// Parameters from given machines, best first, with sizes, the files that they are from, and the note that every answer
/// carries as a warning: that nothing was measured here, which machines the figures are from, what to measure.
/// @param library  that it runs. @param alike  what makes the first of them the nearest; empty: the topology names it
Calibration inherited_calibration(const Topology& topology, const std::vector<Lender>& machines,
                                  const std::string& library, const std::string& alike = "");

/// The same from the nearest machines. @param machines  that may lend. @param library  that it runs
/// @throws InputError  none of them is of the same maker of GPUs
Calibration stranger(const Topology& topology, const std::vector<Lender>& machines, const std::string& library);

}  // namespace linkcast::lending
