#pragma once
// A replay from its request to its result.
#include "sim/machine/catalogue.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/replay_request.hpp"
#include "sim/replay/replay_result.hpp"

namespace linkcast::replay {

/// @param observers  are told what happens, besides
/// @throws InputError  wrong trace, or one that the machine cannot run
ReplayResult replay(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                    std::vector<ReplayObserver*> observers = {});

}  // namespace linkcast::replay
