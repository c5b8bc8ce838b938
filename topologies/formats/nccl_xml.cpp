#include "topologies/formats/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>

#include "sim/base/input_error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/structure.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::exporters::nccl {
namespace {

constexpr std::size_t kLongest = 254;  // source: NVIDIA/nccl src/graph/xml.h, MAX_STR_LEN with the end of the string

void check(const std::string& key, const std::string& value) {
  const bool printable = value.find_first_of("\"<>&\r\n") == std::string::npos;
  if (!printable || value.size() > kLongest)
    throw InputError(fmt::format(
        "'{}' cannot be the {} of a file for NCCL: no quotes, <, > or &, at most {} characters", value, key, kLongest));
}

void write(const Element& element, const std::string& indent, std::string& out) {
  out += indent + "<" + element.name;
  for (const auto& [key, value] : element.attributes) {
    check(key, value);
    out += " ";
    out += key;
    out += "=\"" + value + "\"";
  }
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const Element& child : element.children) write(child, indent + "  ", out);
  out += indent + "</" + element.name + ">\n";
}

}  // namespace

std::string to_text(const Element& root) {
  std::string text;
  write(root, "", text);
  return text;
}

namespace {

using Attributes = CpuIdentity;

// source: PCI Code and ID Assignment Specification, and the classes that NVIDIA/nccl src/graph/topo.cc looks for
const std::string kSwitchClass = "0x060400", kGpuClass = "0x030200", kNicClass = "0x020700";
const std::string kNvswitchClass = "0x068000", kCpuClass = "0x068001";
constexpr int kNvswitchDomain = 0x1000;  // ours: above the domains of all CPUs
constexpr int kMostBuses = 255;          // of a PCI domain, besides bus 0

std::string bus_id(int domain, int bus) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:00.0", static_cast<unsigned>(domain), static_cast<unsigned>(bus));
  return text.data();
}

std::pair<std::string, std::string> whole(const char* name, long long value) { return {name, std::to_string(value)}; }

/// Speed and width as the kernel prints them; both are empty for a GPU without a PCIe cable, as in NCCL's own files of
/// machines whose kernel does not say.
Attributes port_of(const Cable* cable) {
  if (!cable) return {{"link_speed", ""}, {"link_width", "0"}};
  const int generation = cable_generation(cable->kind);
  const auto lane = pcie_lane(generation);
  const long lanes = lane ? std::lround(cable->count * (cable->reported_bandwidth() / *lane)) : 0;
  constexpr long most = 32;  // source: PCI Express Base Specification, widest link
  if (lanes < 1 || lanes > most)
    throw InputError(cable->id + ": " + cable->kind + " of this bandwidth is no PCIe link of 1 to 32 lanes");
  return {{"link_speed", pcie_transfers(generation) + " GT/s PCIe"}, whole("link_width", lanes)};
}

class Writer {
 public:
  explicit Writer(const Topology& topology) : topology_(topology), bus_(size()), cpu_(size(), -1) {}

  std::string text() {
    refuse_foreign();
    Element system{"system", {{"version", "1"}}, {}};
    const std::vector<int> cpus = of_kind(DeviceKind::kCpu);
    for (std::size_t i = 0; i < cpus.size(); ++i) place_below(cpus[i], cpus[i], static_cast<int>(i));
    const std::vector<int> switches = of_kind(DeviceKind::kNvswitch);
    for (std::size_t i = 0; i < switches.size(); ++i)
      bus_[index(switches[i])] = bus_id(kNvswitchDomain, static_cast<int>(i) + 1);
    for (std::size_t d = 0; d < size(); ++d)
      if (bus_[d].empty() && (kind(d) == DeviceKind::kGpu || kind(d) == DeviceKind::kNic))
        throw InputError(topology_.devices[d].id + ": hangs on no CPU, so NCCL's topology has no place for it");
    for (std::size_t i = 0; i < cpus.size(); ++i) system.children.push_back(cpu_element(cpus[i], static_cast<int>(i)));
    return to_text(system);
  }

 private:
  static std::size_t index(int device) { return static_cast<std::size_t>(device); }
  [[nodiscard]] std::size_t size() const { return topology_.devices.size(); }
  [[nodiscard]] DeviceKind kind(std::size_t device) const { return topology_.devices[device].kind; }
  [[nodiscard]] const Device& device(int number) const { return topology_.devices[index(number)]; }

  [[nodiscard]] std::vector<int> of_kind(DeviceKind wanted) const {
    std::vector<int> found;
    for (std::size_t d = 0; d < size(); ++d)
      if (kind(d) == wanted) found.push_back(static_cast<int>(d));
    return found;
  }

  void refuse_foreign() const {
    for (const Cable& cable : topology_.cables)
      if (is_accelerator_cable(cable.kind) && find_cable_kind(cable.kind)->maker != "nvidia")
        throw InputError(cable.id + ": NCCL's topology has no word for " + cable.kind);
  }

  /// End of a cable that is not this device, -1 if the cable is elsewhere.
  static int other_end(const Cable& cable, int at) { return cable.a == at ? cable.b : cable.b == at ? cable.a : -1; }
  [[nodiscard]] bool has_pcie(int at) const {
    return std::any_of(topology_.cables.begin(), topology_.cables.end(),
                       [&](const Cable& c) { return is_pcie_cable(c.kind) && other_end(c, at) >= 0; });
  }

  struct Child {
    int device;
    const Cable* cable;  ///< nullptr: joined to the CPU by NVLink or C2C only
  };

  [[nodiscard]] std::vector<Child> children(int at, int parent) const {
    std::vector<Child> found;
    for (const Cable& cable : topology_.cables) {
      const int other = other_end(cable, at);
      if (other < 0 || other == parent) continue;
      const bool gpu_of_cpu = device(at).kind == DeviceKind::kCpu && device(other).kind == DeviceKind::kGpu;
      const auto known = [&](const Child& child) { return child.device == other; };
      if (is_pcie_cable(cable.kind))
        found.push_back({other, &cable});
      else if (gpu_of_cpu && is_accelerator_cable(cable.kind) && !has_pcie(other) &&
               std::none_of(found.begin(), found.end(), known))
        found.push_back({other, nullptr});
    }
    std::stable_sort(found.begin(), found.end(), [](const Child& a, const Child& b) { return a.device < b.device; });
    return found;
  }

  void place_below(int at, int cpu, int domain) {
    cpu_[index(at)] = cpu;
    for (const Child& child : children(at, at == cpu ? -1 : parent_of_[index(at)])) {
      const Device& below = device(child.device);
      if (below.kind == DeviceKind::kCpu || cpu_[index(child.device)] >= 0)
        throw InputError(below.id + ": hangs in two places, and NCCL's topology is a tree below each CPU");
      if (at != cpu && device(at).kind != DeviceKind::kPcieSwitch)
        throw InputError(below.id + ": hangs on " + device(at).id + ", which is no PCIe switch");
      if (++buses_[domain] > kMostBuses) throw InputError(below.id + ": more than 255 PCI buses below one CPU");
      bus_[index(child.device)] = bus_id(domain, buses_[domain]);
      parent_of_[index(child.device)] = at;
      place_below(child.device, cpu, domain);
    }
  }

  [[nodiscard]] Element cpu_element(int cpu, int number) {
    Element element{"cpu", {{"host_hash", "0x1"}, whole("numaid", number)}, {}};
    for (auto& attribute : cpu_identity(device(cpu))) element.attributes.push_back(std::move(attribute));
    for (const Child& child : children(cpu, -1)) element.children.push_back(pci_element(child, cpu));
    return element;
  }

  [[nodiscard]] Element pci_element(const Child& at, int parent) {
    const Device& shown = device(at.device);
    const bool gpu = shown.kind == DeviceKind::kGpu, nic = shown.kind == DeviceKind::kNic;
    const std::string vendor = gpu ? "0x10de" : "0x0000";  // NVIDIA; the others' makers are not in a topology
    Element pci{"pci",
                {{"busid", bus_[index(at.device)]},
                 {"class", gpu   ? kGpuClass
                           : nic ? kNicClass
                                 : kSwitchClass},
                 {"vendor", vendor},
                 {"device", "0x0000"},
                 {"subsystem_vendor", vendor},
                 {"subsystem_device", "0x0000"}},
                {}};
    for (auto& attribute : port_of(at.cable)) pci.attributes.push_back(std::move(attribute));
    if (gpu) pci.children.push_back(gpu_element(at.device));
    if (nic) pci.children.push_back(nic_element(shown));
    if (!gpu && !nic)
      for (const Child& child : children(at.device, parent)) pci.children.push_back(pci_element(child, at.device));
    return pci;
  }

  [[nodiscard]] Element gpu_element(int at) const {
    const auto& gpus = topology_.gpus();
    const auto number = std::find(gpus.begin(), gpus.end(), at) - gpus.begin();
    Element gpu{"gpu", {whole("dev", number), whole("sm", device(at).sm), whole("rank", number), {"gdr", "1"}}, {}};
    std::vector<const Cable*> cables;
    for (const Cable& cable : topology_.cables)
      if (is_accelerator_cable(cable.kind) && other_end(cable, at) >= 0) cables.push_back(&cable);
    std::stable_sort(cables.begin(), cables.end(), [&](const Cable* a, const Cable* b) {
      const int to_a = other_end(*a, at), to_b = other_end(*b, at);
      return std::pair(device(to_a).kind, to_a) < std::pair(device(to_b).kind, to_b);
    });
    for (const Cable* cable : cables) gpu.children.push_back(link_element(*cable, at));
    return gpu;
  }

  [[nodiscard]] Element link_element(const Cable& cable, int gpu) const {
    const int other = other_end(cable, gpu);
    const DeviceKind end = device(other).kind;
    const auto count = whole("count", cable.count);
    if (end == DeviceKind::kCpu && cpu_[index(gpu)] != other)
      throw InputError(cable.id + ": NCCL's topology knows links to the CPU above the GPU only, " +
                       device(cpu_[index(gpu)]).id);
    if (trait_of(cable.kind) == CableTrait::kChip && end == DeviceKind::kCpu)  // in MB/s
      return {"c2c", {whole("bw", std::llround(cable.bandwidth.si / 1e6)), count}, {}};
    if (end == DeviceKind::kCpu)  // whose bus id NCCL does not look at
      return {"nvlink", {{"target", bus_id(4, 0)}, count, {"tclass", kCpuClass}}, {}};
    if (end != DeviceKind::kGpu && end != DeviceKind::kNvswitch)
      throw InputError(cable.id + ": NCCL's topology has NVLinks to GPUs, NVSwitches and CPUs only");
    const std::string& tclass = end == DeviceKind::kGpu ? kGpuClass : kNvswitchClass;
    return {"nvlink", {{"target", bus_[index(other)]}, count, {"tclass", tclass}}, {}};
  }

  /// Names are the topology's; Mb/s from the model where it says Gb/s, else NCCL takes its default.
  [[nodiscard]] Element nic_element(const Device& nic) {
    const int number = nics_++;
    Element net{"net", {{"name", nic.id}, whole("dev", number)}, {}};
    if (const Match found = Regex("([0-9]{1,9}) Gb/s").find(nic.model))
      net.attributes.push_back(whole("speed", std::stol(found[1]) * 1000));
    else if (const Match slower = Regex("([0-9]{1,9}) Mb/s").find(nic.model))
      net.attributes.emplace_back("speed", slower[1]);
    for (const auto& [key, value] : Attributes{{"port", "1"},
                                               {"latency", "0.000000"},
                                               {"guid", fmt::format("0x100{}", number)},
                                               {"maxconn", "131072"},
                                               {"gdr", "1"}})
      net.attributes.emplace_back(key, value);
    return {"nic", {}, {net}};
  }

  const Topology& topology_;
  std::vector<std::string> bus_;  ///< by device; empty: not placed
  std::vector<int> cpu_;          ///< by device: CPU above
  std::map<std::size_t, int> parent_of_;
  std::map<int, int> buses_;  ///< by domain
  int nics_ = 0;
};

}  // namespace

std::string topology_xml(const Topology& topology) { return Writer(topology).text(); }

namespace {

/// Numbers of patterns in the file. @source  NVIDIA/nccl src/include/graph.h, NCCL_TOPO_PATTERN_*
enum class Pattern { kBalancedTree = 1, kSplitTree = 2, kTree = 3, kRing = 4 };

/// Up to 2.7 trees branch at the first GPU and the NIC of the second, from 2.8 on at two GPUs, or at one.
Pattern tree_pattern(const Communicator& communicator) {
  if (communicator.library == "nccl-2.7") return Pattern::kSplitTree;
  return communicator.plain_trees ? Pattern::kTree : Pattern::kBalancedTree;
}

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Element channel_of(const std::vector<int>& order) {
  Element channel{"channel", {}, {}};
  for (const int gpu : order) channel.children.push_back({"gpu", {whole("dev", gpu)}, {}});
  return channel;
}

template <class Channels>
bool in_one_order(const Channels& channels) {
  return std::all_of(channels.begin(), channels.end(),
                     [&](const auto& channel) { return channel.order == channels.front().order; });
}

/// The speed between nodes repeats the one inside, and PIX is what NCCL says of NICs where it uses none.
template <class Channels>
Element graph_of(int id, Pattern pattern, const Channels& channels, BytesPerSecond speed, const std::string& type,
                 bool same) {
  const std::string each = number(speed.si / kGiga);
  Element graph{"graph",
                {whole("id", id),
                 whole("pattern", static_cast<int>(pattern)),
                 {"crossnic", "0"},
                 whole("nchannels", static_cast<long long>(channels.size())),
                 {"speedintra", each},
                 {"speedinter", each},
                 {"latencyinter", "0"},
                 {"typeintra", type},
                 {"typeinter", "PIX"},
                 {"samechannels", same ? "1" : "0"}},
                {}};
  for (const auto& channel : channels) graph.children.push_back(channel_of(channel.order));
  return graph;
}

}  // namespace

std::string graph_xml(const Communicator& communicator) {
  if (communicator.trees.empty())
    throw InputError(communicator.library +
                     " has no graphs: NCCL reads NCCL_GRAPH_FILE from 2.5 on, set library to nccl-2.7 or "
                     "later");
  return to_text({"graphs",
                  {{"version", "1"}},
                  {graph_of(0, Pattern::kRing, communicator.channels, communicator.library_channel_bandwidth,
                            communicator.path_class, communicator.one_order),
                   graph_of(1, tree_pattern(communicator), communicator.trees, communicator.tree_channel_bandwidth,
                            communicator.tree_class, in_one_order(communicator.trees))}});
}

}  // namespace linkcast::exporters::nccl
