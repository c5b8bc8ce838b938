// CPUs of NCCL's topology files, and what files that are written by hand or by clouds leave out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/nccl_xml.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/text.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::topology_import {
namespace {

std::string lower_text(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool begins(const std::string& text, const char* start) { return text.starts_with(start); }

/// PCI elements of GPUs.
struct Found {
  std::vector<XmlNode> bare;  ///< without a gpu element: of a file for NCCL_TOPO_FILE
  std::vector<XmlNode> gpus;  ///< the gpu elements of the others
};

void walk(const XmlNode& above, Found& found) {
  for (XmlNode& pci : above.children("pci")) {
    if (!pci.find("link_speed")) pci.set("link_speed", "");
    if (!pci.find("link_width")) pci.set("link_width", "0");
    const std::string kind = pci.find("class").value_or("");
    const auto gpus = pci.children("gpu");
    if (is_gpu_class(kind) && gpus.empty()) found.bare.push_back(pci);
    if (is_gpu_class(kind)) found.gpus.insert(found.gpus.end(), gpus.begin(), gpus.end());
    if (begins(lower_text(kind), "0x02") && pci.children().empty()) pci.add("nic");
    walk(pci, found);
  }
}

/// NVLinks as NCCL writes them to an NVSwitch that it cannot see.
void add_switched_nvlinks(XmlNode& gpu, int links) {
  XmlNode link = gpu.add("nvlink");
  link.set("target", "ffff:ff:ff.0");
  link.set("count", std::to_string(links));
  link.set("tclass", "0x068000");
}

/// Whether the NVLinks of a model, which a file leaves out, lead to NVSwitches; without the option those that can do.
bool lead_to_nvswitches(const TopologyRequest& request, const GpuModel& model) {
  const auto said = request.yes_or_no("nvswitch");
  if (said == true && model.nvlinks == 0) request.fail("nvswitch", std::string(model.words) + " has no NVLinks");
  if (said == true && !model.nvswitch) request.fail("nvswitch", std::string(model.words) + " hangs on no NVSwitch");
  return model.nvlinks > 0 && model.nvswitch && said.value_or(true);
}

std::string about_nvlinks(const TopologyRequest& request, const GpuModel& model, bool switched) {
  if (model.nvlinks == 0) return "";
  if (!switched) return "assumed: no NVLinks, the file holds none";
  return fmt::format("assumed: the {} NVLinks of each {} lead to NVSwitches, {}", model.nvlinks, model.words,
                     request.yes_or_no("nvswitch") ? "as option nvswitch says: the file holds none"
                                                   : "the file holds none (option nvswitch=no)");
}

/// GPUs with an sm but no NVLinks: of a machine without any, or of a file for NCCL_TOPO_FILE, where NCCL asks the
/// driver for them.
std::vector<std::string> add_left_out_nvlinks(std::vector<XmlNode>& gpus, const TopologyRequest& request) {
  const bool linked = std::any_of(gpus.begin(), gpus.end(), [](const XmlNode& gpu) {
    return gpu.find("gcn") || !gpu.children("nvlink").empty() || !gpu.children("xgmi").empty();
  });
  const auto said = request.yes_or_no("nvswitch");
  if (linked && said) request.fail("nvswitch", "the file itself says where the links of its GPUs lead");
  if (linked) return {};
  const auto model = find_gpu_model(request.option("gpu").value_or(""));
  if (!model && said) request.fail("nvswitch", "needs option gpu=MODEL, which says how many NVLinks a GPU has");
  if (!model && gpus.size() > 1 && nvlink_of(gpus.front().number("sm", 1)))
    return {
        "assumed: no NVLinks, the file names none: a file for NCCL_TOPO_FILE leaves them to the driver, and options "
        "gpu and nvswitch say them"};
  if (!model || (gpus.size() < 2 && !said)) return {};
  const bool switched = lead_to_nvswitches(request, *model);
  for (XmlNode& gpu : gpus)
    if (switched) add_switched_nvlinks(gpu, model->nvlinks);
  const std::string note = about_nvlinks(request, *model, switched);
  return note.empty() ? std::vector<std::string>{} : std::vector{note};
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

bool is_gpu_class(const std::string& pci_class) {
  // source: PCI Code and ID Assignment Specification: 0x03 display, 0x12 processing accelerators
  const std::string kind = lower_text(pci_class);
  return begins(kind, "0x03") || begins(kind, "0x12");
}

std::vector<std::string> complete_nccl_file(const XmlFile& file, const TopologyRequest& request) {
  Found found;
  for (const XmlNode& cpu : file.root().children("cpu")) walk(cpu, found);
  if (found.bare.empty()) return add_left_out_nvlinks(found.gpus, request);
  if (!found.gpus.empty()) found.bare.front().fail("a GPU without gpu element, where others have one");
  const auto name = request.option("gpu");
  if (!name)
    file.root().fail(
        "lists GPUs, but not which: a file for NCCL_TOPO_FILE, to which NCCL adds those that it finds: add option "
        "gpu=MODEL, e.g. gpu=H100");
  const auto model = find_gpu_model(*name);
  if (!model) request.fail("gpu", "'" + *name + "' is a model not known here");
  std::sort(found.bare.begin(), found.bare.end(),
            [](const XmlNode& a, const XmlNode& b) { return a.text("busid") < b.text("busid"); });
  const bool switched = lead_to_nvswitches(request, *model);
  for (std::size_t i = 0; i < found.bare.size(); ++i) {
    XmlNode gpu = found.bare[i].add("gpu");
    gpu.set("dev", std::to_string(i));
    gpu.set("sm", std::to_string(model->sm));
    if (is_amd_model(*model)) found.bare[i].set("vendor", kAmdVendor);
    if (switched) add_switched_nvlinks(gpu, model->nvlinks);
  }
  std::vector<std::string> notes = {"assumed: " + *name + " at the bus ids of GPUs, numbered in their order"};
  if (const std::string note = about_nvlinks(request, *model, switched); !note.empty()) notes.push_back(note);
  if (is_amd_model(*model)) notes.emplace_back("assumed: no xGMI, the file holds none");
  return notes;
}

}  // namespace linkcast::topology_import
