#pragma once
// Where to put a job: the answer to a scheduler.
#include "sim/place/node_search.hpp"

namespace linkcast::placement {

/// @returns  of the best placement: gpus (of each rank), time_s, time_low_s, time_high_s, bottleneck, why, and if there
///           are neighbours alone_s and neighbours [{job, gpus, alone_s, time_s, slowdown}]; then
///           placements: the `top` best [{gpus, time_s, time_low_s, time_high_s, regret, class, why, neighbours?}];
///           classes: sets of GPUs that are as good as each other [{gpus, sets, time_s, regret}], best first;
///           worst {gpus, time_s, regret}, first_free {gpus, time_s, regret}: the lowest numbers;
///           mean_regret: of a set by chance; search {exact, sets, classes, evaluated}; warnings.
///           regret is time over the best one's, less 1; of objectives with neighbours it counts what they lose too.
/// Of placements as good as each other the first leaves the best joined GPUs free.
Json place(catalogue::Catalogue& catalogue, const PlaceRequest& request);
/// The same answer, with what earlier ones have left, and left to later ones.
Json place(catalogue::Catalogue& catalogue, const PlaceRequest& request, PlacementMemory& memory);

}  // namespace linkcast::placement
