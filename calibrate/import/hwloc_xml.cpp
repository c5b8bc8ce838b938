// XML of hwloc 1, 2 and 3 (lstopo --of xml) -> topology/1: sockets, PCIe switches, GPUs, InfiniBand-like adapters, and
// NVLinks where its distances have them; further files give them too: nvidia-smi topo -m, -L and nvlink -s.
// Limits: pci_link_speed is the state of the link when lstopo ran, and idle GPUs may run theirs slower. CPUs are
// Packages, or their NUMA nodes where one has several. Adapters are those with an OpenFabrics device; no Ethernet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/hwloc_distances.hpp"
#include "calibrate/import/nvlink_wiring.hpp"
#include "calibrate/import/topology_request.hpp"
#include "calibrate/import/xml_node.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::topology_import {
namespace {

const std::string kHwlocFormat = "hwloc XML";

/// One PCI device or bridge with the rate of the link above it.
struct HwlocPort {
  XmlNode node;
  std::string bus;
  double speed_Bps = 0;  ///< 0: not said
};

/// Where an object stands: the socket above, and the PCI bridges from the root port down.
struct Place {
  std::string cpu;  ///< empty: no Package above
  std::vector<HwlocPort> bridges;
};

struct Endpoint {
  HwlocPort port;
  Place place;
  std::string id, model;
  std::optional<int> cuda, nvml;  ///< numbers
  std::optional<int> rsmi{};
  bool amd = false;
  std::string uuid{};
  std::vector<std::string> gp_indices{};  ///< by which distances name its OS devices
};

std::string info_of(const XmlNode& node, const std::string& name) {
  for (const XmlNode& info : node.children("info"))
    if (info.text("name") == name) return info.text("value");
  return "";
}

/// A GPU of NVIDIA or AMD that neither CUDA nor NVML names.
struct PciGpu {
  bool amd = false;
  std::string device;
};

/// PCI class and vendor tell one. source: PCI Code and ID Assignment Specification; vendors 10de NVIDIA, 1002 AMD
std::optional<PciGpu> gpu_by_pci(const XmlNode& node) {
  static const Regex gpu(R"((?i)(03\d\d|1200) \[(10de|1002):([0-9a-f]{4})\].*)");
  const Match match = gpu.whole(node.find("pci_type").value_or(""));
  if (!match) return std::nullopt;
  return PciGpu{match[2] == "1002", match[3]};
}

/// Adapters of InfiniBand and the like: their OS device is of OpenFabrics, by number in hwloc 1 and 2, by bit in 3.
bool is_openfabrics(const XmlNode& os) {
  static const Regex name(R"((mlx\d+_|hfi\d+_|bnxt_re|irdma|efa_|hsn|cxi|ib\d).*)");
  if (const auto type = os.find("osdev_type")) return *type == "3" || *type == "OpenFabrics";
  return bool{name.whole(os.find("name").value_or(""))};
}

class HwlocXml {
 public:
  static std::set<std::string> keys() {
    std::set<std::string> all = {"nvswitch", "numbers", "pcie_peer"};
    all.insert(kGpuOptions.begin(), kGpuOptions.end());
    return all;
  }
  explicit HwlocXml(const ImportRequest& request) : request_(request, keys(), 4), file_(request.files.front()) {
    for (std::size_t i = 1; i < request.files.size(); ++i) {
      const std::string& name = request.files[i];
      const bool table = is_topo_matrix(read_text(name));
      if (table && matrix_) throw InputError(name + ": a second output of nvidia-smi topo -m");
      if (table) matrix_ = read_topo_matrix(name);
      const auto lists = table ? read_smi_lists(name) : some_smi_lists(name);
      lists_.insert(lists_.end(), lists.begin(), lists.end());
    }
  }
  Json run();

 private:
  void read_object(const XmlNode& node, Place place);
  void read_package(const XmlNode& node, Place& place);
  void read_unnamed(const XmlNode& node, Endpoint endpoint, const PciGpu& pci);
  void read_endpoint(const XmlNode& node, const Place& place);
  [[nodiscard]] HwlocPort port_of(const XmlNode& node) const;
  void number_gpus();
  void check_cpus();
  [[nodiscard]] LinkMatrix links() const;
  [[nodiscard]] std::vector<std::vector<std::string>> gpu_indices() const {
    std::vector<std::vector<std::string>> all;
    for (const Endpoint& gpu : gpus_) all.push_back(gpu.gp_indices);
    return all;
  }
  [[nodiscard]] std::string switch_above(const Place& place);
  void add_port(const Endpoint& endpoint, const GpuFacts* gpu);
  struct Rated {
    PcieLink link;
    std::string source;
  };
  [[nodiscard]] std::optional<Rated> rated(const HwlocPort& port, int newest) const;

  TopologyRequest request_;
  XmlFile file_;
  std::optional<TopoMatrix> matrix_;
  std::vector<SmiList> lists_;
  std::vector<CpuPart> cpus_;
  std::vector<Endpoint> gpus_, adapters_;
  std::vector<Endpoint> unnamed_;  ///< GPUs that neither CUDA nor NVML names
  bool by_numa_ = false;           ///< CPUs are NUMA nodes
  std::vector<GpuFacts> facts_;
  std::string numbers_source_;
  std::map<std::string, std::string> switches_;  // bus id of the upstream port -> device id
  struct Uplink {
    std::string id, to;
    HwlocPort port;
  };
  std::vector<Uplink> uplinks_;
  TopologyWriter writer_;
};

/// Objects that this importer reads.
enum class ObjectType { kOther, kPackage, kNumaNode, kBridge, kPciDevice, kOsDevice };

ObjectType type_of(const XmlNode& node) {
  static const std::map<std::string, ObjectType> kTypes{
      {"Package", ObjectType::kPackage},   {"Socket", ObjectType::kPackage},  // before hwloc 1.11
      {"NUMANode", ObjectType::kNumaNode}, {"Bridge", ObjectType::kBridge},
      {"PCIDev", ObjectType::kPciDevice},  {"OSDev", ObjectType::kOsDevice}};
  const auto known = kTypes.find(node.text("type"));
  return known == kTypes.end() ? ObjectType::kOther : known->second;
}

/// NUMA node of the cores below an object: hwloc 1 puts them below the node, hwloc 2 the node next to them.
std::optional<int> numa_at(const XmlNode& node) {
  const bool inner = type_of(node) == ObjectType::kOther;
  if (type_of(node) == ObjectType::kNumaNode && !node.children("object").empty()) return node.number("os_index", 0);
  if (!inner) return std::nullopt;
  for (const XmlNode& child : node.children("object"))
    if (type_of(child) == ObjectType::kNumaNode && child.children("object").empty()) return child.number("os_index", 0);
  return std::nullopt;
}

/// NUMA nodes of parts of a Package, in the order of the file; a node of the whole Package is none.
std::vector<int> numa_parts(const XmlNode& node) {
  std::vector<int> parts;
  for (const XmlNode& child : node.children("object"))
    if (const auto numa = numa_at(child))
      parts.push_back(*numa);
    else if (type_of(child) == ObjectType::kOther)
      for (const int below : numa_parts(child)) parts.push_back(below);
  return parts;
}

bool has_numa_parts(const XmlNode& node) {
  if (type_of(node) == ObjectType::kPackage) return numa_parts(node).size() > 1;
  const auto objects = node.children("object");
  return std::any_of(objects.begin(), objects.end(), has_numa_parts);
}

/// The first NUMA node that stands at an object or below it.
std::optional<int> first_numa(const XmlNode& node) {
  if (type_of(node) == ObjectType::kNumaNode) return node.number("os_index", 0);
  for (const XmlNode& child : node.children("object"))
    if (const auto numa = first_numa(child)) return numa;
  return std::nullopt;
}

void HwlocXml::read_package(const XmlNode& node, Place& place) {
  std::vector<int> numbers = {node.number("os_index", 0)};
  if (by_numa_) {
    numbers = numa_parts(node);
    if (const auto whole = first_numa(node); numbers.empty() && whole) numbers = {*whole};
    if (numbers.empty()) node.fail("names no NUMA node, and other Packages have several");
  }
  CpuPart cpu;
  cpu.model = info_of(node, "CPUModel");
  cpu.vendor = vendor_of_cpuid(info_of(node, "CPUVendor"));
  if (cpu.model.starts_with("POWER")) cpu.vendor = "ibm";
  if (cpu.model.starts_with("Neoverse")) cpu.vendor = "arm";
  for (const int number : numbers) {
    cpu.id = fmt::format("cpu{}", number);
    for (const CpuPart& other : cpus_)
      if (other.id == cpu.id) node.fail("os_index", "two Packages or NUMA nodes have the same number");
    cpus_.push_back(cpu);
  }
  place.cpu = fmt::format("cpu{}", numbers.front());
}

HwlocPort HwlocXml::port_of(const XmlNode& node) const {
  HwlocPort port{node, node.text("pci_busid"), 0};
  const std::string speed = node.find("pci_link_speed").value_or("0");
  std::size_t used = 0;
  try {
    port.speed_Bps = std::stod(speed, &used) * 1e9;
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != speed.size() || !(port.speed_Bps >= 0) || !std::isfinite(port.speed_Bps))
    node.fail("pci_link_speed", "'" + speed + "' is no rate in GB/s");
  return port;
}

/// False: from the host to PCI. @throws InputError  of neither kind
bool is_pci_bridge(const XmlNode& node) {
  static const std::map<std::string, bool> kSides{{"0-1", false}, {"1-1", true}};
  const std::string sides = node.text("bridge_type");
  const auto known = kSides.find(sides);
  if (known == kSides.end())
    node.fail("bridge_type", "'" + sides + "' is not known: 0-1 from host to PCI, 1-1 from PCI to PCI");
  return known->second;
}

/// hwloc 1 puts a socket below its NUMA node, and PCI beside the socket. @returns empty unless there is one socket
std::string package_below(const XmlNode& node) {
  std::vector<std::string> found;
  for (const XmlNode& child : node.children("object"))
    if (type_of(child) == ObjectType::kPackage) found.push_back(fmt::format("cpu{}", child.number("os_index", 0)));
  return found.size() == 1 ? found.front() : "";
}

void HwlocXml::read_object(const XmlNode& node, Place place) {
  if (const auto numa = by_numa_ && !place.cpu.empty() ? numa_at(node) : std::nullopt)
    place.cpu = fmt::format("cpu{}", *numa);
  switch (type_of(node)) {
    case ObjectType::kPackage:
      read_package(node, place);
      break;
    case ObjectType::kNumaNode:
      if (place.cpu.empty()) place.cpu = package_below(node);
      break;
    case ObjectType::kBridge:
      if (is_pci_bridge(node)) place.bridges.push_back(port_of(node));
      break;
    case ObjectType::kPciDevice:
      read_endpoint(node, place);
      break;
    case ObjectType::kOsDevice:
    case ObjectType::kOther:
      break;
  }
  for (const XmlNode& child : node.children("object")) read_object(child, place);
}

/// GPUs are what CUDA or NVML number, adapters what OpenFabrics drives; all else is left out.
void HwlocXml::read_endpoint(const XmlNode& node, const Place& place) {
  Endpoint endpoint{port_of(node), place, "", "", std::nullopt, std::nullopt};
  std::string fabric;
  for (const XmlNode& os : node.children("object")) {
    if (type_of(os) != ObjectType::kOsDevice) continue;
    std::string subtype = os.find("subtype").value_or("");
    const std::string name = os.find("name").value_or("");
    if (subtype.empty())
      subtype = info_of(os, "CoProcType").empty() ? info_of(os, "Backend") : info_of(os, "CoProcType");
    if (subtype == "RSMI" && name.starts_with("rsmi")) endpoint.rsmi = whole_number(name.substr(4));
    static const std::map<std::string, bool> numbered = {{"CUDA", true}, {"NVML", false}};
    const auto by = numbered.find(subtype);  // hwloc 1 says it in an info
    if (const auto index = os.find("gp_index")) endpoint.gp_indices.push_back(*index);
    if (is_openfabrics(os)) fabric += (fabric.empty() ? "" : " ") + name;  // OpenFabrics
    if (by == numbered.end()) continue;
    const bool cuda = by->second;
    const auto number = name.size() > 4 ? whole_number(name.substr(4)) : std::nullopt;
    if (!number || name.substr(0, 4) != (cuda ? "cuda" : "nvml"))
      os.fail("name", "'" + name + "' is not cuda<number> or nvml<number>");
    auto& known = cuda ? endpoint.cuda : endpoint.nvml;
    if (known) os.fail("name", "a second " + subtype + " device on one PCI device");
    known = number;
    if (const std::string model = info_of(os, "GPUModel"); !model.empty()) endpoint.model = model;
    if (const std::string uuid = info_of(os, "NVIDIAUUID"); uuid.starts_with("GPU-")) endpoint.uuid = uuid;
  }
  if (endpoint.cuda || endpoint.nvml) {
    gpus_.push_back(std::move(endpoint));
  } else if (const auto pci = gpu_by_pci(node)) {
    read_unnamed(node, std::move(endpoint), *pci);
  } else if (!fabric.empty()) {
    endpoint.id = fmt::format("nic{}", adapters_.size());
    endpoint.model = fabric;
    adapters_.push_back(std::move(endpoint));
  }
}

/// Firmware gives several models of AMD one name, where the PCI device differs.
void HwlocXml::read_unnamed(const XmlNode& node, Endpoint endpoint, const PciGpu& pci) {
  endpoint.amd = pci.amd;
  if (pci.amd) endpoint.model = amd_model_of_pci(pci.device);
  for (const XmlNode& os : node.children("object"))
    if (endpoint.model.empty()) endpoint.model = info_of(os, "GPUModel");
  if (endpoint.model.empty()) endpoint.model = info_of(node, "PCIDevice");
  unnamed_.push_back(std::move(endpoint));
}

/// gpu<k> is cuda<k> or nvml<k>, whichever all GPUs have.
void HwlocXml::number_gpus() {
  if (gpus_.empty()) {  // in the order of their bus ids, as the driver counts
    std::sort(unnamed_.begin(), unnamed_.end(),
              [](const Endpoint& a, const Endpoint& b) { return a.port.bus < b.port.bus; });
    const bool rsmi = std::all_of(unnamed_.begin(), unnamed_.end(), [](const Endpoint& gpu) { return gpu.rsmi; });
    for (std::size_t i = 0; i < unnamed_.size(); ++i) unnamed_[i].nvml = rsmi ? unnamed_[i].rsmi : static_cast<int>(i);
    gpus_ = std::move(unnamed_);
    if (!gpus_.empty() && !rsmi)
      numbers_source_ = "; assumed: GPUs count in the order of bus ids, hwloc has no CUDA or NVML names";
  }
  if (gpus_.empty())
    file_.root().fail("no GPU: neither an OSDev of subtype CUDA or NVML, nor a PCI device that is one");
  const auto all = [&](auto has) { return std::all_of(gpus_.begin(), gpus_.end(), has); };
  const bool cuda = all([](const Endpoint& gpu) { return gpu.cuda.has_value(); });
  const bool nvml = all([](const Endpoint& gpu) { return gpu.nvml.has_value(); });
  const bool differ = cuda && nvml && !all([](const Endpoint& gpu) { return gpu.cuda == gpu.nvml; });
  const auto chosen = request_.choice("numbers", {"cuda", "nvml"});
  if (differ && !chosen)
    file_.root().fail("CUDA and NVML number the GPUs differently: option numbers=cuda or nvml says whose to take");
  const bool take_nvml = chosen ? *chosen == "nvml" : !cuda;
  if (take_nvml ? !nvml : !cuda)
    file_.root().fail(std::string("some GPUs have no OSDev of subtype ") + (take_nvml ? "NVML" : "CUDA"));
  const bool smi = matrix_ || !lists_.empty();
  if (smi && differ && !take_nvml)
    request_.fail("numbers", "nvidia-smi numbers GPUs as NVML does, so with its output only numbers=nvml can be");
  if (smi && !nvml) numbers_source_ += "; assumed: CUDA numbers the GPUs as nvidia-smi does";
  const auto number = [&](const Endpoint& gpu) { return take_nvml ? *gpu.nvml : *gpu.cuda; };
  std::sort(gpus_.begin(), gpus_.end(), [&](const auto& a, const auto& b) { return number(a) < number(b); });
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (number(gpus_[i]) != static_cast<int>(i))
      gpus_[i].port.node.fail(fmt::format("number {} where {} is expected: GPUs count from 0 without gaps, each once",
                                          number(gpus_[i]), i));
    gpus_[i].id = fmt::format("gpu{}", i);
  }
}

/// Devices outside every Package hang on the first one.
void HwlocXml::check_cpus() {
  if (cpus_.empty()) cpus_.push_back({"cpu0", "", "", "", {}});
  std::sort(cpus_.begin(), cpus_.end(), [](const CpuPart& a, const CpuPart& b) {
    return a.id.size() != b.id.size() ? a.id.size() < b.id.size() : a.id < b.id;
  });
}

LinkMatrix HwlocXml::links() const {
  const std::size_t count = gpus_.size();
  if (matrix_ && matrix_->gpus != static_cast<int>(count))
    throw InputError(fmt::format("{}: has {} GPUs, {} has {}", matrix_->file, matrix_->gpus, file_.path(), count));
  if (matrix_) return nvlinks_of(*matrix_);
  for (const SmiList& list : lists_)
    for (const SmiGpu& gpu : list.gpus)
      if (!gpu.link_GBps.empty())
        throw InputError(list.file +
                         ": says how many NVLinks there are, not where they lead: add a file with the output "
                         "of nvidia-smi topo -m");
  return LinkMatrix(count, std::vector<int>(count, 0));
}

/// Root port, then pairs of a switch's upstream and downstream port: each upstream port is a switch.
std::string HwlocXml::switch_above(const Place& place) {
  std::string above = place.cpu.empty() ? cpus_.front().id : place.cpu;
  for (std::size_t i = 1; i < place.bridges.size(); i += 2) {
    const HwlocPort& upstream = place.bridges[i];
    const auto [at, is_new] = switches_.try_emplace(upstream.bus, fmt::format("plx{}", switches_.size()));
    if (is_new) uplinks_.push_back({at->second, above, upstream});
    above = at->second;
  }
  return above;
}

/// The widest link with this rate whose generation is not above `newest`.
std::optional<HwlocXml::Rated> HwlocXml::rated(const HwlocPort& port, int newest) const {
  std::vector<PcieLink> fits;
  for (const int width : {16, 8, 4, 2, 1, 32})
    for (int generation = 1; generation <= newest; ++generation)
      if (const PcieLink link{generation, width}; std::abs(link.rate().si / port.speed_Bps - 1) < 0.01)
        fits.push_back(link);  // 1 %: digits of hwloc; rates of one width differ by more. source: ours
  if (fits.empty()) return std::nullopt;
  std::string source = kHwlocFormat + ": pci_link_speed when lstopo ran";
  if (fits.size() > 1)
    source += "; assumed: " + fits.front().text() + ", though " + fits[1].text() + " has the same rate";
  return Rated{fits.front(), source};
}

void HwlocXml::add_port(const Endpoint& endpoint, const GpuFacts* gpu) {
  constexpr int newest_known = 6;
  const std::string above = switch_above(endpoint.place);
  const std::string place =
      endpoint.place.cpu.empty() ? "; assumed: first socket, hwloc names none for this device" : "";
  const bool by_option = gpu && request_.pcie();
  const auto generation = gpu && gpu->pcie ? gpu->pcie->generation : newest_known;
  std::optional<Rated> link;
  if (endpoint.port.speed_Bps > 0 && !by_option) {
    link = rated(endpoint.port, generation);
    if (!link) endpoint.port.node.fail("pci_link_speed", fmt::format("is no rate of PCI Express 1 to {}", generation));
  }
  if (!link && gpu && gpu->pcie) link = Rated{*gpu->pcie, gpu->pcie_source};
  if (!link && request_.pcie()) link = Rated{*request_.pcie(), "as option pcie says"};
  if (!link) endpoint.port.node.fail("pci_link_speed", "is not known: add option pcie=4x16, or whatever it is");
  writer_.cable(endpoint.id, above, link->link.kind(), 1, link->link.rate(), link->source + place);
}

Json HwlocXml::run() {
  const XmlNode root = file_.root_named("topology", "not XML of hwloc");
  const std::string version = root.find("version").value_or("1");  // hwloc 1 wrote none
  if (version != "1" && !version.starts_with("1.") && !version.starts_with("2.") && !version.starts_with("3."))
    root.fail("version", "'" + version + "' is not 1, 2.x or 3.x");
  for (const XmlNode& object : root.children("object")) by_numa_ = by_numa_ || has_numa_parts(object);
  for (const XmlNode& object : root.children("object")) read_object(object, {});
  number_gpus();
  const bool amd = gpus_.front().amd;
  for (const Endpoint& gpu : gpus_)
    if (gpu.amd != amd) gpu.port.node.fail("GPUs of NVIDIA and of AMD in one machine are not read");
  check_cpus();
  LinkMatrix links = this->links();
  const std::optional<HwlocLinks> shown = matrix_ ? std::nullopt : hwloc_links(root, gpu_indices(), amd);
  const std::vector<bool> nvlinks(gpus_.size(), !amd && (has_links(links) || shown));
  GpuQuestion question{file_.path(), {}, nvlinks, amd};
  for (const Endpoint& gpu : gpus_) question.models.push_back(gpu.model);
  facts_ = resolve_gpus(request_, std::move(question), lists_);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    facts_[i].bus_id = pci_bus_id(gpus_[i].port.bus);
    if (facts_[i].uuid.empty()) facts_[i].uuid = gpus_[i].uuid;
  }
  if (shown && !amd) links = shown->links(facts_);
  add_gpus(writer_, facts_);
  add_cpus(writer_, cpus_);
  for (auto* list : {&gpus_, &adapters_})
    for (const Endpoint& endpoint : *list) static_cast<void>(switch_above(endpoint.place));
  for (const Uplink& uplink : uplinks_) writer_.device(uplink.id, "pcie_switch");
  for (const Endpoint& adapter : adapters_) writer_.device(adapter.id, "nic", adapter.model);
  if (matrix_)
    add_nvlinks(writer_, links, facts_, {matrix_->file, "nvidia-smi topo -m", request_.yes_or_no("nvswitch")});
  if (shown && amd) shown->add_xgmi(writer_, facts_);
  if (shown && !amd)
    add_nvlinks(writer_, links, facts_,
                {file_.path(), "hwloc NVLinkBandwidth", shown->switched ? true : request_.yes_or_no("nvswitch")});
  for (std::size_t i = 0; i < gpus_.size(); ++i) add_port(gpus_[i], &facts_[i]);
  for (const Endpoint& adapter : adapters_) add_port(adapter, nullptr);
  constexpr int newest_known = 6;
  for (const Uplink& uplink : uplinks_) {
    auto link = uplink.port.speed_Bps > 0 ? rated(uplink.port, newest_known) : std::nullopt;
    if (!link && request_.pcie()) link = Rated{*request_.pcie(), "as option pcie says"};
    if (!link) uplink.port.node.fail("pci_link_speed", "is not known: add option pcie=4x16, or whatever it is");
    writer_.cable(uplink.id, uplink.to, link->link.kind(), 1, link->link.rate(), link->source);
  }
  join_cpus(writer_, cpus_);
  const std::string nvlink =
      matrix_ ? "; nvidia-smi topo -m"
      : shown ? ""
      : amd   ? "; assumed: no xGMI, the file has no XGMIBandwidth: rocm-smi --showtopo shows it"
              : "; assumed: no NVLinks, the file has no NVLinkBandwidth: nvidia-smi topo -m shows them";
  return writer_.json(request_.name(), title_of(facts_),
                      kHwlocFormat + nvlink + sources_of(lists_) + numbers_source_ + "; " + request_.pcie_peer_source(),
                      request_.pcie_peer());
}

class HwlocXmlImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return described_options(HwlocXml::keys()); }
  [[nodiscard]] Json run(const ImportRequest& request) const override { return HwlocXml(request).run(); }
};

const bool hwloc_xml_registered =
    importers().add({"hwloc-xml", "lstopo --of xml, and nvidia-smi topo -m for NVLinks -> topology/1",
                     "hwloc documentation, Importing and exporting topologies from/to XML files"},
                    [] { return std::make_unique<HwlocXmlImporter>(); });

}  // namespace

}  // namespace linkcast::topology_import
