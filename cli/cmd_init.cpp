#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "calibrate/fit/fit.hpp"
#include "calibrate/import/import_cost.hpp"
#include "calibrate/import/importer.hpp"
#include "cli/command.hpp"
#include "cli/import_notes.hpp"
#include "cli/init_sources.hpp"
#include "cli/stdin_file.hpp"
#include "cli/trace_out.hpp"
#include "sim/lending/structure.hpp"

namespace linkcast::cli {
namespace {
namespace fs = std::filesystem;

struct InitOptions {
  std::vector<std::string> files, options;
  std::string out = ".", machine;
  bool force = false, json = false;
};

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

/// What the tool said of the GPUs' places besides.
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

/// As an argument of a shell.
std::string argument(const std::string& path) {
  return path.find_first_of(" '\"$") == std::string::npos ? path : "\"" + path + "\"";
}

std::string next_command(const Topology& topology, const std::string& platform) {
  const std::size_t gpus = topology.gpus().size();
  if (gpus < 2) return "linkcast predict p2p --platform " + argument(platform) + " --src cpu0 --dst gpu0 --size 64MiB";
  return "linkcast predict collective --platform " + argument(platform) + " --gpus 0-" + std::to_string(gpus - 1) +
         " --op all_reduce --size 1GB";
}

void run_init(const InitOptions& o, Context& context) {
  const std::string name = o.machine.empty() ? host_id() : o.machine;
  const std::string topology_path = (fs::path(o.out) / (name + "-topology.json")).string();
  const std::string platform_path = (fs::path(o.out) / (name + ".json")).string();
  for (const std::string& path : {topology_path, platform_path})
    if (fs::exists(path) && !o.force)
      throw InputError("--out: " + path + " is there already: --force replaces it, --machine gives another name");
  InitSources sources = o.files.empty() ? ask_machine(o.out) : sort_outputs(o.files, o.out);
  ImportRequest request{sources.files, name, "", sources.options};
  for (const auto& [key, value] : key_values(o.options, "import")) request.options[key] = value;
  expect_import(sources.format, request.files);
  Json record = import_record(sources.format, request);
  add_bus_ids(record, sources.bus_ids);
  tell_record(record);
  fs::create_directories(o.out);
  write_file("--out", topology_path, record.dump(1) + "\n");
  const Platform& platform = context.machine(topology_path)->platform();
  fit::FitResult result;
  result.calibration = platform.calibration();
  result.calibration.wiring = record;
  result.undetermined = {"everything that copies show: none was given"};
  write_file("--out", platform_path, fit::to_json(result).dump(1) + "\n");
  const std::string found = found_text(platform.wiring()), next = next_command(platform.wiring(), platform_path);
  if (o.json) {
    const Json told = {{"found", found},
                       {"topology", topology_path},
                       {"platform", platform_path},
                       {"notes", platform.calibration().notes},
                       {"next", next}};
    std::cout << told.dump(2) << '\n';
    return;
  }
  std::cout << "found: " << found << "\nwrote: " << topology_path << " (what is wired to what), " << platform_path
            << " (with parameters)\n";
  for (const std::string& note : platform.calibration().notes) std::cout << note << '\n';
  std::cout << "next: " << next << '\n';
}

}  // namespace

void add_init(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("init", "this machine, or a pasted one, as a platform in one go");
  auto o = std::make_shared<InitOptions>();
  reads_stdin(
      command->add_option("file", o->files,
                          "outputs of nvidia-smi topo -m, -L, nvlink -s, of rocm-smi --showtopo, XML of NCCL or hwloc, "
                          "in any order; '-': standard input (default: ask nvidia-smi or rocm-smi here)"));
  command->add_option("--out", o->out, "folder for NAME-topology.json and NAME.json (default: this one)");
  command->add_option("--machine", o->machine, "its name (default: that of the host)");
  command
      ->add_option("--option", o->options,
                   "key=value that the files do not say, see 'linkcast import --help'; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--force", o->force, "replace files that are there");
  command->add_flag("--json", o->json, "one JSON object on stdout: what was found and written");
  command->footer("Example:\n  linkcast init --out box\n  linkcast init topo.txt list.txt nvlink.txt --machine box");
  command->callback([o, &context] { run_init(*o, context); });
}

}  // namespace linkcast::cli
