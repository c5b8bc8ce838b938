#include "validate/diagnosis/diagnose_files.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/machine/library.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::diagnosis {
namespace {

void check_library(const std::string& library) {
  if (!library.empty()) static_cast<void>(libraries().get(library));  // throws on an unknown one, with the known ones
}

/// Files of the baseline too, each name once.
std::vector<std::string> fleet_names(const LogRequest& request) {
  std::vector<std::string> names = request.files;
  for (const std::string& path : request.baseline) {
    const auto same = [&](const std::string& name) {
      std::error_code none;
      return name == path || std::filesystem::equivalent(name, path, none);
    };
    if (std::none_of(names.begin(), names.end(), same)) names.push_back(path);
  }
  return names;
}

/// Causes of the slow logs beside the others.
std::map<std::string, Ranking> fleet_causes(catalogue::Catalogue& catalogue, const LogRequest& request,
                                            const std::vector<DiagnosedLog>& logs,
                                            const std::vector<FleetMember>& members) {
  std::map<std::string, Ranking> causes;
  if (request.platform.empty()) return causes;
  const catalogue::MachinePtr machine = catalogue.edited(catalogue.machine(request.platform), request.edits);
  std::vector<validate::Comparison> compared;
  for (const DiagnosedLog& log : logs) {
    if (!request.force) check_gpus(log, catalogue.machine(request.platform)->platform(), request.platform);
    compared.push_back(validate::compare(catalogue, log.measurement, {}, machine));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].slow) continue;
    std::vector<validate::Comparison> rest = compared;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Bench bench(catalogue, request.platform, request.edits, logs[i].measurement);
    causes.emplace(members[i].name, causes_beside(bench, rest));
  }
  return causes;
}

}  // namespace

DiagnosedFile diagnose_file(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path) {
  check_library(request.format.library);
  const Platform& platform = catalogue.machine(request.platform)->platform();
  const DiagnosedLog log = read_log(request.format, platform.topology().name, path);
  if (!request.force) check_gpus(log, platform, request.platform);
  Bench bench(catalogue, request.platform, request.edits, log.measurement);
  if (bench.comparison().points.empty()) throw InputError(path + ": " + bench.comparison().unanswered.front());
  Diagnosis found = bench.diagnose();
  std::string bus;
  if (const auto likely = likely_kinds(found); !likely.empty() && names_one(likely.front()))
    bus = bus_text(log, platform, likely.front().candidates.front().part);
  return {path, facts_of(log), std::move(bench), std::move(found), bus, library_text(request.format, log)};
}

bool DiagnosedFleet::normal() const {
  return std::none_of(members.begin(), members.end(), [](const FleetMember& member) { return member.slow; });
}

DiagnosedFleet diagnose_fleet(catalogue::Catalogue& catalogue, const LogRequest& request) {
  check_library(request.format.library);
  const std::string topology =
      request.platform.empty() ? "fleet" : catalogue.machine(request.platform)->platform().topology().name;
  std::vector<DiagnosedLog> logs;
  std::vector<FleetLog> fleet;
  for (const std::string& path : fleet_names(request)) {
    logs.push_back(read_log(request.format, topology, path));
    fleet.push_back(fleet_log(path, logs.back().measurement));
  }
  DiagnosedFleet out{fleet_of(fleet), {}};
  out.causes = fleet_causes(catalogue, request, logs, out.members);
  return out;
}

Json to_json(const DiagnosedFile& file) {
  Json json = to_json(file.found);
  json["file"] = file.path;
  json["log"] = file.facts;
  return json;
}

Json to_json(const DiagnosedFleet& fleet) {
  Json out = Json::array();
  for (const FleetMember& member : fleet.members) {
    out.push_back(to_json(member));
    const auto found = fleet.causes.find(member.name);
    if (found == fleet.causes.end()) continue;
    out.back()["causes"] = Json::array();
    for (const RankedKind& kind : likely_kinds(found->second)) out.back()["causes"].push_back(to_json(kind));
  }
  return out;
}

}  // namespace linkcast::diagnosis
