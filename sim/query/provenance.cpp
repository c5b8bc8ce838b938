#include "sim/query/provenance.hpp"

namespace linkcast::query {
namespace {

constexpr std::size_t kInputs = 5;  // source: the keys below

}  // namespace

void put_provenance(const catalogue::Machine& machine, const Json& query, const std::string& solver, Json& out) {
  const Platform& platform = machine.platform();
  Json& inputs = out["inputs"] = Json::object();
  inputs.get_ref<Json::object_t&>().reserve(kInputs);
  inputs["query"] = query;
  if (!solver.empty()) inputs["solver"] = solver;
  inputs["topology_sha256"] = platform.wiring().sha256;
  inputs["calibration_sha256"] = platform.calibration().sha256;
  if (!machine.edits().empty()) inputs["edits"] = machine.edits();
  // Warnings about all answers of this machine come first.
  Json::array_t warnings;
  for (const std::string& note : platform.calibration().notes) warnings.emplace_back(note);
  for (const std::string& note : machine.edit_notes()) warnings.emplace_back(note);
  if (!warnings.empty()) {
    if (const auto own = out.find("warnings"); own != out.end())
      warnings.insert(warnings.end(), own->begin(), own->end());
    out["warnings"] = std::move(warnings);
  }
  static const Json versions = {{"linkcast", build_version()}, {"git", build_commit()}};
  out["versions"] = versions;
}

}  // namespace linkcast::query
