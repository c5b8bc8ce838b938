#pragma once
// A study that `linkcast emulate` wrote: topologies that NCCL is to be told. Needs no CUDA.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibrate/bench/options.hpp"

namespace linkcast::bench {

/// The options of each case of DIR/study.json: its name in the occasion, its GPUs, NCCL's environment with the topology
/// file, and where log and graphs go.
/// @param only  cases by id; empty: all. @param bus_ids  of the machine's GPUs, as CUDA numbers them
/// @throws InputError  no study, one with variables that may not be set, or one written for GPUs at other bus ids:
///                     NCCL would take the links of the file for those of other GPUs, or of none
std::vector<Options> emulated_cases(const Options& options, const std::string& folder,
                                    const std::vector<std::string>& only, const std::vector<std::string>& bus_ids);

/// What is measured of a case on so many GPUs.
struct EmulatedCall {
  std::string op;
  std::size_t bytes = 0;
};
std::vector<EmulatedCall> emulated_calls(int gpus);

/// `method` of the record: `case` is what `linkcast emulate --compare` finds it by.
/// @param nccl  version. @param calls_per_repetition  in words
nlohmann::ordered_json emulated_method(const Options& options, const std::string& nccl,
                                       const std::string& calls_per_repetition);

}  // namespace linkcast::bench
