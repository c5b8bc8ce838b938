#pragma once
// Learning from measured collectives, or forecasting those that are held out.
#include "calibrate/pipelines/fit_machine.hpp"

namespace linkcast::pipelines {

/// Learns the library's parameters into out.fit, or forecasts what is left out: fills lesson and held_out.
/// @param measurements  that were fitted. @throws InputError  parts are named where no library's collectives are
void learn_or_hold_out(catalogue::Catalogue& catalogue, const MachineFit& machine, const Topology& topology,
                       const std::vector<Measurement>& measurements, FittedMachine& out);

}  // namespace linkcast::pipelines
