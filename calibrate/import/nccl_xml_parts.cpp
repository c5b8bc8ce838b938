#include "calibrate/import/nccl_xml_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "calibrate/import/gpu_facts.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::topology_import {
namespace {

std::string lower_text(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool begins(const std::string& text, const char* start) { return text.starts_with(start); }

/// PCI elements of a file for NCCL_TOPO_FILE.
struct Found {
  std::vector<XmlNode> bare;  ///< GPUs without a gpu element
  bool any_gpu = false;
};

void walk(const XmlNode& above, Found& found) {
  for (XmlNode& pci : above.children("pci")) {
    if (!pci.find("link_speed")) pci.set("link_speed", "");
    if (!pci.find("link_width")) pci.set("link_width", "0");
    const std::string kind = pci.find("class").value_or("");
    if (is_gpu_class(kind) && pci.children("gpu").empty()) found.bare.push_back(pci);
    if (is_gpu_class(kind) && !pci.children("gpu").empty()) found.any_gpu = true;
    if (begins(lower_text(kind), "0x02") && pci.children().empty()) pci.add("nic");
    walk(pci, found);
  }
}

}  // namespace

CpuPart nccl_cpu_part(const XmlNode& node) {
  CpuPart cpu;
  const int numa = node.number("numaid", -1);
  cpu.id = fmt::format("cpu{}", std::max(0, numa));
  if (!node.find("arch")) return cpu;
  const std::string arch = lower_text(node.text("arch")), maker = node.find("vendor").value_or("");
  static const std::map<std::string, std::string> kVendors{
      {"x86_64", ""}, {"ppc64", "ibm"}, {"ppc64le", "ibm"}, {"arm64", "arm"}, {"aarch64", "arm"}};
  const auto known = kVendors.find(arch);
  if (known == kVendors.end()) node.fail("arch", "'" + arch + "' is not known: x86_64, ppc64, ppc64le, arm64, aarch64");
  cpu.vendor = known->second.empty() ? vendor_of_cpuid(maker) : known->second;
  cpu.model = arch + (maker.empty() ? "" : " " + maker);
  if (!node.find("familyid") || !node.find("modelid")) return cpu;
  const int family = node.number("familyid", -1), model = node.number("modelid", -1);
  cpu.model += fmt::format(" family {} model {}", family, model);
  if (cpu.vendor != vendor_of_cpuid("GenuineIntel") || family != 6 || model < 0) return cpu;
  // source: Intel Xeon datasheets: E5/E7 v4 QPI 9.6 GT/s; UPI of Skylake-SP (model 85) 10.4, Ice Lake-SP (106, 108)
  // 11.2, Sapphire Rapids (143) 16 and Emerald Rapids (207) 20 GT/s; 2 bytes a transfer and direction
  cpu.link_kind = model < 85 ? "qpi" : socket_link("intel").kind;
  cpu.link_rate = {model < 85 ? 19.2e9 : model < 106 ? 20.8e9 : model < 143 ? 22.4e9 : model < 207 ? 32e9 : 40e9};
  return cpu;
}

GpuLinkType infinity_fabric_of(int sm) {
  // One link, one direction. source: AMD Instinct data sheets: MI300X and MI325X 7 links of 128 GB/s both ways
  // together, MI355X 7 of 153.6 GB/s; MI250X 100 GB/s, 8 links of a GCD
  constexpr double kMi300_Bps = 64e9, kMi355_Bps = 76.8e9;
  const auto* row = std::find_if(kCableKinds.begin(), kCableKinds.end(),
                                 [](const CableKind& kind) { return kind.trait == CableTrait::kForwarded; });
  const std::string kind(row->name);
  if (sm == 94) return {kind, {kMi300_Bps}, 7};
  if (sm == 95) return {kind, {kMi355_Bps}, 7};
  return {kind, {row->rate_Bps}, 0};
}

bool is_gpu_class(const std::string& pci_class) {
  // source: PCI Code and ID Assignment Specification: 0x03 display, 0x12 processing accelerators
  const std::string kind = lower_text(pci_class);
  return begins(kind, "0x03") || begins(kind, "0x12");
}

std::vector<std::string> complete_nccl_file(const XmlFile& file, const TopologyRequest& request) {
  Found found;
  for (const XmlNode& cpu : file.root().children("cpu")) walk(cpu, found);
  if (found.bare.empty()) return {};
  if (found.any_gpu) found.bare.front().fail("a GPU without gpu element, where others have one");
  const auto name = request.option("gpu");
  if (!name)
    file.root().fail(
        "lists GPUs, but not which: a file for NCCL_TOPO_FILE, to which NCCL adds those that it finds: add option "
        "gpu=MODEL, e.g. gpu=H100");
  const auto model = find_gpu_model(*name);
  if (!model) request.fail("gpu", "'" + *name + "' is a model not known here");
  std::sort(found.bare.begin(), found.bare.end(),
            [](const XmlNode& a, const XmlNode& b) { return a.text("busid") < b.text("busid"); });
  const bool switched = model->nvlinks > 0 && model->nvswitch && request.yes_or_no("nvswitch").value_or(true);
  for (std::size_t i = 0; i < found.bare.size(); ++i) {
    XmlNode gpu = found.bare[i].add("gpu");
    gpu.set("dev", std::to_string(i));
    gpu.set("sm", std::to_string(model->sm));
    if (!switched) continue;
    XmlNode link = gpu.add("nvlink");
    link.set("target", "ffff:ff:ff.0");  // as NCCL writes an NVSwitch that it cannot see
    link.set("count", std::to_string(model->nvlinks));
    link.set("tclass", "0x068000");
  }
  std::vector<std::string> notes = {"assumed: " + *name + " at the bus ids of GPUs, numbered in their order"};
  if (switched && !request.yes_or_no("nvswitch"))
    notes.push_back(
        fmt::format("assumed: the {} NVLinks of each {} lead to NVSwitches, the file holds none (option nvswitch=no)",
                    model->nvlinks, *name));
  if (!switched && model->nvlinks > 0) notes.emplace_back("assumed: no NVLinks, the file holds none");
  return notes;
}

}  // namespace linkcast::topology_import
