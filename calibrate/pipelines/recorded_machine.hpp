#pragma once
// The machine that a recording is of, by the GPU that the recording names.
#include <string>
#include <vector>

#include "sim/machine/catalogue.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::pipelines {

/// Shipped machines with GPUs of a name, sorted: those whose GPUs have exactly it, else those of the same model.
/// @param gpus  that they have at least
std::vector<std::string> machines_with(const std::string& data_dir, const std::string& gpu, int gpus);

/// Fitted parameters that stand in for options of an importer, and whose they are.
struct FittedCosts {
  std::string machine;  ///< they were fitted for; empty: none has them
  std::string note;     ///< that this machine has other GPUs than those recorded; empty: it has not
  TraceOptions::Values values;
};

/// Those of the named machine, else of the first machine with the recorded GPU, else of the one whose host was
/// measured; each only if it has all of them from data of its own.
/// @param known  options of the importer. @param gpu  as the recording names it; empty: not known
FittedCosts fitted_costs(catalogue::Catalogue& catalogue, const std::vector<TraceOption>& known,
                         const std::string& machine, const std::string& gpu);

}  // namespace linkcast::pipelines
