#pragma once
// Discovery of a machine by itself: the answers of CUDA, NVML and sysfs that linkcast-bench writes down; and the
// topology/1 that they make, a pure function of them. Cables that they leave open are marked "assumed: ..." in the
// source of the cable. The topology is header only: linkcast-bench is built without our libraries.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/records/gpu_models.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast {

/// The far end of one active NVLink.
struct DiscoveredLink {
  std::string kind;  ///< gpu, npu, switch or unknown
  std::string pci;   ///< bus id; empty if the driver hides it
};

struct DiscoveredGpu {
  std::string model, pci;
  int sm = 0;                               ///< compute capability x 10
  int numa_node = -1;                       ///< -1: not known
  std::vector<std::string> pci_path;        ///< bridges from the root port down, the GPU last
  int pcie_generation = 0, pcie_width = 0;  ///< the most that GPU and slot can do; 0: not known
  std::vector<DiscoveredLink> nvlinks;
};

/// May `source` access the memory of `target`?
struct DiscoveredPair {
  int source = 0, target = 0;
  bool peer_access = false, native_atomics = false;
};

struct Discovery {
  std::string id;
  std::string cpu;
  int numa_nodes = 1;
  std::vector<DiscoveredGpu> gpus;  ///< in number order
  std::vector<DiscoveredPair> pairs;
  int waived = 0;  ///< points that the machine could not answer
};

/// Reads schema "discovery/1". The record does not count NUMA nodes: numa_nodes is one more than the highest that a GPU
/// names, at least 1.
/// @throws InputError
Discovery read_discovery(const std::string& path);

namespace detail {

class DiscoveredTopology {
 public:
  explicit DiscoveredTopology(const Discovery& facts) : facts_(facts) {}
  Json make(const std::string& name);

 private:
  [[nodiscard]] static std::string gpu(std::size_t index) { return "gpu" + std::to_string(index); }
  [[nodiscard]] std::string cpu_of(std::size_t index) const {
    return "cpu" + std::to_string(std::max(0, facts_.gpus[index].numa_node));
  }
  void add_pcie(std::size_t index);
  void add_sockets();
  [[nodiscard]] std::string pcie_peers() const;
  void add_nvlinks();
  void add_links_of(std::size_t index);
  void assume_nvlinks();
  std::string nvswitch(const std::string& pci);
  void nvlink_cable(std::size_t index, const std::string& to, int count, const std::string& source);

  const Discovery& facts_;
  TopologyWriter writer_;
  std::map<std::string, std::string> nvswitches_;     // remote bus id -> device id
  std::map<std::string, std::string> pcie_switches_;  // upstream port -> device id
};

/// Empty where the name does not tell the maker.
inline std::string cpu_vendor(const std::string& model) {
  for (const auto& [word, vendor] :
       {std::pair("Intel", "intel"), {"AMD", "amd"}, {"POWER", "ibm"}, {"ARM", "arm"}, {"Neoverse", "arm"}})
    if (model.find(word) != std::string::npos) return vendor;
  return "";
}

/// Drivers fill a hidden bus id with zeros or ones.
inline bool is_real_bus_id(const std::string& pci) {
  return !pci.empty() && pci.rfind("0000:00:00", 0) != 0 && pci.rfind("ffff:ff:", 0) != 0;
}

inline void DiscoveredTopology::add_pcie(std::size_t index) {
  const DiscoveredGpu& facts = facts_.gpus[index];
  const bool known = pcie_lane(facts.pcie_generation).has_value() && facts.pcie_width > 0;
  constexpr int assumed_generation = 3, assumed_width = 16;
  const int generation = known ? facts.pcie_generation : assumed_generation;
  const int width = known ? facts.pcie_width : assumed_width;
  const BytesPerSecond rate = width * *pcie_lane(generation);
  const std::string kind(cable_kind_of(CableFamily::kPcie, generation)->name);
  std::string source =
      known ? "NVML: most that GPU and slot can do, PCIe " + std::to_string(generation) + " x" + std::to_string(width)
            : "assumed: PCIe 3 x16, NVML does not say";
  if (facts.numa_node < 0) source += "; assumed: first CPU, sysfs names no NUMA node";
  // root port, switch upstream port, switch downstream port, GPU
  const std::size_t length = facts.pci_path.size();
  if (length < 4) return writer_.cable(gpu(index), cpu_of(index), kind, 1, rate, source);
  const auto [at, is_new] =
      pcie_switches_.try_emplace(facts.pci_path[length - 3], "plx" + std::to_string(pcie_switches_.size()));
  if (is_new) {
    writer_.device(at->second, "pcie_switch");
    writer_.cable(at->second, cpu_of(index), kind, 1, rate, "assumed: uplink as wide as the GPU's link");
  }
  writer_.cable(gpu(index), at->second, kind, 1, rate, source + "; switch from the bridges in sysfs");
}

inline void DiscoveredTopology::add_sockets() {
  const auto [kind, rate] = socket_link(cpu_vendor(facts_.cpu));
  for (int a = 0; a < facts_.numa_nodes; ++a)
    for (int b = a + 1; b < facts_.numa_nodes; ++b)
      writer_.cable("cpu" + std::to_string(a), "cpu" + std::to_string(b), kind, 1, rate,
                    "assumed: kind from the CPU's maker, one link; nothing on the machine says");
}

inline std::string DiscoveredTopology::nvswitch(const std::string& pci) {
  const auto [at, is_new] = nvswitches_.try_emplace(pci, "nvswitch" + std::to_string(nvswitches_.size()));
  if (is_new) writer_.device(at->second, "nvswitch", "", "baseboard0");
  return at->second;
}

inline void DiscoveredTopology::nvlink_cable(std::size_t index, const std::string& to, int count,
                                             const std::string& source) {
  const auto known = nvlink_of(facts_.gpus[index].sm);
  const NvlinkType type = known ? *known : newest_nvlink();
  writer_.cable(gpu(index), to, type.kind(), count > 0 ? count : type.links, type.rate,
                source + (known ? "; rate of the generation from the datasheet, one direction"
                                : "; assumed: generation and rate, none is known for this compute capability"));
}

inline void DiscoveredTopology::add_links_of(std::size_t index) {
  std::map<std::string, int> to_device;
  std::map<std::string, std::string> sources;
  for (const DiscoveredLink& end : facts_.gpus[index].nvlinks) {
    const auto peer = std::find_if(facts_.gpus.begin(), facts_.gpus.end(),
                                   [&](const auto& other) { return !end.pci.empty() && other.pci == end.pci; });
    std::string device, source = "NVML: active links and their remote ends";
    if (peer != facts_.gpus.end()) {
      const auto other = static_cast<std::size_t>(peer - facts_.gpus.begin());
      if (other <= index) continue;  // its own turn adds the cable
      device = gpu(other);
    } else if (end.kind == "npu") {
      device = cpu_of(index);
    } else if (end.kind == "gpu") {
      continue;  // a GPU that the process could not see
    } else {
      // Switches that the driver does not tell apart become one.
      const bool told_apart = end.kind == "switch" && is_real_bus_id(end.pci);
      device = nvswitch(told_apart ? end.pci : "");
      if (!told_apart) source = "NVML: active links; assumed: all end in one NVSwitch group, remote ends are hidden";
    }
    ++to_device[device];
    sources[device] = source;
  }
  for (const auto& [device, count] : to_device) nvlink_cable(index, device, count, sources[device]);
}

inline void DiscoveredTopology::assume_nvlinks() {
  const bool coherent =
      !facts_.pairs.empty() && std::all_of(facts_.pairs.begin(), facts_.pairs.end(),
                                           [](const auto& pair) { return pair.peer_access && pair.native_atomics; });
  if (!coherent) return;  // native atomics between peers need NVLink
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i)
    nvlink_cable(i, nvswitch(""), 0,
                 "assumed: NVML hides the links; peers have native atomics, so NVLink; full count of the generation, "
                 "one NVSwitch group");
}

inline void DiscoveredTopology::add_nvlinks() {
  bool any = false;
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
    any = any || !facts_.gpus[i].nvlinks.empty();
    add_links_of(i);
  }
  if (!any) assume_nvlinks();
}

/// Pairs with peer access, as topologies write it.
inline std::string DiscoveredTopology::pcie_peers() const {
  const auto has = [](const auto& pair) { return pair.peer_access; };
  const auto across = [&](const auto& pair) {
    const auto node = [&](int gpu) { return facts_.gpus[static_cast<std::size_t>(gpu)].numa_node; };
    return node(pair.source) != node(pair.target);
  };
  const auto& pairs = facts_.pairs;
  if (std::none_of(pairs.begin(), pairs.end(), has)) return "none";
  const bool all = std::all_of(pairs.begin(), pairs.end(), has) && std::any_of(pairs.begin(), pairs.end(), across);
  return all ? "all" : "same_socket";
}

inline Json DiscoveredTopology::make(const std::string& name) {
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i)
    writer_.gpu(static_cast<int>(i), facts_.gpus[i].model, facts_.gpus[i].sm);
  for (int node = 0; node < facts_.numa_nodes; ++node)
    writer_.cpu("cpu" + std::to_string(node), facts_.cpu, cpu_vendor(facts_.cpu));
  add_nvlinks();
  const bool no_nvlink = !writer_.has_cables();
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i) add_pcie(i);
  add_sockets();
  return writer_.json(name, std::to_string(facts_.gpus.size()) + " x " + facts_.gpus.front().model,
                      std::string("linkcast-bench discovery: CUDA runtime, NVML and sysfs of the machine itself") +
                          (no_nvlink ? "" : "; assumed: no peer access over PCIe, NVLink hides whether there is"),
                      no_nvlink ? pcie_peers() : "none");
}

}  // namespace detail

/// @param facts  of at least one GPU
inline Json make_topology(const Discovery& facts, const std::string& name) {
  return detail::DiscoveredTopology(facts).make(name);
}

}  // namespace linkcast
