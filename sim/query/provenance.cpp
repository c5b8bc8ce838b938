#include "sim/query/provenance.hpp"

namespace linkcast::query {

void put_provenance(catalogue::Catalogue& catalogue, const std::string& platform_id, const Json& query,
                    const std::string& solver, Json& out) {
  const Platform& platform = catalogue.platform(platform_id);
  out["inputs"] = {{"query", query}};
  if (!solver.empty()) out["inputs"]["solver"] = solver;
  out["inputs"]["topology_sha256"] = platform.wiring().sha256;
  out["inputs"]["calibration_sha256"] = platform.calibration().sha256;
  if (const EditedPlatform* edited = catalogue.edits_of(platform_id)) {
    out["inputs"]["edits"] = edited->texts;
    for (const std::string& note : edited->notes) out["warnings"].push_back(note);
  }
  out["versions"] = {{"linkcast", LINKCAST_VERSION}, {"git", LINKCAST_GIT}};
}

}  // namespace linkcast::query
