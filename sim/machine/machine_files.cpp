#include "sim/machine/machine_files.hpp"

#include <algorithm>

#include "sim/base/text.hpp"

namespace linkcast::catalogue {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMachines =
    "topology/1 (linkcast import), calibration/1 (linkcast calibrate fit, linkcast init) or variant/1";

std::string text_of_schema(const Json& json) {
  const auto found = json.is_object() ? json.find("schema") : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A topology of this name in a folder, whatever its file is called.
std::optional<std::string> topology_in(const fs::path& folder, const std::string& name) {
  // source: ours; the largest shipped topology has 80 kB, recordings of jobs that may lie beside have gigabytes
  constexpr std::uintmax_t most_B = 8U << 20U;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) && entry.path().extension() == ".json" && entry.file_size(ignored) <= most_B)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) try {
      const Json json = read_json_file(file.string());
      if (text_of_schema(json) == "topology/1" && json.value("name", Json()) == name) return file.string();
    } catch (const InputError&) {  // somebody else's
    }
  return std::nullopt;
}

/// A shipped topology without a calibration is a machine if it says whose parameters it has.
bool is_machine(const fs::path& topology) {
  const Json json = read_json_file(topology.string());
  const std::string schema = text_of_schema(json);
  return schema == "variant/1" || (schema == "topology/1" && json.contains("inherits"));
}

}  // namespace

bool MachineFiles::is_file(const std::string& name) {
  std::error_code ignored;
  return fs::path(name).extension() == ".json" || name.find('/') != std::string::npos ||
         fs::is_regular_file(name, ignored);
}

std::string MachineFiles::schema_of(const std::string& path) {
  if (fs::is_directory(path)) throw InputError(path + ": is a folder: name the file of the machine in it");
  std::string schema = text_of_schema(read_json_file(path));
  for (const char* machine : {"topology/1", "calibration/1", "variant/1"})
    if (schema == machine) return schema;
  throw InputError(
      path, "/schema",
      (schema.empty() ? "is missing" : "'" + schema + "'") + std::string(": no machine, which is ") + kMachines);
}

std::vector<std::string> MachineFiles::calibrated() const {
  std::vector<std::string> ids;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir_) / "models" / "params", ignored))
    if (entry.path().extension() == ".json") ids.push_back(entry.path().stem().string());
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::string> MachineFiles::platforms() const {
  std::vector<std::string> ids = calibrated();
  if (ids.empty()) return ids;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir_) / "topologies")) {
    const fs::path& path = entry.path();
    if (path.extension() == ".json" && !fs::exists(shipped_calibration(path.stem().string())) && is_machine(path))
      ids.push_back(path.stem().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<std::string> MachineFiles::shipped(const std::string& id) const {
  if (id.empty() || id.find('/') != std::string::npos || fs::path(id).extension() == ".json") return std::nullopt;
  if (std::string own = shipped_calibration(id); fs::exists(own)) return own;
  if (std::string wiring = shipped_topology(id); fs::exists(wiring) && is_machine(wiring)) return wiring;
  return std::nullopt;
}

std::string MachineFiles::shipped_calibration(const std::string& id) const {
  return (fs::path(data_dir_) / "models" / "params" / (id + ".json")).string();
}

std::string MachineFiles::shipped_topology(const std::string& id) const {
  return (fs::path(data_dir_) / "topologies" / (id + ".json")).string();
}

std::string MachineFiles::topology(const std::string& id) const {
  if (fs::path(id).extension() != ".json" && fs::exists(shipped_topology(id))) return shipped_topology(id);
  if (is_file(id)) return id;
  throw InputError("topology: '" + id + "' is no file and no shipped machine: one of " + joined(platforms()));
}

std::string MachineFiles::calibration(const std::string& id) const {
  if (fs::path(id).extension() != ".json" && fs::exists(shipped_calibration(id))) return shipped_calibration(id);
  if (is_file(id)) return id;
  throw InputError("inherit: '" + id + "' is no file and no calibrated machine: one of " + joined(calibrated()));
}

std::optional<std::string> MachineFiles::topology_of(const Calibration& calibration) const {
  const fs::path here = fs::path(calibration.path).parent_path();
  const fs::path beside = here / (calibration.topology + "-topology.json");  // as linkcast-bench writes it
  if (fs::exists(beside)) return beside.string();
  if (std::string shipped = shipped_topology(calibration.topology); fs::exists(shipped)) return shipped;
  std::error_code ignored;
  const fs::path real = fs::canonical(calibration.path, ignored).parent_path();  // what a link points to
  for (const fs::path& folder : {here.empty() ? fs::path(".") : here, real})
    if (auto found = topology_in(folder, calibration.topology)) return found;
  return std::nullopt;
}

void MachineFiles::refuse_topology(const Calibration& calibration) const {
  throw InputError(calibration.path, "/topology",
                   "'" + calibration.topology +
                       "' is no shipped machine, and no topology/1 of that name lies beside this file: put it there, "
                       "or fit again with that topology, which writes the wiring into the calibration");
}

Topology MachineFiles::read_topology_of(const Calibration& calibration) const {
  if (!calibration.wiring.is_null()) {
    Topology topology = parse_topology(calibration.wiring, calibration.path + " /wiring");
    topology.path = calibration.path;
    topology.sha256 = calibration.sha256;
    return topology;
  }
  const auto path = topology_of(calibration);
  if (!path) refuse_topology(calibration);
  return read_topology(*path);
}

Topology MachineFiles::read_wiring(const std::string& id) const {
  const std::string path = topology(id);
  return schema_of(path) == "calibration/1" ? read_topology_of(read_calibration(path)) : read_topology(path);
}

bool MachineFiles::is_shipped(const Topology& topology) const {
  const std::string path = shipped_topology(topology.name);
  return fs::exists(path) && read_topology(path).sha256 == topology.sha256;
}

MachineFiles::Machines MachineFiles::inherited_by(const Topology& topology) const {
  const std::vector<std::string> known = calibrated();
  for (const std::string& id : topology.inherits)
    if (std::find(known.begin(), known.end(), id) == known.end())
      throw InputError(topology.path, "/inherits", "'" + id + "' is no calibrated machine: one of " + joined(known));
  return read_machines(topology.inherits);
}

MachineFiles::Machines MachineFiles::lenders() const { return read_machines(calibrated()); }

MachineFiles::Machines MachineFiles::read_machines(const std::vector<std::string>& ids) const {
  Machines found;
  for (const std::string& id : ids) {
    Calibration calibration = read_calibration(shipped_calibration(id));
    Topology topology = read_topology_of(calibration);
    found.push_back({std::move(calibration), std::move(topology)});
  }
  return found;
}

}  // namespace linkcast::catalogue
