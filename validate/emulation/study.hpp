#pragma once
// A folder that real GPUs can run: topology files, environment, script, and the forecast that is to be committed first.
#include <string>
#include <vector>

#include "calibrate/import/emulated_topology.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::emulation {

// Topologies that somebody wishes for: parts of machines, and graphs.

/// One topology of a study.
struct Wish {
  std::string id;     ///< names its files: small letters, digits, hyphens
  std::string about;  ///< in words
  WishedLinks links{};
  int alike = 1;  ///< sets of GPUs of the machine that are the same but for their numbers
  [[nodiscard]] int gpus() const { return static_cast<int>(links.socket.size()); }
};

/// Every class of `gpus` GPUs of a machine: sets that have the same links and sockets but for their numbers are one.
/// @param machine  as it is wired: rates make no difference. @param name  begins the ids
/// @throws InputError  the machine has fewer, or more sets than can be looked at
std::vector<Wish> subset_wishes(const Platform& machine, const std::string& name, int gpus);

/// All graphs of `gpus` GPUs up to renumbering, with 1, 2, 6 and 18 NVLinks on every edge, and with these mixed.
/// @param gpus  3 or 4. @throws InputError
std::vector<Wish> graph_wishes(int gpus);

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
