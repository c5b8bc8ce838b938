#pragma once
// What ways between switches take, from a printed mean over pairs that are far apart, against their data sheets.
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/noise_fit.hpp"

namespace linkcast::fit {

/// cable.KIND.latency_scale of the cables between switches: the mean time beyond that of neighbours, over the mean that
/// data sheets give for these ways. A distribution with an extreme is of noise, see fit_noise(). Without a figure, that
/// of a machine which lends and has the same cables.
/// @param distances  by their name in the fabric
void fit_distances(FitContext& context, const Topology& topology, const std::vector<Measurement>& measurements,
                   const std::map<std::string, FabricDistance>& distances);

}  // namespace linkcast::fit
