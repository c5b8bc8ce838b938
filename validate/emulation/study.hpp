#pragma once
// A folder that real GPUs can run: topology files, environment, script, and the forecast that is to be committed first.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "validate/emulation/wish.hpp"

namespace linkcast::emulation {

struct StudyRequest {
  std::string machine;    ///< platform that the real GPUs are of
  std::string onto;       ///< its NCCL_TOPO_DUMP_FILE
  std::string library;    ///< empty: the machine's
  std::string p2p_level;  ///< NCCL_P2P_LEVEL of the run
  std::string out;        ///< folder, made if missing
  std::vector<Wish> wishes{};
};

/// Writes the folder: <id>.xml of each wish, study.json (schema emulation/1: what is to be run), environment, run.sh
/// and forecast.json (schema emulation-forecast/1).
/// @returns  the forecast
/// @throws InputError  no GPU of the real machine for a wish; a folder with results: their forecast is not to change
Json write_study(catalogue::Catalogue& catalogue, const StudyRequest& request);

/// Operations of a study, and sizes in the sense of nccl-tests, rounded down to whole floats of each rank.
const std::vector<std::string>& study_operations();
std::vector<double> study_sizes(const std::string& operation, int gpus);

}  // namespace linkcast::emulation
