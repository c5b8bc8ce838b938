// Topology file of NCCL (NCCL_TOPO_DUMP_FILE or NCCL_TOPO_FILE, version 1) or RCCL (version 2) -> topology/1.
// Limits: NCCL merges all NVSwitches into one and leaves out what no GPU or adapter of the job hangs on. Adapters
// without a PCI device (virtual ones) have no place here and are named in the source of the record.
#include "calibrate/import/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/text.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::topology_import {
namespace {

const std::string kNcclFormat = "NCCL topology dump";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Above a device: its width and generation, and what the source of its cable says.
struct PciePort {
  PcieLink link;
  std::string source;
};

struct Gpu {
  XmlNode node;
  std::string bus, parent, cpu, vendor;
  int sm = 0;
  PciePort port;
  bool amd = false;
  std::string model{};  ///< empty: not known
};

/// Parent of a pci element: its device, and the CPU above.
struct Parent {
  std::string id, cpu, vendor;
};

/// Broadcom's switches of PCIe 4 and 5 show as two levels with the port between them at 5 GT/s; NCCL makes one of them.
/// @source  NVIDIA/nccl src/graph/topo.cc, ncclTopoFlattenBcmSwitches: vendor, device, level in the subsystem's device
bool is_inside_broadcom(const XmlNode& outer, const XmlNode& inner) {
  const auto said = [](const XmlNode& node, const char* key) { return lower(node.find(key).value_or("")); };
  static const std::set<std::string> kDevices{"0xc010", "0xc030"};
  const std::string device = said(outer, "device");
  if (said(outer, "vendor") != "0x1000" || said(inner, "vendor") != "0x1000") return false;
  if (kDevices.count(device) == 0 || said(inner, "device") != device) return false;
  const std::string top = said(outer, "subsystem_device"), below = said(inner, "subsystem_device");
  if (top.size() < 3 || below.size() < 3) return true;  // not said
  const bool newer = device == "0xc030";
  const std::size_t digits = 6;  // "0x1003": the first of four digits is the level
  const char level = below.size() == digits ? below[2] : '0', above = top.size() == digits ? top[2] : '0';
  return newer ? above == '0' && level == '1' : above == 'a' && level == 'b';
}

const std::set<std::string> kOptions = {"gpu", "nvlink", "nvswitch", "pcie", "pcie_peer", "partial"};

class NcclXml {
 public:
  NcclXml(const ImportRequest& request, XmlFile file, bool told)
      : request_(request, kOptions, 1),
        told_(told),
        partial_(told || request_.yes_or_no("partial").value_or(false)),
        file_(std::move(file)) {}
  Json run();

 private:
  void read_cpu(const XmlNode& node);
  void read_pci(const XmlNode& node, const Parent& parent);
  void read_switch(const XmlNode& node, const Parent& parent);
  void read_below(const XmlNode& node, const Parent& here);
  void find_slow_uplinks();
  void identify_amd(Gpu& gpu, const XmlNode& pci) const;
  void read_gpu(const XmlNode& node, const XmlNode& pci, const Parent& parent);
  void read_nic(const XmlNode& node, const XmlNode& pci, const Parent& parent);
  void number_gpus();
  [[nodiscard]] PciePort port_of(const XmlNode& pci) const;
  void add_pcie_links();
  void add_nvlinks();
  void read_links_of(std::size_t gpu);
  [[nodiscard]] std::string nvlink_target(const XmlNode& link, std::size_t gpu);
  [[nodiscard]] GpuLinkType link_type(const Gpu& gpu) const;
  [[nodiscard]] std::optional<std::size_t> find_gpu(const std::string& bus) const;
  std::string notes() const;

  TopologyRequest request_;
  bool told_, partial_;
  XmlFile file_;
  TopologyWriter writer_;
  std::vector<CpuPart> cpus_;
  std::vector<Gpu> gpus_;
  std::map<int, std::size_t> by_dev_;
  struct Device {  // a switch or an adapter
    XmlNode node;
    std::string id, kind, model, parent;
    PciePort port;
  };
  std::vector<Device> devices_;
  std::map<std::string, std::string> switches_;    // bus id -> PCIe switch
  std::map<std::string, std::string> nvswitches_;  // target -> NVSwitch
  struct Bundle {
    int count = 0;
    std::string source;
  };
  std::map<std::pair<std::size_t, std::string>, Bundle> bundles_;  // GPU, other end
  std::vector<std::string> left_out_, findings_;
  std::set<std::string> merged_;  ///< switches that PCI shows as two levels
  int adapters_ = 0, pcie_switches_ = 0;
};

void NcclXml::read_cpu(const XmlNode& node) {
  cpus_.push_back(nccl_cpu_part(node));
  for (std::size_t i = 0; i + 1 < cpus_.size(); ++i)
    if (cpus_[i].id == cpus_.back().id)
      node.fail("numaid", "two CPUs with the same node: a dump of several hosts is not read");
  const Parent parent{cpus_.back().id, cpus_.back().id, cpus_.back().vendor};
  node.for_each_child({{"pci", [&](const XmlNode& pci) { read_pci(pci, parent); }},
                       {"nic",
                        [&](const XmlNode& nic) {
                          for (const XmlNode& net : nic.children("net"))
                            left_out_.push_back(net.text("name") + ", no PCI device");
                        }}},
                      "unknown element: a cpu holds pci and nic");
}

/// "16.0" and "16" are of generation 4; 0: of none.
int pcie_generation(const std::string& transfers) {
  for (int generation = 1; pcie_lane(generation); ++generation)
    if (transfers == pcie_transfers(generation) || transfers + ".0" == pcie_transfers(generation)) return generation;
  return 0;
}

/// Generation and width as NCCL writes them; what the kernel did not say is taken as NCCL takes it.
PciePort NcclXml::port_of(const XmlNode& pci) const {
  const std::string speed = pci.text("link_speed");  // complete_nccl_file() has put it there
  const int width = pci.number("link_width", 0);
  std::string number = speed;
  for (const std::string suffix : {" PCIe", " GT/s"})
    if (number.size() > suffix.size() && number.compare(number.size() - suffix.size(), suffix.size(), suffix) == 0)
      number.resize(number.size() - suffix.size());
  const int generation = pcie_generation(number);
  const bool unknown_speed = speed.empty() || speed.starts_with("Unknown");
  if (generation == 0 && !unknown_speed)
    pci.fail("link_speed", "'" + speed + "' is no speed of PCI Express, e.g. '16.0 GT/s PCIe', or Unknown");
  const bool unknown_width = width == 0 || width == 255;  // sysfs of links that are down
  if (!unknown_width && width > 32) pci.fail("link_width", "at most 32 lanes");
  const std::string source = kNcclFormat + ": link_speed " + (unknown_speed ? "unknown" : speed) + ", link_width " +
                             (unknown_width ? "unknown" : std::to_string(width));
  if (!unknown_speed && !unknown_width) return {{generation, width}, source};
  if (const auto option = request_.pcie()) return {*option, source + "; as option pcie says"};
  const PcieLink link{unknown_speed ? 3 : generation, unknown_width ? 16 : width};
  return {link, "assumed: " + link.text() + ", as NCCL does; " + source};
}

void NcclXml::read_pci(const XmlNode& node, const Parent& parent) {
  const std::string kind = lower(node.text("class"));
  const auto is = [&](const char* start) { return kind.starts_with(start); };
  bool inner = false;
  XmlNode::Handlers handlers;  // of what a device of this class holds
  if (is_gpu_class(kind)) handlers["gpu"] = [&](const XmlNode& gpu) { read_gpu(gpu, node, parent); };
  if (is("0x0604"))
    handlers["pci"] = handlers["pcilink"] = [&](const XmlNode&) { inner = true; };
  else if (!is_gpu_class(kind))  // 0x02 network, 0x0801 ConnectX-8's Data Direct, 0x0c06 InfiniBand, ...
    handlers["nic"] = [&](const XmlNode& nic) { read_nic(nic, node, parent); };
  node.for_each_child(handlers,
                      "unknown element: a pci of class 0x03.... and 0x12.... holds gpu, 0x0604.. pci and pcilink, "
                      "others nic; this is " +
                          kind);
  if (inner) read_switch(node, parent);
}

void NcclXml::read_switch(const XmlNode& node, const Parent& parent) {
  const std::string id = fmt::format("plx{}", pcie_switches_++);
  if (!switches_.emplace(lower(node.text("busid")), id).second) node.fail("busid", "is listed twice");
  devices_.push_back({node, id, "pcie_switch", "", parent.id, port_of(node)});
  read_below(node, {id, parent.cpu, parent.vendor});
}

void NcclXml::read_below(const XmlNode& node, const Parent& here) {
  for (const XmlNode& child : node.children("pci")) {
    if (!is_inside_broadcom(node, child)) {
      read_pci(child, here);
      continue;
    }
    if (!switches_.emplace(lower(child.text("busid")), here.id).second) child.fail("busid", "is listed twice");
    merged_.insert(here.id);
    read_below(child, here);
  }
}

/// A port that carries a fraction of what hangs below it is seldom a cable.
void NcclXml::find_slow_uplinks() {
  constexpr double kFraction = 4;  // source: ours; boards share an uplink among two devices at most
  for (const Device& above : devices_) {
    double widest = 0;
    for (const Device& device : devices_)
      if (device.parent == above.id) widest = std::max(widest, device.port.link.rate().si);
    for (const Gpu& gpu : gpus_)
      if (gpu.parent == above.id) widest = std::max(widest, gpu.port.link.rate().si);
    if (above.port.link.rate().si * kFraction > widest) continue;
    findings_.push_back(fmt::format(
        "finding: {} hangs at {} by {}, {}, and what is below it by {}: kernels print such figures for ports inside a "
        "chip; correct link_speed and link_width of {} if that is one",
        above.id, above.parent, above.port.link.text(), rate_text(above.port.link.rate()), rate_text({widest}),
        above.node.text("busid")));
  }
}

void NcclXml::read_gpu(const XmlNode& node, const XmlNode& pci, const Parent& parent) {
  const int dev = node.number("dev", 0);
  Gpu gpu{node, lower(pci.text("busid")), parent.id, parent.cpu, parent.vendor, 0, port_of(pci)};
  gpu.amd = lower(pci.find("vendor").value_or("")) == kAmdVendor || node.find("gcn") || !node.children("xgmi").empty();
  gpu.model = request_.option("gpu").value_or("");
  if (gpu.amd)
    identify_amd(gpu, pci);
  else
    gpu.sm = node.number("sm", 1);
  if (find_gpu(gpu.bus)) pci.fail("busid", "is listed twice");
  if (!by_dev_.emplace(dev, gpus_.size()).second) node.fail("dev", "is listed twice");
  gpus_.push_back(std::move(gpu));
}

/// RCCL's sm is the number of compute units in some of its versions: gcn and the PCI device identify the GPU.
void NcclXml::identify_amd(Gpu& gpu, const XmlNode& pci) const {
  const std::string device = amd_model_of_pci(pci.find("device").value_or(""));
  const auto named = find_gpu_model(gpu.model), listed = find_gpu_model(device);
  if (named && (!is_amd_model(*named) || (listed && !names_model(device, *named))))
    request_.fail("gpu", "'" + gpu.model + "' is not what the file lists: " + (listed ? device : "a GPU of AMD"));
  if (gpu.model.empty()) gpu.model = device;
  const auto gfx = gpu.node.find("gcn");
  auto sm = gfx ? sm_of_gfx(*gfx) : std::nullopt;
  if (gfx && !sm) gpu.node.fail("gcn", "'" + *gfx + "' is no number of a GPU of AMD, e.g. gfx90a or 910");
  const auto model = find_gpu_model(gpu.model);
  if (sm && model && model->sm != *sm) gpu.node.fail("gcn", fmt::format("'{}' is no {}", *gfx, gpu.model));
  if (!sm && model) sm = model->sm;
  if (!sm && std::any_of(kGpuModels.begin(), kGpuModels.end(),
                         [&](const GpuModel& row) { return is_amd_model(row) && row.sm == gpu.node.number("sm", 1); }))
    sm = gpu.node.number("sm", 1);
  if (!sm)
    gpu.node.fail("sm",
                  "is the number of compute units, and nothing else says which GPU this is: add option gpu=MODEL, "
                  "one of " +
                      amd_model_names());
  gpu.sm = *sm;
  if (gpu.model.empty()) gpu.model = "AMD GPU" + (gfx ? " (gcn " + *gfx + ")" : "");
  if (!model && gpu.model.find("AMD") == std::string::npos) gpu.model = "AMD " + gpu.model;
}

void NcclXml::read_nic(const XmlNode& node, const XmlNode& pci, const Parent& parent) {
  std::string model;
  const auto read_net = [&](const XmlNode& net) {
    const auto speed = net.find("speed");
    model += (model.empty() ? "" : "; ") + net.text("name") + (speed ? ", " + *speed + " Mb/s" : "");
  };
  node.for_each_child({{"net", read_net}}, "unknown element: a nic holds net");
  const std::string id = fmt::format("nic{}", adapters_++);
  devices_.push_back({pci, id, "nic", model, parent.id, port_of(pci)});
}

std::optional<std::size_t> NcclXml::find_gpu(const std::string& bus) const {
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    if (gpus_[i].bus == bus) return i;
  return std::nullopt;
}

/// GPUs in the order of dev, which must count from 0 unless the dump is said to be partial.
void NcclXml::number_gpus() {
  if (gpus_.empty()) file_.root().fail("no gpu");
  std::vector<Gpu> ordered;
  for (const auto& [dev, index] : by_dev_) {
    const auto expected = static_cast<int>(ordered.size());
    if (dev != expected && !partial_)
      gpus_[index].node.fail(
          "dev", fmt::format("dev {} is missing: option partial=yes numbers the GPUs that are there from 0", expected));
    if (dev != expected) left_out_.push_back(fmt::format("dev {} is called gpu{}", dev, expected));
    ordered.push_back(std::move(gpus_[index]));
  }
  gpus_ = std::move(ordered);
}

GpuLinkType NcclXml::link_type(const Gpu& gpu) const {
  if (gpu.amd) return infinity_fabric_of(gpu.sm, gpu.model);
  const auto known = nvlink_of(gpu.sm);
  const auto option = request_.number("nvlink");
  if (known && option && known->generation != *option)
    request_.fail("nvlink", fmt::format("GPUs of sm {} have NVLink {}", gpu.sm, known->generation));
  if (known) return {known->kind(), known->rate, known->links};
  if (option)
    if (const auto type = nvlink_of_generation(*option)) return {type->kind(), type->rate, type->links};
  gpu.node.fail("sm", fmt::format("no NVLink is known for compute capability {}: option nvlink={} says which it is",
                                  gpu.sm, known_generations(CableFamily::kAccelerator)));
}

/// Device at the other end; empty if it is to be left out.
std::string NcclXml::nvlink_target(const XmlNode& link, std::size_t gpu) {
  const std::string target = lower(link.text("target")), kind = lower(link.text("tclass"));
  const auto is = [&](const char* start) { return kind.starts_with(start); };
  if (is_gpu_class(kind)) {
    const auto other = find_gpu(target);
    if (other == gpu) link.fail("target", "a GPU has no link to itself");
    if (other) return fmt::format("gpu{}", *other);
    if (!partial_) link.fail("target", "no gpu with busid '" + target + "': option partial=yes leaves such links out");
    left_out_.push_back(fmt::format("NVLinks of gpu{} to {}", gpu, target));
    return "";
  }
  if (kind == "0x068001" || (is("0x0604") && gpus_[gpu].vendor == "ibm")) return gpus_[gpu].cpu;
  if (kind != "0x068000")
    link.fail("tclass", "'" + kind + "' is not known: 0x03.... a GPU, 0x068000 an NVSwitch, 0x068001 a CPU");
  const bool hidden = target.starts_with("ffff");
  const auto [at, is_new] = nvswitches_.try_emplace(hidden ? "" : target, fmt::format("nvs{}", nvswitches_.size()));
  if (is_new) writer_.device(at->second, "nvswitch", "", "baseboard0");
  return at->second;
}

void NcclXml::read_links_of(std::size_t gpu) {
  if (const auto c2c = gpus_[gpu].node.children("c2c"); c2c.size() > 1) c2c[1].fail("a GPU has one c2c");
  for (const XmlNode& link : gpus_[gpu].node.children()) {
    const int count = link.number("count", 1);
    if (count > 999) link.fail("count", "more links than any GPU has");
    if (link.name() == "nvlink" || link.name() == "xgmi") {
      const std::string target = nvlink_target(link, gpu);
      if (target.empty()) continue;
      Bundle& bundle = bundles_[{gpu, target}];
      bundle.count += count;
      const bool merged = target.starts_with("nvs") && nvswitches_.count("") != 0;
      bundle.source =
          kNcclFormat + ": " + link.name() + " count" +
          (merged ? "; assumed: one device stands for all NVSwitches, which the dump does not tell apart" : "") +
          "; nominal rate of the generation from the datasheet, one direction";
    } else if (link.name() == "c2c") {
      const int each = link.number("bw", 1);  // MB/s
      if (each > 9'999'999) link.fail("bw", "faster than any link, in MB/s");
      writer_.cable(fmt::format("gpu{}", gpu), gpus_[gpu].cpu, "c2c", count, {each * 1e6},
                    kNcclFormat + ": c2c count and bw, in MB/s");
    } else {
      link.fail("unknown element: a gpu holds nvlink, xgmi and c2c");
    }
  }
}

void NcclXml::add_nvlinks() {
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) read_links_of(gpu);
  std::map<std::size_t, int> links;
  for (const auto& [ends, bundle] : bundles_) {
    const auto& [gpu, target] = ends;
    const GpuLinkType type = link_type(gpus_[gpu]);
    if ((links[gpu] += bundle.count) > type.links && type.links > 0 && !told_ && !gpus_[gpu].amd)
      gpus_[gpu].node.fail(fmt::format("more NVLinks than the {} that GPUs of sm {} have", type.links, gpus_[gpu].sm));
    int count = bundle.count;
    if (target.starts_with("gpu")) {
      const auto other = static_cast<std::size_t>(*whole_number(target.substr(3)));
      const auto back = bundles_.find({other, fmt::format("gpu{}", gpu)});
      const int returned = back == bundles_.end() ? 0 : back->second.count;
      if (link_type(gpus_[other]).kind != type.kind)
        gpus_[gpu].node.fail("NVLinks to " + target + ", which has NVLinks of another generation");
      if (returned != bundle.count && told_)  // of a file that is written by hand, no finding
        gpus_[gpu].node.fail(fmt::format("{} NVLinks to {}, which has {} back", bundle.count, target, returned));
      if (returned != bundle.count && (other > gpu || returned == 0))  // a broken link shows so
        findings_.push_back(fmt::format("finding: {} links of gpu{} to {}, {} back: taken as {}", bundle.count, gpu,
                                        target, returned, std::min(count, returned)));
      count = std::min(count, returned);
      if (other < gpu || count == 0) continue;  // its own turn has added the cable
    }
    writer_.cable(fmt::format("gpu{}", gpu), target, type.kind, count, type.rate, bundle.source);
  }
}

void NcclXml::add_pcie_links() {
  std::set<std::pair<std::string, std::string>> done;
  for (const Device& device : devices_)
    for (const XmlNode& link : device.node.children("pcilink")) {
      const auto target = switches_.find(lower(link.text("target")));
      if (target == switches_.end() || target->second == device.id)
        link.fail("target", "no other PCIe switch has this busid");
      if (!done.insert(std::minmax(device.id, target->second)).second) continue;  // both ends list it
      writer_.cable(device.id, target->second, device.port.link.kind(), 1, device.port.link.rate(),
                    kNcclFormat + ": pcilink; assumed: as wide as the switch's uplink");
    }
}

std::string NcclXml::notes() const {
  std::string text;
  for (const std::string& what : findings_) text += "; " + what;
  if (!merged_.empty())
    text += "; assumed: one Broadcom switch where PCI shows two levels of it, as NCCL takes it: " + joined(merged_);
  bool first = true;
  for (const std::string& what : left_out_) {
    text += (first ? "; left out or renamed: " : "; ") + what;
    first = false;
  }
  return text;
}

Json NcclXml::run() {
  const XmlNode root = file_.root_named("system", "not a topology file of NCCL");
  static const std::set<std::string> kVersions{"1", "2"};
  if (kVersions.count(root.text("version")) == 0)
    root.fail("version", "'" + root.text("version") + "' is neither 1 nor RCCL's 2");
  if (!told_) findings_ = complete_nccl_file(file_, request_);
  root.for_each_child({{"cpu", [&](const XmlNode& cpu) { read_cpu(cpu); }}}, "unknown element: a system holds cpu");
  number_gpus();
  find_slow_uplinks();
  std::vector<GpuFacts> facts(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Gpu& gpu = gpus_[i];
    const auto known = find_gpu_model(gpu.model);
    if (known && known->sm != gpu.sm)
      request_.fail("gpu", fmt::format("'{}' has {}, the file {}", gpu.model, known->sm, gpu.sm));
    if (known && is_amd_model(*known) != gpu.amd) request_.fail("gpu", "'" + gpu.model + "': the file's are of NVIDIA");
    facts[i].sm = gpu.sm;
    facts[i].model = gpu.model;
    facts[i].bus_id = pci_bus_id(gpu.bus);
  }
  add_gpus(writer_, facts);
  add_cpus(writer_, cpus_);
  for (const Device& device : devices_) writer_.device(device.id, device.kind, device.model);
  add_nvlinks();
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    writer_.cable(fmt::format("gpu{}", i), gpus_[i].parent, gpus_[i].port.link.kind(), 1, gpus_[i].port.link.rate(),
                  gpus_[i].port.source);
  for (const Device& device : devices_)
    writer_.cable(device.id, device.parent, device.port.link.kind(), 1, device.port.link.rate(), device.port.source);
  add_pcie_links();
  join_cpus(writer_, cpus_);
  return writer_.json(request_.name(), title_of(facts), kNcclFormat + notes() + "; " + request_.pcie_peer_source(),
                      request_.pcie_peer());
}

class NcclXmlImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return described_options(kOptions); }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    return NcclXml(request, XmlFile(request.files.front()), false).run();
  }
};

const bool nccl_xml_registered =
    importers().add({"nccl-xml", "NCCL's or RCCL's NCCL_TOPO_DUMP_FILE, or a cloud's NCCL_TOPO_FILE -> topology/1",
                     "NVIDIA/nccl src/graph/xml.cc and topo.cc, environment NCCL_TOPO_DUMP_FILE"},
                    [] { return std::make_unique<NcclXmlImporter>(); });

}  // namespace

Json told_record(const ImportRequest& request, XmlFile file) { return NcclXml(request, std::move(file), true).run(); }

}  // namespace linkcast::topology_import
