#include "calibrate/pipelines/init_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/log_text.hpp"
#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/rocm_csv.hpp"
#include "calibrate/import/topo_matrix.hpp"
#include "calibrate/import/topology_request.hpp"
#include "calibrate/pipelines/import_notes.hpp"
#include "sim/base/atomic_file.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/structure.hpp"

namespace linkcast::pipelines {
namespace {

// Outputs of nvidia-smi or rocm-smi, run here or pasted into files.

struct InitSources {
  std::string format;                          ///< importer that reads them
  std::vector<std::string> files;              ///< in its order
  std::map<std::string, std::string> options;  ///< of the importer
  std::vector<std::string> bus_ids;            ///< of the GPUs, where the tool prints them
};

/// @throws InputError  begins with "out": the file cannot be written
void write_output(const std::string& path, const std::string& text);

namespace fs = std::filesystem;

struct ToolOutput {
  std::string text;
  bool ok = false;
};

/// @param command  a fixed text, nothing that a user wrote
ToolOutput output_of(const std::string& command) {
  ToolOutput output;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> part{};
  for (std::size_t read = 0; (read = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.text.append(part.data(), read);
  output.ok = pclose(pipe) == 0;
  return output;
}

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "", ':')) {
    std::error_code ignored;
    const auto status = fs::status(fs::path(folder) / program, ignored);
    if (fs::is_regular_file(status) && (status.permissions() & fs::perms::others_exec) != fs::perms::none) return true;
  }
  return false;
}

std::string first_line(const std::string& text) {
  for (const std::string& line : plain_log_lines("", text))
    if (line.find_first_not_of(" \t=") != std::string::npos) return line;
  return "no output";
}

std::string kept(const fs::path& folder, const std::string& name, const std::string& text) {
  fs::create_directories(folder);
  const std::string path = (folder / name).string();
  write_output(path, text);
  return path;
}

/// Bus ids, and PCIe where it is the same of all GPUs; older drivers do not say.
void ask_pcie(InitSources& sources) {
  static const Regex row(R"(\s*\d+, ([0-9a-fA-F:.]+), (\d), (\d{1,2})\s*)");
  const ToolOutput said =
      output_of("nvidia-smi --query-gpu=index,pci.bus_id,pcie.link.gen.max,pcie.link.width.max --format=csv,noheader");
  if (!said.ok) return;
  std::set<std::string> pcie;
  for (const std::string& line : plain_log_lines("", said.text)) {
    const Match match = row.whole(line);
    if (!match) continue;
    sources.bus_ids.push_back(pci_bus_id(match[1]));
    pcie.insert(match[2] + "x" + match[3]);
  }
  if (pcie.size() == 1) sources.options["pcie"] = *pcie.begin();
}

InitSources ask_nvidia(const fs::path& folder) {
  const ToolOutput topo = output_of("nvidia-smi topo -m");
  const ToolOutput list = output_of("nvidia-smi -L");
  if (!topo.ok || !list.ok || !topology_import::is_topo_matrix(topo.text))
    throw InputError("init: nvidia-smi shows no GPUs: " + first_line((topo.ok ? list : topo).text));
  InitSources sources{"topo-m", {}, {}, {}};
  sources.files = {kept(folder, "nvidia-smi-topo.txt", topo.text), kept(folder, "nvidia-smi-list.txt", list.text)};
  const ToolOutput peers = output_of("nvidia-smi topo -p2p r");  // drivers before 2018 do not have it
  if (peers.ok && topology_import::is_peer_table(peers.text))
    sources.files.push_back(kept(folder, "nvidia-smi-p2p.txt", peers.text));
  const ToolOutput links = output_of("nvidia-smi nvlink -s");
  if (links.ok && links.text.find("GPU 0:") != std::string::npos)
    sources.files.push_back(kept(folder, "nvidia-smi-nvlink.txt", links.text));
  ask_pcie(sources);
  return sources;
}

/// A tool of AMD: its commands for what joins GPUs and for their names, a title that the first prints, and files.
struct AmdTool {
  std::string name, topology, title, names, topology_file, names_file;
};
const AmdTool kRocmSmi = {
    "rocm-smi",          "rocm-smi --showtopo", "Link Type between two GPUs", "rocm-smi --showproductname --showbus",
    "rocm-smi-topo.txt", "rocm-smi-names.txt"};
const AmdTool kAmdSmi = {"amd-smi",        "amd-smi topology",     "LINK TYPE TABLE",
                         "amd-smi static", "amd-smi-topology.txt", "amd-smi-static.txt"};

InitSources ask_amd(const fs::path& folder, const AmdTool& tool) {
  const ToolOutput topo = output_of(tool.topology);
  if (!topo.ok || topo.text.find(tool.title) == std::string::npos)
    throw InputError("init: " + tool.name + " shows no GPUs: " + first_line(topo.text));
  InitSources sources{"rocm-topo", {kept(folder, tool.topology_file, topo.text)}, {}, {}};
  const ToolOutput names = output_of(tool.names);
  if (names.ok) sources.files.push_back(kept(folder, tool.names_file, names.text));
  return sources;
}

/// The lists of nvidia-smi in a text: each begins with GPU 0.
std::vector<std::string> lists_in(const std::string& text) {
  static const Regex first(R"(.*GPU 0: .*\(UUID: .*)");
  std::vector<std::string> lists;
  for (const std::string& line : plain_log_lines("", text)) {
    if (first.whole(line)) lists.emplace_back();
    if (!lists.empty()) lists.back() += line + "\n";
  }
  return lists;
}

// Outputs without a table that add to one, by what they print.
const std::string kPeers = "topo -p2p", kAmdFacts = "names of AMD";

std::string table_format(const std::string& text) {
  for (const char* title : {"Link Type between two GPUs", "LINK TYPE TABLE", "Link type between DRM devices",
                            "\"link_type\""})  // its tables begin alike
    if (text.find(title) != std::string::npos) return "rocm-topo";
  if (topology_import::has_rocm_csv(text)) return "rocm-topo";
  if (topology_import::is_peer_table(text)) return kPeers;
  if (topology_import::is_topo_matrix(text)) return "topo-m";
  for (const char* fact : {"Card series:", "Card Series:", "PCI Bus:", "MARKET_NAME:", "Numa Node:", "\"Card series\"",
                           "\"Card Series\"", "\"market_name\"", "gpu,market_name,"})
    if (text.find(fact) != std::string::npos) return kAmdFacts;
  if (text.find("<system") != std::string::npos) return "nccl-xml";
  return text.find("<topology") != std::string::npos ? "hwloc-xml" : "";
}

void write_output(const std::string& path, const std::string& text) {
  try {
    write_atomically(path, text);
  } catch (const InputError& error) {
    throw InputError(std::string("out: ") + error.what());
  }
}

/// Asks the tool that is on the PATH and keeps its outputs in a folder. @throws InputError  no tool, or
/// no GPU: one line
InitSources ask_machine(const std::string& folder) {
  if (on_path("nvidia-smi")) return ask_nvidia(folder);
  for (const AmdTool& tool : {kRocmSmi, kAmdSmi})
    if (on_path(tool.name)) return ask_amd(folder, tool);
  throw InputError(
      "init: no GPUs here: neither nvidia-smi nor rocm-smi nor amd-smi is on the PATH. Name files with their outputs "
      "instead: "
      "linkcast init topo.txt list.txt nvlink.txt");
}

/// Files in any order, told apart by what they hold. @param folder  for the parts of a file that holds several outputs
/// @throws InputError  no table among them; two of one sort
InitSources sort_outputs(const std::vector<std::string>& files, const std::string& folder) {
  std::map<std::string, std::string> tables;  // by format
  std::vector<std::string> lists;
  for (const std::string& file : files) {
    const std::string text = topology_import::read_text(file);
    const std::string format = table_format(text);
    if (!format.empty() && !tables.emplace(format, file).second)
      throw InputError(file + ": is of the same format as " + tables[format] + ": give one of them");
    const std::vector<std::string> found = lists_in(text);
    if (format.empty() && found.empty())
      throw InputError(file +
                       ": no output of nvidia-smi topo -m, -L, nvlink -s, of rocm-smi --showtopo or amd-smi topology, "
                       "no XML of NCCL or hwloc");
    if (found.size() == 1) lists.push_back(file);
    for (std::size_t i = 0; found.size() > 1 && i < found.size(); ++i)
      lists.push_back(kept(folder, fmt::format("list-{}.txt", i), found[i]));
  }
  InitSources sources;
  for (const char* format : {"hwloc-xml", "nccl-xml", "topo-m", "rocm-topo"})  // what says most first
    if (tables.count(format) > 0 && sources.format.empty()) {
      sources.format = format;
      sources.files = {tables[format]};
    }
  if (sources.format.empty())
    throw InputError(files.front() + ": lists GPUs, but nothing says what joins them: add nvidia-smi topo -m");
  if (sources.format == "hwloc-xml" && tables.count("topo-m") > 0) sources.files.push_back(tables["topo-m"]);
  if (sources.format == "topo-m" && tables.count(kPeers) > 0) sources.files.push_back(tables[kPeers]);
  if (sources.format == "rocm-topo" && tables.count(kAmdFacts) > 0) sources.files.push_back(tables[kAmdFacts]);
  if (sources.format == "hwloc-xml" || sources.format == "topo-m")
    sources.files.insert(sources.files.end(), lists.begin(), lists.end());
  return sources;
}

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
  const auto s = lending::structure_of(topology);
  const std::string joined = s.join == lending::Join::kNone     ? "no link between GPUs but PCIe"
                             : s.join == lending::Join::kSwitch ? s.join_name + " through a switch"
                                                                : s.join_name + " from GPU to GPU";
  return fmt::format("{}; {}{}; CPUs: {}; PCIe switches: {}; adapters: {}", topology.title, joined,
                     s.pcie_generation > 0 ? fmt::format("; PCIe {}", s.pcie_generation) : "",
                     count_of(topology, DeviceKind::kCpu), count_of(topology, DeviceKind::kPcieSwitch),
                     count_of(topology, DeviceKind::kNic));
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

bool init_reads(const std::string& text) { return !table_format(text).empty() || !lists_in(text).empty(); }

std::string wiring_format(const std::string& text) {
  const std::string format = table_format(text);
  return format == kPeers || format == kAmdFacts ? "" : format;
}

}  // namespace linkcast::pipelines
