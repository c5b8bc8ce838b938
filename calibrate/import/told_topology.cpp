// NCCL_TOPO_FILE as NCCL reads it on a machine: what the file leaves out is filled in from the machine.
// Of GPUs without NVLinks their own, of CPUs without a maker theirs; GPUs that are not in the file are added below
// their CPU, with the PCIe switches above them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "calibrate/import/nccl_xml.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/machine/structure.hpp"
#include "sim/machine/topology_reader.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::topology_import {
namespace {

// source: classes that NVIDIA/nccl src/graph/topo.cc looks for (PCI Code and ID Assignment Specification)
const char* const kGpu = "0x030200";
const char* const kSwitch = "0x060400";
const char* const kNvswitch = "0x068000";
const char* const kCpu = "0x068001";

class Filler {
 public:
  Filler(XmlFile& file, const Platform& machine) : file_(file), machine_(machine), wiring_(machine.wiring()) {}

  /// @returns  see ReadTopology::one_way
  std::vector<std::pair<int, int>> run() {
    for (const XmlNode& cpu : file_.root().children("cpu")) collect(cpu);
    number();
    for (auto& [gpu, pci] : listed_) {
      const auto gpus = pci.children("gpu");
      if (!gpus.empty() && !gpus.front().children("nvlink").empty()) said_.insert(gpu);
    }
    std::set<int> added;
    for (int gpu = 0; gpu < machine_.gpu_count(); ++gpu)
      if (!listed_.count(gpu)) {
        add_gpu(gpu);
        added.insert(gpu);
      }
    for (auto& [gpu, pci] : listed_) complete(gpu, pci, added.count(gpu) > 0);
    for (XmlNode& cpu : file_.root().children("cpu")) identify(cpu);
    return {one_way_.begin(), one_way_.end()};
  }

 private:
  [[nodiscard]] const Device& device(int index) const { return wiring_.devices[static_cast<std::size_t>(index)]; }
  /// Device of the wiring; that of the machine as simulated is another list.
  [[nodiscard]] int gpu_device(int gpu) const { return wiring_.gpus()[static_cast<std::size_t>(gpu)]; }

  void collect(const XmlNode& above) {
    for (XmlNode& pci : above.children("pci")) {
      for (const char* unsaid : {"link_speed", "link_width"})
        if (!pci.find(unsaid)) pci.set(unsaid, unsaid == std::string("link_width") ? "0" : "");
      const std::string kind = pci.text("class");
      if (kind.rfind("0x03", 0) == 0)
        found_.push_back(pci);
      else
        collect(pci);
    }
  }

  /// GPUs by their dev; where no GPU has one, all of the machine in the order of their bus ids, as the driver counts.
  void number() {
    std::vector<XmlNode> plain;
    for (const XmlNode& pci : found_) {
      const auto gpus = pci.children("gpu");
      if (gpus.size() > 1) gpus[1].fail("a pci of class 0x03 holds one gpu");
      if (gpus.empty() || !gpus.front().find("dev")) {
        plain.push_back(pci);
        continue;
      }
      const int dev = gpus.front().number("dev", 0);
      if (dev >= machine_.gpu_count())
        gpus.front().fail("dev", "the machine has the GPUs 0 to " + std::to_string(machine_.gpu_count() - 1));
      if (!listed_.emplace(dev, pci).second) gpus.front().fail("dev", "is listed twice");
    }
    if (plain.empty()) return;
    if (!listed_.empty()) plain.front().fail("a GPU without dev, where others have one");
    if (static_cast<int>(plain.size()) != machine_.gpu_count())
      plain.front().fail(std::to_string(plain.size()) + " GPUs without dev, and the machine has " +
                         std::to_string(machine_.gpu_count()) + ": nothing says which they are");
    std::sort(plain.begin(), plain.end(),
              [](const XmlNode& a, const XmlNode& b) { return a.text("busid") < b.text("busid"); });
    for (int gpu = 0; gpu < machine_.gpu_count(); ++gpu) listed_.emplace(gpu, plain[static_cast<std::size_t>(gpu)]);
  }

  /// A device on the way from a GPU up to its CPU, and the cable above it; none of what hangs on a CPU by NVLink alone.
  struct Step {
    int device;
    const Cable* up;
  };
  [[nodiscard]] std::vector<Step> way_up(int gpu) const {
    std::vector<Step> way;
    const auto is_new = [&](int other) {
      return std::none_of(way.begin(), way.end(), [&](const Step& step) { return step.device == other; });
    };
    int at = gpu_device(gpu);
    while (device(at).kind != DeviceKind::kCpu) {
      way.push_back({at, nullptr});
      int next = *wiring_.find(machine_.topology().devices[socket(gpu)].id);
      for (const Cable& cable : wiring_.cables) {
        if ((cable.a != at && cable.b != at) || !is_pcie_cable(cable.kind)) continue;
        const int other = cable.a == at ? cable.b : cable.a;
        const DeviceKind kind = device(other).kind;
        if (!is_new(other) || (kind != DeviceKind::kCpu && kind != DeviceKind::kPcieSwitch)) continue;
        if (way.back().up && kind != DeviceKind::kCpu) continue;
        way.back().up = &cable;
        next = other;
      }
      at = next;
    }
    way.push_back({at, nullptr});
    return way;
  }
  [[nodiscard]] std::size_t socket(int gpu) const {
    return static_cast<std::size_t>(machine_.socket_of(machine_.gpu(gpu)));
  }

  void add_gpu(int gpu) {
    const std::vector<Step> way = way_up(gpu);
    XmlNode at = cpu_of(device(way.back().device));
    for (auto step = std::next(way.rbegin()); step != way.rend(); ++step) {
      const bool last = device(step->device).kind == DeviceKind::kGpu;
      const auto known = added_.find(step->device);
      if (known != added_.end()) {
        at = known->second;
        continue;
      }
      at = at.add("pci");
      at.set("busid", bus_id(step->device));
      at.set("class", last ? kGpu : kSwitch);
      const int generation = step->up ? cable_generation(step->up->kind) : 0;
      const auto lane = pcie_lane(generation);
      at.set("link_speed", lane ? pcie_transfers(generation) + " GT/s PCIe" : "");
      at.set("link_width",
             lane ? std::to_string(std::lround(step->up->count * (step->up->reported_bandwidth() / *lane))) : "0");
      added_.emplace(step->device, at);
    }
    listed_.emplace(gpu, at);
  }

  /// Ours: in a domain that no machine has.
  static std::string bus_id(int device) {
    constexpr int kHex = 16, kByte = 256;
    const char* digits = "0123456789abcdef";
    const auto digit = [&](int value) { return std::string(1, digits[value % kHex]); };
    return "fff" + digit(device / kByte) + ":" + digit(device / kHex) + digit(device) + ":00.0";
  }

  XmlNode cpu_of(const Device& cpu) {
    const std::string numa = cpu.id.substr(cpu.id.find_first_of("0123456789"));
    const auto cpus = file_.root().children("cpu");
    for (const XmlNode& one : cpus)
      if (one.find("numaid").value_or("") == numa || (cpus.size() == 1 && one.find("numaid").value_or("-1") == "-1"))
        return one;
    XmlNode made = file_.root().add("cpu");
    made.set("numaid", numa);
    return made;
  }

  /// @param added  not of the file: then without its NVLinks to GPUs whose own the file says
  void complete(int gpu, XmlNode& pci, bool added) {
    const auto gpus = pci.children("gpu");
    XmlNode node = gpus.empty() ? pci.add("gpu") : gpus.front();
    if (!node.find("dev")) node.set("dev", std::to_string(gpu));
    if (!node.find("sm")) node.set("sm", std::to_string(device(gpu_device(gpu)).sm));
    const bool links = node.children("nvlink").empty(), chip = node.children("c2c").empty();
    std::map<std::pair<std::string, std::string>, int> own;  // by target and class
    for (const Cable& cable : wiring_.cables) {
      const int at = gpu_device(gpu);
      if ((cable.a != at && cable.b != at) || !is_accelerator_cable(cable.kind)) continue;
      if (find_cable_kind(cable.kind)->maker != "nvidia") continue;
      const int other = cable.a == at ? cable.b : cable.a;
      if (trait_of(cable.kind) == CableTrait::kChip && device(other).kind == DeviceKind::kCpu) {
        if (chip) add_c2c(node, cable);
      } else if (const auto said = added ? said_gpu(other) : std::nullopt) {
        one_way_.insert({gpu, *said});
      } else if (links) {
        own[target_of(other)] += cable.count;
      }
    }
    for (const auto& [target, count] : own) {
      XmlNode link = node.add("nvlink");
      link.set("target", target.first);
      link.set("count", std::to_string(count));
      link.set("tclass", target.second);
    }
  }

  [[nodiscard]] std::optional<int> said_gpu(int other) const {
    for (const int gpu : said_)
      if (gpu_device(gpu) == other) return gpu;
    return std::nullopt;
  }

  static void add_c2c(XmlNode& node, const Cable& cable) {
    constexpr double kMega = 1e6;  // source: NCCL's files have MB/s
    XmlNode link = node.add("c2c");
    link.set("bw", std::to_string(std::lround(cable.bandwidth.si / kMega)));
    link.set("count", std::to_string(cable.count));
  }

  /// Bus id and class of what an NVLink of the machine leads to. NCCL makes one of all NVSwitches, and of CPUs takes
  /// the GPU's own.
  [[nodiscard]] std::pair<std::string, std::string> target_of(int other) const {
    if (device(other).kind == DeviceKind::kCpu) return {"0004:00:00.0", kCpu};
    if (device(other).kind != DeviceKind::kGpu) return {"ffff:ff:00.0", kNvswitch};
    for (const auto& [gpu, pci] : listed_)
      if (gpu_device(gpu) == other) return {pci.text("busid"), kGpu};
    throw InvariantError("a GPU that is not listed");
  }

  /// Maker of a CPU that names none: that of the machine's CPU of this number.
  void identify(XmlNode& cpu) {
    if (cpu.find("arch")) return;
    std::string numa = cpu.find("numaid").value_or("0");
    if (numa == "-1") numa = "0";
    const auto known = wiring_.find("cpu" + numa);
    if (!known) cpu.fail("arch", "missing attribute, and the machine has no cpu" + numa);
    for (const auto& [name, value] : cpu_identity(device(*known))) cpu.set(name.c_str(), value);
  }

  XmlFile& file_;
  const Platform& machine_;
  const Topology& wiring_;
  std::vector<XmlNode> found_;     ///< PCI elements of GPUs, in the order of the file
  std::map<int, XmlNode> listed_;  ///< the same by GPU number
  std::map<int, XmlNode> added_;   ///< by device of the machine
  std::set<int> said_;             ///< GPUs whose NVLinks the file says
  std::set<std::pair<int, int>> one_way_;
};

class ToldTopology final : public TopologyReader {
 public:
  [[nodiscard]] ReadTopology read(const std::string& path, const Platform& machine) const override {
    XmlFile file(path);
    std::vector<std::pair<int, int>> one_way;
    if (file.root().name() == "system") one_way = Filler(file, machine).run();
    const std::string peers = Spelled<PciePeer>(machine.topology().pcie_peer);
    const ImportRequest request{{path}, "told", "", {{"pcie_peer", peers}}};
    Topology topology = parse_topology(told_record(request, std::move(file)), path);
    if (topology.gpus().size() != machine.topology().gpus().size())
      throw InvariantError("told of another number of GPUs than there are");
    topology.sha256 = sha256_of_file(path);
    return {std::move(topology), std::move(one_way)};
  }
};

const bool told_registered =
    topology_readers().add({"nccl-xml", "what NCCL_TOPO_FILE tells NCCL",
                            "NVIDIA/nccl src/graph/xml.cc and topo.cc, environment NCCL_TOPO_FILE"},
                           [] { return std::make_unique<ToldTopology>(); });

}  // namespace
}  // namespace linkcast::topology_import
