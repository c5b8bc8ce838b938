#pragma once
// A study that `linkcast emulate` wrote: topologies that NCCL is to be told.
#include <string>
#include <vector>

#include "calibrate/bench/context.hpp"

namespace linkcast::bench {

/// The options of each case of DIR/study.json: its name in the occasion, its GPUs, NCCL's environment with the topology
/// file, and where log and graphs go.
/// @param only  cases by id; empty: all. @param gpus  that the machine has
/// @throws InputError  no study, or one with variables that may not be set
std::vector<Options> emulated_cases(const Options& options, const std::string& folder,
                                    const std::vector<std::string>& only, int gpus);

}  // namespace linkcast::bench
