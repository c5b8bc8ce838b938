#include "calibrate/pipelines/init_machine.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "calibrate/fit/fit.hpp"
#include "calibrate/import/import_cost.hpp"
#include "calibrate/pipelines/import_notes.hpp"
#include "calibrate/pipelines/init_sources.hpp"
#include "sim/machine/structure.hpp"

namespace linkcast::pipelines {
namespace {
namespace fs = std::filesystem;

/// An id from the name of the host: "Node-07.cluster" is node-07.
std::string host_id() {
  std::ifstream in("/etc/hostname");
  std::string name, id;
  std::getline(in, name);
  for (const char c : name.substr(0, name.find('.')))
    if (std::isalnum(static_cast<unsigned char>(c)))
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!id.empty() && id.back() != '-')
      id += '-';
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id.empty() ? "box" : id;
}

/// Adds the bus ids that the tool printed.
void add_bus_ids(Json& topology, const std::vector<std::string>& bus_ids) {
  std::size_t gpus = 0;
  for (const Json& device : topology["devices"]) gpus += device["kind"] == "gpu" ? 1U : 0U;
  if (gpus != bus_ids.size()) return;
  std::size_t k = 0;
  for (Json& device : topology["devices"])
    if (device["kind"] == "gpu" && !bus_ids[k++].empty()) device["bus_id"] = bus_ids[k - 1];
}

int count_of(const Topology& topology, DeviceKind kind) {
  return static_cast<int>(std::count_if(topology.devices.begin(), topology.devices.end(),
                                        [&](const Device& device) { return device.kind == kind; }));
}

std::string found_text(const Topology& topology) {
  const lending::Structure s = lending::structure_of(topology);
  const std::string joined = s.join == lending::Join::kNone     ? "no link between GPUs but PCIe"
                             : s.join == lending::Join::kSwitch ? s.join_name + " through a switch"
                                                                : s.join_name + " from GPU to GPU";
  return topology.title + "; " + joined + (s.pcie_generation > 0 ? "; PCIe " + std::to_string(s.pcie_generation) : "") +
         "; CPUs: " + std::to_string(count_of(topology, DeviceKind::kCpu)) +
         "; PCIe switches: " + std::to_string(count_of(topology, DeviceKind::kPcieSwitch)) +
         "; adapters: " + std::to_string(count_of(topology, DeviceKind::kNic));
}

}  // namespace

InitialisedMachine init_machine(catalogue::Catalogue& catalogue, const NewMachine& settings) {
  const std::string name = settings.machine.empty() ? host_id() : settings.machine;
  InitialisedMachine out;
  out.topology = (fs::path(settings.out) / (name + "-topology.json")).string();
  out.platform = (fs::path(settings.out) / (name + ".json")).string();
  for (const std::string& path : {out.topology, out.platform})
    if (fs::exists(path) && !settings.force)
      throw InputError("out: " + path + " is there already: set force to replace it, set machine to name it otherwise");
  InitSources sources = settings.files.empty() ? ask_machine(settings.out) : sort_outputs(settings.files, settings.out);
  ImportRequest request{sources.files, name, "", sources.options};
  for (const auto& [key, value] : settings.options) request.options[key] = value;
  expect_import(sources.format, request.files);
  Json record = import_record(sources.format, request);
  add_bus_ids(record, sources.bus_ids);
  out.import_notes = notes_of(record);
  fs::create_directories(settings.out);
  write_output(out.topology, record.dump(1) + "\n");
  const catalogue::MachinePtr machine = catalogue.machine(out.topology);
  const Platform& platform = machine->platform();
  fit::FitResult result;
  result.calibration = platform.calibration();
  result.calibration.wiring = record;
  result.undetermined = {"everything that copies show: none was given"};
  write_output(out.platform, fit::to_json(result).dump(1) + "\n");
  out.found = found_text(platform.wiring());
  out.gpus = platform.wiring().gpus().size();
  out.notes = platform.calibration().notes;
  return out;
}

}  // namespace linkcast::pipelines
