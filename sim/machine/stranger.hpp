#pragma once
// A machine of which only the wiring is known.
#include "sim/machine/relatives.hpp"

namespace linkcast::lending {

/// Parameters from given machines, best first, with sizes and the files that they are from. @param library  that it
/// runs
Calibration inherited_calibration(const Topology& topology, const std::vector<Lender>& machines,
                                  const std::string& library);

/// What the machines nearest to it lend, with notes that every forecast carries: which they are and why, that nothing
/// was measured here, and what to measure next. @param machines  that may lend. @param library  that it runs
/// @throws InputError  none of them is of the same maker of GPUs
Calibration stranger(const Topology& topology, const std::vector<Lender>& machines, const std::string& library);

}  // namespace linkcast::lending
