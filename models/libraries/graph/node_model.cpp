#include "models/libraries/graph/node_model.hpp"

#include <algorithm>
#include <cmath>

#include "models/libraries/generations.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::graph {
namespace {

constexpr double kSecondScalable = 4;  // Xeon Scalable: the second digit of a four-digit model is its generation
constexpr double kFifthScalable = 5;

const Device& device(const Platform& platform, int index) {
  return platform.topology().devices[static_cast<std::size_t>(index)];
}

/// Between an AMD GPU and its CPU: the sample of LUMI has PCIe 4.0 x16 in its place.
bool is_host_fabric(const std::string& kind) { return trait_of(kind) == CableTrait::kHost; }
constexpr double kHostFabric = 24;

/// By the model number of family 6. source: models/libraries/SOURCES.md, "Graph era: paths", between CPUs
CpuMaker intel_maker(int model) {
  constexpr int kFirstSkylake = 0x55, kFirstSapphire = 0x8F, kFirstEmerald = 0xCF;
  if (model >= kFirstEmerald) return CpuMaker::kEmeraldRapids;
  if (model >= kFirstSapphire) return CpuMaker::kSapphireRapids;
  return model >= kFirstSkylake ? CpuMaker::kSkylake : CpuMaker::kBroadwell;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

double between_cpus(const CpuLinks& links, CpuMaker cpu) {
  switch (cpu) {
    case CpuMaker::kBroadwell:
      return links.broadwell;
    case CpuMaker::kSkylake:
      return links.skylake;
    case CpuMaker::kSapphireRapids:
      return links.sapphire_rapids;
    case CpuMaker::kEmeraldRapids:
      return links.emerald_rapids;
    case CpuMaker::kAmd:
      return links.amd;
    case CpuMaker::kPower:
      return links.power;
    case CpuMaker::kArm:
      return links.arm;
  }
  return 0;
}

}  // namespace

int library_sm(const Device& gpu) { return contains(gpu.model, "gfx") ? kAmpere : gpu.sm; }

CpuMaker cpu_maker(const Device& cpu) {
  static const std::map<std::string, CpuMaker> kOthers = {
      {"amd", CpuMaker::kAmd}, {"ibm", CpuMaker::kPower}, {"arm", CpuMaker::kArm}};
  if (const auto other = kOthers.find(cpu.vendor); other != kOthers.end()) return other->second;
  // As importers of NCCL's own files write them.
  static const Regex kNumbers("family 6 model ([0-9]{1,6})");
  if (const Match numbers = kNumbers.find(cpu.model)) return intel_maker(std::stoi(numbers[1]));
  if (contains(cpu.model, "Emerald")) return CpuMaker::kEmeraldRapids;
  if (contains(cpu.model, "Sapphire")) return CpuMaker::kSapphireRapids;
  if (contains(cpu.model, "E5-") || contains(cpu.model, "E7-")) return CpuMaker::kBroadwell;
  static const Regex kScalable("(Platinum|Gold|Silver|Bronze) [0-9]([0-9])[0-9]{2}");
  const Match scalable = kScalable.find(cpu.model);
  if (!scalable) return CpuMaker::kSkylake;
  const int generation = std::stoi(scalable[2]);
  if (generation >= kFifthScalable) return CpuMaker::kEmeraldRapids;
  return generation >= kSecondScalable ? CpuMaker::kSapphireRapids : CpuMaker::kSkylake;
}

double pcie_bandwidth(const Cable& cable) {
  static const std::vector<double> kLibrary = {15, 30, 60, 120, 240, 480};
  const int named = cable_generation(cable.kind), newest = static_cast<int>(kLibrary.size());
  const int generation = named > 0 ? std::min(named, newest) : 3;
  const double lanes = std::max(1.0, std::round(cable.reported_bandwidth() / *pcie_lane(generation)));
  return cable.count * lanes * kLibrary[static_cast<std::size_t>(generation) - 1] / 80;
}

NodeModel::NodeModel(const Platform& platform, const std::vector<int>& gpus, const SearchTraits& traits,
                     const std::vector<GraphNic>& nics)
    : platform_(&platform),
      traits_(&traits),
      node_of_device_(platform.topology().devices.size(), -1),
      nics_(nics),
      ports_(nics.size(), -1),
      numbers_(gpus),
      gpus_(static_cast<int>(gpus.size())) {
  for (const int gpu : gpus) {
    const int index = platform.gpu(gpu);
    add_node(NodeKind::kGpu, index);
    const int sm = library_sm(device(platform, index));
    sm_min_ = sm_min_ == 0 ? sm : std::min(sm_min_, sm);
  }
  nvlink_ = by_sm(traits.nvlink, sm_min_);
  const auto& devices = platform.topology().devices;
  for (std::size_t d = 0; d < devices.size(); ++d)
    if (devices[d].kind == DeviceKind::kCpu) add_node(NodeKind::kCpu, static_cast<int>(d));
  const int first_cpu = gpus_, cpus = static_cast<int>(nodes_.size()) - gpus_;
  if (cpus > 0) cpu_ = cpu_maker(device(platform, nodes_[static_cast<std::size_t>(first_cpu)].device));
  for (int cpu = first_cpu; cpu < first_cpu + cpus; ++cpu) add_pci_tree(cpu, -1);
  for (int gpu = 0; gpu < gpus_; ++gpu) add_accelerator_links(gpu);
  for (int gpu = 0; gpu < gpus_; ++gpu) add_gpu_nics(gpu);
  join_cpus();
  for (int cpu = first_cpu; cpu < first_cpu + cpus; ++cpu) put_uplink_last(cpu, -1, 0);
}

int NodeModel::add_node(NodeKind kind, int device) {
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back({kind, device, {}});
  if (device >= 0) node_of_device_[static_cast<std::size_t>(device)] = node;
  return node;
}

/// Links of a node stay sorted, widest first; among equals the one made first stays first.
void NodeModel::connect(int from, int to, LinkKind kind, double bandwidth) {
  const int link = static_cast<int>(links_.size());
  links_.push_back({from, to, kind, bandwidth});
  auto& list = nodes_[static_cast<std::size_t>(from)].links;
  const auto narrower = std::find_if(list.begin(), list.end(), [&](int other) {
    return links_[static_cast<std::size_t>(other)].bandwidth < bandwidth;
  });
  list.insert(narrower, link);
}

void NodeModel::add_pci_tree(int node, int parent) {
  const Topology& topology = platform_->topology();
  const int index = nodes_[static_cast<std::size_t>(node)].device;
  for (const Cable& cable : topology.cables) {
    if (!(is_pcie_cable(cable.kind) || is_host_fabric(cable.kind)) || (cable.a != index && cable.b != index)) continue;
    const int other = cable.a == index ? cable.b : cable.a;
    if (other == parent) continue;
    const DeviceKind kind = device(*platform_, other).kind;
    int& child = node_of_device_[static_cast<std::size_t>(other)];
    const auto bandwidth = [&] { return is_host_fabric(cable.kind) ? kHostFabric : pcie_bandwidth(cable); };
    if (kind == DeviceKind::kNic && !nics_.empty()) add_nic(node, other, bandwidth());
    if (kind == DeviceKind::kPcieSwitch && child < 0) {
      add_node(NodeKind::kPciSwitch, other);
      add_pci_tree(child, index);
    } else if (kind != DeviceKind::kGpu || child < 0) {
      continue;  // not in the model
    }
    const double each = bandwidth();
    connect(node, child, LinkKind::kPci, each);
    connect(child, node, LinkKind::kPci, each);
  }
}

/// Below a switch, a CPU or a GPU; nothing if the fabric does not join it.
void NodeModel::add_nic(int node, int device, double bandwidth) {
  const auto nic = std::find_if(nics_.begin(), nics_.end(), [&](const GraphNic& one) { return one.device == device; }) -
                   nics_.begin();
  if (nic == static_cast<std::ptrdiff_t>(nics_.size())) return;
  int& card = node_of_device_[static_cast<std::size_t>(device)];
  if (card < 0) {
    add_node(NodeKind::kNic, device);
    const double cable = nics_[static_cast<std::size_t>(nic)].bandwidth;
    const int port = add_node(NodeKind::kPort, -1);
    connect(card, port, LinkKind::kPort, cable);
    connect(port, card, LinkKind::kPort, cable);
    ports_[static_cast<std::size_t>(nic)] = port;
  }
  connect(node, card, LinkKind::kPci, bandwidth);
  connect(card, node, LinkKind::kPci, bandwidth);
}

/// NICs that hang on the GPU itself.
void NodeModel::add_gpu_nics(int gpu) {
  const int index = nodes_[static_cast<std::size_t>(gpu)].device;
  for (const Cable& cable : platform_->topology().cables) {
    if (!is_pcie_cable(cable.kind) || (cable.a != index && cable.b != index)) continue;
    const int other = cable.a == index ? cable.b : cable.a;
    if (device(*platform_, other).kind == DeviceKind::kNic) add_nic(gpu, other, pcie_bandwidth(cable));
  }
}

/// False for a cable between two GPUs whose data go through wider switches (Platform::peer_route).
bool NodeModel::takes_cable(int from, int to) const {
  const auto& route = platform_->peer_route(from, to);
  return !route || route->links.size() == 1 || !platform_->accelerators_only(route->links);
}

/// To other members in their order, then to CPUs, then to the NVSwitch.
void NodeModel::add_accelerator_links(int gpu) {
  const Topology& topology = platform_->topology();
  const int index = nodes_[static_cast<std::size_t>(gpu)].device;
  const double each = by_sm(traits_->nvlink, library_sm(device(*platform_, index)));
  std::vector<int> nvlinks(nodes_.size());
  int to_switch = 0;
  for (const Cable& cable : topology.cables) {
    if (!is_accelerator_cable(cable.kind) || is_host_fabric(cable.kind) || (cable.a != index && cable.b != index))
      continue;
    const int other = cable.a == index ? cable.b : cable.a;
    const int node = node_of_device_[static_cast<std::size_t>(other)];
    if (device(*platform_, other).kind == DeviceKind::kNvswitch) to_switch += cable.count;
    if (device(*platform_, other).kind == DeviceKind::kGpu && !takes_cable(index, other)) continue;
    if (node < 0) continue;
    if (trait_of(cable.kind) == CableTrait::kChip) {
      connect(gpu, node, LinkKind::kC2c, cable.count * cable.reported_bandwidth().si / kGiga);
      connect(node, gpu, LinkKind::kC2c, cable.count * cable.reported_bandwidth().si / kGiga);
    } else {
      nvlinks[static_cast<std::size_t>(node)] += cable.count;
    }
  }
  for (std::size_t node = 0; node < nvlinks.size(); ++node) {
    if (nvlinks[node] == 0) continue;
    connect(gpu, static_cast<int>(node), LinkKind::kNvlink, nvlinks[node] * each);
    if (nodes_[node].kind == NodeKind::kCpu)
      connect(static_cast<int>(node), gpu, LinkKind::kNvlink, nvlinks[node] * each);
  }
  if (to_switch == 0) return;
  if (nvswitch_ < 0) nvswitch_ = add_node(NodeKind::kNvswitch, -1);
  connect(gpu, nvswitch_, LinkKind::kNvlink, to_switch * each);
  connect(nvswitch_, gpu, LinkKind::kNvlink, to_switch * each);
}

void NodeModel::join_cpus() {
  for (std::size_t a = 0; a < nodes_.size(); ++a)
    for (std::size_t b = 0; b < nodes_.size(); ++b)
      if (a != b && nodes_[a].kind == NodeKind::kCpu && nodes_[b].kind == NodeKind::kCpu)
        connect(static_cast<int>(a), static_cast<int>(b), LinkKind::kSys, between_cpus(traits_->cpu, cpu_));
}

/// As the library sorts: of a device below a CPU, the first link that leads back up goes to the end, whatever its kind.
void NodeModel::put_uplink_last(int node, int up, std::size_t depth) {
  if (depth > nodes_.size())
    throw InputError("PCIe of " + platform_->topology().name +
                     " leads round in a circle, and libraries know it as a tree: no collective of them is forecast");
  auto& list = nodes_[static_cast<std::size_t>(node)].links;
  const auto to = [&](int link) { return links_[static_cast<std::size_t>(link)].to; };
  if (up >= 0) {
    const auto first = std::find_if(list.begin(), list.end(), [&](int link) { return to(link) == up; });
    std::rotate(first, first + 1, list.end());
  }
  const std::vector<int> out = list;
  for (const int link : out)
    if (links_[static_cast<std::size_t>(link)].kind == LinkKind::kPci && to(link) != up)
      put_uplink_last(to(link), node, depth + 1);
}

bool NodeModel::takes(int gpu, int nic) const {
  return nics_[static_cast<std::size_t>(nic)].users.count(numbers_[static_cast<std::size_t>(gpu)]) > 0;
}

int NodeModel::back(int link) const {
  const GraphLink& there = links_[static_cast<std::size_t>(link)];
  for (const int other : nodes_[static_cast<std::size_t>(there.to)].links) {
    const GraphLink& candidate = links_[static_cast<std::size_t>(other)];
    if (candidate.to == there.from && (!traits_->reverse_link_by_kind || candidate.kind == there.kind)) return other;
  }
  throw InvariantError("a link without one the other way");
}

double NodeModel::total_bandwidth(int gpu) const {
  double nvlink = 0, pci = 0;
  for (const int link : nodes_[static_cast<std::size_t>(gpu)].links) {
    const GraphLink& l = links_[static_cast<std::size_t>(link)];
    if (l.kind == LinkKind::kNvlink) nvlink += l.bandwidth;
    if (l.kind == LinkKind::kPci) pci = l.bandwidth;
  }
  return std::max(nvlink, pci);
}

}  // namespace linkcast::graph
