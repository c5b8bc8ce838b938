// Records: measurements, topologies, groups of nodes.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "calibrate/import/importer.hpp"
#include "calibrate/pipelines/import_files.hpp"
#include "calibrate/pipelines/import_notes.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::pipelines {
namespace {

/// The parts of a source, which semicolons divide, that say what was assumed, found or left out.
std::vector<std::string> assumed_in(const std::string& source) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < source.size();) {
    const std::size_t end = std::min(source.find("; ", from), source.size());
    const std::string part = source.substr(from, end - from);
    if (part.starts_with("assumed:") || part.starts_with("finding:") || part.starts_with("left out"))
      parts.push_back(part);
    from = end + 2;
  }
  return parts;
}

std::string source_of(const Json& object) {
  const auto source = object.find("source");
  return source != object.end() && source->is_string() ? source->get<std::string>() : "";
}

/// Name of the first GPU that the files print; empty: none.
std::string printed_gpu(const Json& environment) {
  if (const auto one = environment.find("gpu"); one != environment.end() && one->is_string()) return *one;
  const auto all = environment.find("gpus");
  if (all == environment.end()) return "";
  for (const Json& gpu : *all)
    if (gpu.is_string()) return gpu;
  return "";
}

/// File of the machine that an id or a file names; empty: neither.
std::string topology_file(const catalogue::MachineFiles& files, const std::string& id) {
  if (id.empty()) return "";
  if (catalogue::MachineFiles::is_file(id)) return id;
  const std::string shipped = files.shipped_topology(id);
  return std::filesystem::exists(shipped) ? shipped : "";
}

/// @param topology  that a record of schema measurement/1 names; none: not known
/// @throws InputError  a measurement that names GPUs which its topology does not have
void check_gpus(const Json& record, const std::optional<Topology>& topology, std::vector<Note>& notes) {
  const std::string printed = printed_gpu(record.value("environment", Json::object()));
  const std::string name = record.value("topology", "");
  const auto said = find_gpu_model(printed);
  if (name.empty() || printed.empty()) return;
  if (printed.find(" MIG ") != std::string::npos)
    throw InputError("the file names '" + printed + "': slices of a GPU (MIG) have other rates than a whole one");
  if (!topology) {
    notes.push_back(
        {fmt::format("assumed: topology {} has GPUs '{}': it is not among the shipped ones", name, printed)});
    return;
  }
  const Device& gpu = topology->devices[static_cast<std::size_t>(topology->gpus().front())];
  const std::string& model = gpu.model;
  if (model.empty() && said && said->sm == gpu.sm) return;  // NCCL's files tell compute capabilities alone
  const auto known = find_gpu_model(model);
  if (!said || !known) {
    notes.push_back(
        {fmt::format("not checked: whether GPUs '{}' of the file are '{}' of topology {}", printed, model, name)});
    return;
  }
  if (said->words == known->words) return;
  // "H100" and "H100 PCIE" are one chip: said, not refused.
  if (!names_model(printed, *known) && !names_model(model, *said))
    throw InputError("topology: " + name + " has GPUs '" + model + "', the file names '" + printed + "'");
  notes.push_back(
      {fmt::format("GPUs '{}' of the file and '{}' of topology {} may differ", printed, model, name), true});
}

}  // namespace

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void refuse_same_files(const std::vector<std::string>& files) {
  for (auto file = files.begin(); file != files.end(); ++file)
    for (auto before = files.begin(); before != file; ++before)
      if (std::error_code none; std::filesystem::equivalent(*before, *file, none))
        throw InputError(*file + ": is given twice" + (*before == *file ? "" : ", as " + *before + " too"));
}

std::vector<Note> notes_of(const Json& record) {
  std::vector<Note> notes;
  if (const auto said = record.find("notes"); said != record.end())
    for (const Json& note : *said) notes.push_back({note.get<std::string>()});
  for (const std::string& part : assumed_in(source_of(record))) notes.push_back({part});
  std::map<std::string, std::int64_t> assumed;
  if (const auto cables = record.find("cables"); cables != record.end())
    for (const Json& cable : *cables)
      for (const std::string& part : assumed_in(source_of(cable))) ++assumed[part];
  for (const auto& [part, count] : assumed) notes.push_back({part + " (" + counted(count, "cable", "cables") + ")"});
  if (const auto points = record.find("points"); points != record.end())
    notes.push_back({counted(static_cast<std::int64_t>(points->size()), "point", "points")});
  return notes;
}

std::vector<std::string> import_formats() {
  std::vector<std::string> names = importers().names();
  for (const std::string& name : trace_importers().names()) names.push_back(name);
  return names;
}

bool gives_trace(const std::string& format) { return trace_importers().find(format) != nullptr; }

ImportedRecord import_measured(catalogue::Catalogue& catalogue, const std::string& name, ImportRequest request) {
  refuse_same_files(request.files);
  const std::string format = import_format(name);
  const std::vector<std::string> known = import_formats();
  if (std::find(known.begin(), known.end(), format) == known.end()) throw unknown_name("format", format, known);
  const catalogue::MachineFiles files(catalogue.data_dir());
  const std::string machine = topology_file(files, request.topology);
  std::optional<Topology> wiring;
  if (!machine.empty()) wiring = files.read_wiring(machine);
  if (wiring && machine == request.topology) request.topology = wiring->name;
  expect_import(format, request.files);
  ImportedRecord out{import_record(format, request), {}};
  check_gpus(out.record, wiring, out.notes);
  for (Note& note : notes_of(out.record)) out.notes.push_back(std::move(note));
  return out;
}

}  // namespace linkcast::pipelines
