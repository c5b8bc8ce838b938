#pragma once
#include <string>

#include "sim/catalogue/catalogue.hpp"

namespace linkcast::replay {

/// What the CPU times of a recording have to be multiplied by so that a step without any exchange, each rank by itself,
/// takes what it was measured to take without recording. No network enters.
/// @param local_step_s  measured, > 0
/// @throws InputError  the trace has no steps, or what its GPUs compute takes longer alone
double fit_host_scale(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& trace,
                      double local_step_s);

}  // namespace linkcast::replay
