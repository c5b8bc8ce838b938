#pragma once
#include <string>

#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

/// Whether a file is what `linkcast record` writes, not a timeline as torch.profiler exports it.
bool is_bundle(const Json& json);

/// One rank's bundle (schema recorded-steps/1): the timings of steps with CUDA activities alone, and from the step with
/// operators which collectives their NCCL kernels were, the n-th the n-th, and what they belong to.
/// @throws InputError  file and what is wrong with it, also where the steps are not alike
RankRecording read_bundle(const std::string& file, const Json& json);

}  // namespace linkcast::kineto
