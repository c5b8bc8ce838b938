// MachineFacts -> topology/1. Pure: no device is touched here.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "calibrate/bench/machine_facts.hpp"

namespace linkcast::bench {
namespace {

// GB/s of one lane and direction after line coding. source: PCI-SIG PCI Express Base Specification, revisions 1 to 6.
constexpr std::array kPcieLane = {0.0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
constexpr int kAssumedGeneration = 3, kAssumedWidth = 16;

struct Nvlink {
  int generation;
  double rate;     ///< GB/s of one link and direction
  int full_count;  ///< links of the largest GPU of the generation
};
// source: NVIDIA datasheets of P100, V100, A100, H100 and B200 (totals there count both directions).
Nvlink nvlink_of(int sm) {
  if (sm < 70) return {1, 20, 4};
  if (sm < 80) return {2, 25, 6};
  if (sm < 90) return {3, 25, 12};
  if (sm < 100) return {4, 25, 18};
  return {5, 50, 18};
}

std::string rate_text(double gigabytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g GB/s", gigabytes);
  return text.data();
}

std::string vendor_of(const std::string& cpu) {
  for (const auto& [word, vendor] : {std::pair("Intel", "intel"), {"AMD", "amd"}, {"POWER", "ibm"}})
    if (cpu.find(word) != std::string::npos) return vendor;
  return "arm";
}

/// Drivers fill a hidden bus id with zeros or ones.
bool is_real(const std::string& pci) {
  return !pci.empty() && pci.rfind("0000:00:00", 0) != 0 && pci.rfind("ffff:ff:1f", 0) != 0;
}

class TopologyMaker {
 public:
  explicit TopologyMaker(const MachineFacts& facts) : facts_(facts) {}
  Json make(const std::string& name);

 private:
  [[nodiscard]] std::string gpu(std::size_t index) const { return "gpu" + std::to_string(index); }
  [[nodiscard]] std::string cpu_of(std::size_t index) const {
    return "cpu" + std::to_string(std::max(0, facts_.gpus[index].numa_node));
  }
  void cable(const std::string& a, const std::string& b, const std::string& kind, int count, double rate,
             const std::string& source);
  void add_pcie();
  void add_sockets();
  void add_nvlinks();
  void add_links_of(std::size_t index);
  void assume_nvlinks();
  std::string nvswitch(const std::string& pci);
  void add_device(Json device) { devices_.push_back(std::move(device)); }

  const MachineFacts& facts_;
  Json devices_ = Json::array(), cables_ = Json::array();
  std::map<std::string, std::string> switches_;  // remote bus id -> device id
};

void TopologyMaker::cable(const std::string& a, const std::string& b, const std::string& kind, int count, double rate,
                          const std::string& source) {
  cables_.push_back(
      {{"between", {a, b}}, {"kind", kind}, {"count", count}, {"bandwidth", rate_text(rate)}, {"source", source}});
}

void TopologyMaker::add_pcie() {
  std::map<std::string, std::string> pcie_switches;  // upstream port -> device id
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
    const GpuFacts& facts = facts_.gpus[i];
    const bool known = facts.pcie.generation > 0 && facts.pcie.generation < static_cast<int>(kPcieLane.size());
    const int generation = known ? facts.pcie.generation : kAssumedGeneration;
    const int width = known ? facts.pcie.width : kAssumedWidth;
    const double rate = kPcieLane.at(static_cast<std::size_t>(generation)) * width;
    const std::string kind = "pcie" + std::to_string(generation);
    std::string source =
        known ? "NVML: most that GPU and slot can do, PCIe " + std::to_string(generation) + " x" + std::to_string(width)
              : "assumed: PCIe 3 x16, NVML does not say";
    if (facts.numa_node < 0) source += "; assumed: first CPU, sysfs names no NUMA node";
    // root port, switch upstream port, switch downstream port, GPU
    const std::size_t length = facts.pci_path.size();
    if (length < 4) {
      cable(gpu(i), cpu_of(i), kind, 1, rate, source);
      continue;
    }
    const auto [at, is_new] =
        pcie_switches.try_emplace(facts.pci_path[length - 3], "plx" + std::to_string(pcie_switches.size()));
    if (is_new) {
      add_device({{"id", at->second}, {"kind", "pcie_switch"}});
      cable(at->second, cpu_of(i), kind, 1, rate, "assumed: uplink as wide as the GPU's link");
    }
    cable(gpu(i), at->second, kind, 1, rate, source + "; switch from the bridges in sysfs");
  }
}

void TopologyMaker::add_sockets() {
  const std::string vendor = vendor_of(facts_.cpu);
  // source: one link a pair is an assumption; Intel UPI 10.4 GT/s x 2 B, AMD xGMI 18 GT/s x 16 bits, IBM X-bus
  // datasheets
  const auto [kind, rate] = vendor == "amd"   ? std::pair("infinity_fabric_cpu", 36.0)
                            : vendor == "ibm" ? std::pair("xbus", 64.0)
                                              : std::pair("upi", 20.8);
  for (int a = 0; a < facts_.numa_nodes; ++a)
    for (int b = a + 1; b < facts_.numa_nodes; ++b)
      cable("cpu" + std::to_string(a), "cpu" + std::to_string(b), kind, 1, rate,
            "assumed: kind from the CPU's maker, one link; nothing on the machine says");
}

std::string TopologyMaker::nvswitch(const std::string& pci) {
  const auto [at, is_new] = switches_.try_emplace(pci, "nvswitch" + std::to_string(switches_.size()));
  if (is_new) add_device({{"id", at->second}, {"kind", "nvswitch"}, {"group", "baseboard0"}});
  return at->second;
}

void TopologyMaker::add_links_of(std::size_t index) {
  const GpuFacts& facts = facts_.gpus[index];
  const Nvlink type = nvlink_of(facts.sm);
  std::map<std::string, int> to_device;
  std::map<std::string, std::string> sources;
  for (const NvlinkEnd& end : facts.nvlinks) {
    const auto peer = std::find_if(facts_.gpus.begin(), facts_.gpus.end(),
                                   [&](const GpuFacts& other) { return !end.pci.empty() && other.pci == end.pci; });
    std::string device, source = "NVML: active links and their remote ends";
    if (peer != facts_.gpus.end()) {
      const auto other = static_cast<std::size_t>(peer - facts_.gpus.begin());
      if (other <= index) continue;  // its own turn adds the cable
      device = gpu(other);
    } else if (end.kind == NvlinkEnd::Kind::kNpu) {
      device = cpu_of(index);
    } else if (end.kind == NvlinkEnd::Kind::kGpu) {
      continue;  // a GPU that this process may not see
    } else {
      // Switches that the driver does not tell apart become one.
      const bool told_apart = end.kind == NvlinkEnd::Kind::kSwitch && is_real(end.pci);
      device = nvswitch(told_apart ? end.pci : "");
      source =
          told_apart ? source : "NVML: active links; assumed: all end in one NVSwitch group, remote ends are hidden";
    }
    ++to_device[device];
    sources[device] = source;
  }
  for (const auto& [device, count] : to_device)
    cable(gpu(index), device, "nvlink" + std::to_string(type.generation), count, type.rate,
          sources[device] + "; rate of the generation from the datasheet, one direction");
}

void TopologyMaker::assume_nvlinks() {
  const bool coherent =
      !facts_.pairs.empty() && std::all_of(facts_.pairs.begin(), facts_.pairs.end(),
                                           [](const auto& pair) { return pair.peer_access && pair.native_atomics; });
  if (!coherent) return;  // native atomics between peers need NVLink
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
    const Nvlink type = nvlink_of(facts_.gpus[i].sm);
    cable(gpu(i), nvswitch(""), "nvlink" + std::to_string(type.generation), type.full_count, type.rate,
          "assumed: NVML hides the links; peers have native atomics, so NVLink; full count of the generation, one "
          "NVSwitch "
          "group");
  }
}

void TopologyMaker::add_nvlinks() {
  bool any = false;
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
    any = any || !facts_.gpus[i].nvlinks.empty();
    add_links_of(i);
  }
  if (!any) assume_nvlinks();
}

Json TopologyMaker::make(const std::string& name) {
  for (std::size_t i = 0; i < facts_.gpus.size(); ++i)
    add_device({{"id", gpu(i)}, {"kind", "gpu"}, {"model", facts_.gpus[i].model}, {"sm", facts_.gpus[i].sm}});
  for (int node = 0; node < facts_.numa_nodes; ++node)
    add_device({{"id", "cpu" + std::to_string(node)},
                {"kind", "cpu"},
                {"model", facts_.cpu},
                {"vendor", vendor_of(facts_.cpu)}});
  add_nvlinks();
  const bool no_nvlink = cables_.empty();
  add_pcie();
  add_sockets();
  const bool peers = std::any_of(facts_.pairs.begin(), facts_.pairs.end(), [](const auto& p) { return p.peer_access; });
  return {{"schema", "topology/1"},
          {"name", name},
          {"title", std::to_string(facts_.gpus.size()) + " x " + facts_.gpus.front().model},
          {"source", std::string("linkcast-bench discovery: CUDA runtime, NVML and sysfs of the machine itself") +
                         (no_nvlink ? "" : "; assumed: no peer access over PCIe, NVLink hides whether there is")},
          {"pcie_peer", no_nvlink && peers ? "same_socket" : "none"},
          {"devices", devices_},
          {"cables", cables_}};
}

}  // namespace

Json make_topology(const MachineFacts& facts, const std::string& name) { return TopologyMaker(facts).make(name); }

}  // namespace linkcast::bench
