#include "sim/machine/machine_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "sim/base/file_hash.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/variant.hpp"

namespace linkcast::catalogue {
namespace fs = std::filesystem;
namespace {

constexpr std::array kSchemas = {"topology/1", "calibration/1", "variant/1"};  // in the order of MachineSchema
constexpr const char* kMachines =
    "topology/1 (linkcast import), calibration/1 (linkcast calibrate fit, linkcast init) or variant/1";

bool is_json(const fs::path& path) { return path.extension() == ".json"; }

std::string text_of_schema(const Json& json) {
  const auto found = json.is_object() ? json.find("schema") : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<MachineSchema> schema_of(const Json& json) {
  const auto* const found = std::find(kSchemas.begin(), kSchemas.end(), text_of_schema(json));
  if (found == kSchemas.end()) return std::nullopt;
  return static_cast<MachineSchema>(found - kSchemas.begin());
}

/// A topology of this name in a folder, whatever its file is called.
std::optional<std::string> topology_in(const fs::path& folder, const std::string& name) {
  // source: ours; the largest shipped topology has 80 kB, recordings of jobs that may lie beside have gigabytes
  constexpr std::uintmax_t most_B = 8U << 20U;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) && is_json(entry.path()) && entry.file_size(ignored) <= most_B)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) try {
      const Json json = read_json_file(file.string());
      if (schema_of(json) == MachineSchema::kTopology && json.value("name", Json()) == name) return file.string();
    } catch (const InputError&) {  // somebody else's
    }
  return std::nullopt;
}

bool same_but_for_case(const std::string& one, const std::string& other) {
  const auto upper = [](char c) { return std::toupper(static_cast<unsigned char>(c)); };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return upper(a) == upper(b); });
}

/// A shipped topology without a calibration is a machine if it says whose parameters it has.
bool is_machine(const Json& json) {
  const std::optional<MachineSchema> schema = schema_of(json);
  return schema == MachineSchema::kVariant || (schema == MachineSchema::kTopology && json.contains("inherits"));
}

}  // namespace

const char* to_text(MachineSchema schema) { return kSchemas[static_cast<std::size_t>(schema)]; }

bool MachineFiles::is_file(const std::string& name) {
  std::error_code ignored;
  return is_json(name) || name.find('/') != std::string::npos || fs::is_regular_file(name, ignored);
}

MachineFile MachineFiles::read(const std::string& path) {
  if (fs::is_directory(path)) throw InputError(path + ": is a folder: name the file of the machine in it");
  Json json = read_json_file(path);
  if (const auto schema = schema_of(json)) return {path, *schema, std::move(json)};
  const std::string schema = text_of_schema(json);
  throw InputError(
      path, "/schema",
      (schema.empty() ? "is missing" : "'" + schema + "'") + std::string(": no machine, which is ") + kMachines);
}

std::vector<std::string> MachineFiles::calibrated() const {
  std::vector<std::string> ids;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir_) / "models" / "params", ignored))
    if (is_json(entry.path())) ids.push_back(entry.path().stem().string());
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::string> MachineFiles::platforms() const {
  std::vector<std::string> ids = calibrated();
  if (ids.empty()) return ids;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir_) / "topologies")) {
    const fs::path& path = entry.path();
    if (is_json(path) && !fs::exists(shipped_calibration(path.stem().string())) &&
        is_machine(read_json_file(path.string())))
      ids.push_back(path.stem().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<MachineFile> MachineFiles::shipped(const std::string& id) const {
  if (id.empty() || id.find('/') != std::string::npos || is_json(id)) return std::nullopt;
  if (const std::string own = shipped_calibration(id); fs::exists(own)) return read(own);
  const std::string wiring = shipped_topology(id);
  if (!fs::exists(wiring)) return shipped_by_other_name(id);
  Json json = read_json_file(wiring);
  if (!is_machine(json)) return std::nullopt;
  return MachineFile{wiring, *schema_of(json), std::move(json)};
}

/// "Standard_ND96isr_H100_v5": in any case.
std::optional<MachineFile> MachineFiles::shipped_by_other_name(const std::string& name) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(data_dir_) / "topologies", ignored)) {
    if (!is_json(entry.path())) continue;
    Json json = read_json_file(entry.path().string());
    if (schema_of(json) != MachineSchema::kVariant) continue;
    const Variant variant = read_variant(json, entry.path().string());
    if (std::any_of(variant.also.begin(), variant.also.end(),
                    [&](const std::string& other) { return same_but_for_case(other, name); }))
      return MachineFile{entry.path().string(), MachineSchema::kVariant, std::move(json)};
  }
  return std::nullopt;
}

void MachineFiles::drop_variants(std::vector<std::string>& ids) const {
  const auto is_variant = [this](const std::string& id) {
    const auto file = shipped(id);
    return file && file->schema == MachineSchema::kVariant;
  };
  if (!std::all_of(ids.begin(), ids.end(), is_variant)) std::erase_if(ids, is_variant);
}

bool MachineFiles::is_shipped(const std::string& id) const {
  const bool measured = !id.empty() && id.find('/') == std::string::npos && fs::exists(shipped_calibration(id));
  return measured || shipped(id).has_value();
}

std::string MachineFiles::shipped_calibration(const std::string& id) const {
  return (fs::path(data_dir_) / "models" / "params" / (id + ".json")).string();
}

std::string MachineFiles::shipped_topology(const std::string& id) const {
  return (fs::path(data_dir_) / "topologies" / (id + ".json")).string();
}

std::string MachineFiles::topology(const std::string& id) const {
  if (!is_json(id) && fs::exists(shipped_topology(id))) return shipped_topology(id);
  if (!is_file(id))
    if (const auto file = shipped_by_other_name(id)) return file->path;
  if (is_file(id)) return id;
  throw InputError("topology: '" + id + "' is no file and no shipped machine: one of " + joined(platforms()));
}

std::string MachineFiles::calibration(const std::string& id) const {
  if (!is_json(id) && fs::exists(shipped_calibration(id))) return shipped_calibration(id);
  if (is_file(id)) return id;
  throw InputError("inherit: '" + id + "' is no file and no calibrated machine: one of " + joined(calibrated()));
}

std::optional<std::string> MachineFiles::topology_of(const Calibration& calibration) const {
  const fs::path here = fs::path(calibration.path).parent_path();
  const fs::path sibling = here / (calibration.topology + "-topology.json");  // as linkcast-bench writes it
  if (fs::exists(sibling)) return sibling.string();
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
  return read_wiring(*path);
}

Json MachineFiles::wiring_of(const MachineFile& file) const { return wiring_of(file, 0); }

Json MachineFiles::wiring_of(const MachineFile& file, int depth) const {
  constexpr int kDeepest = 4;  // source: ours, a variant of a variant of a machine is deep
  if (file.schema != MachineSchema::kVariant) return file.json;
  const Variant variant = read_variant(file.json, file.path);
  if (!variant.is_own_machine())
    throw InputError(file.path, "/changes", "this is a machine that was never built: name its base, " + variant.base);
  if (depth == kDeepest) throw InputError(file.path, "/base", "bases of bases lead on and on");
  const fs::path sibling = fs::path(file.path).parent_path() / variant.base;
  const std::string base = is_json(sibling) ? sibling.string() : shipped_topology(variant.base);
  if (!fs::exists(base)) throw InputError(file.path, "/base", "'" + variant.base + "' is no shipped topology");
  return variant_wiring(variant, wiring_of(read(base), depth + 1));
}

Topology MachineFiles::read_wiring(const std::string& id) const { return read_wiring(read(topology(id))); }

Topology MachineFiles::read_wiring(const MachineFile& file) const {
  if (file.schema == MachineSchema::kCalibration) return read_topology_of(read_calibration(file.json, file.path));
  if (file.schema == MachineSchema::kTopology) return read_topology(file.json, file.path);
  const Json wiring = wiring_of(file);
  Topology topology = parse_topology(wiring, file.path);
  topology.sha256 = sha256_of_text(wiring.dump());
  return topology;
}

bool MachineFiles::is_shipped(const Topology& topology) const {
  const std::string path = shipped_topology(topology.name);
  if (!fs::exists(path)) return false;
  const MachineFile file = read(path);
  return !file.is_what_if() && read_wiring(file).sha256 == topology.sha256;
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
    auto known = measured_.find(id);
    if (known == measured_.end()) {
      Calibration calibration = read_calibration(shipped_calibration(id));
      Topology topology = read_topology_of(calibration);
      known = measured_.emplace(id, Measured{std::move(calibration), std::move(topology)}).first;
    }
    found.push_back(known->second);
  }
  return found;
}

}  // namespace linkcast::catalogue
