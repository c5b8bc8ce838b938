#pragma once
// What a version of the graph era counts on each directed link, and which links a hop passes: worked out from the
// topology and the hop alone, by rules of their own. No code of models/libraries is used, so that both can be compared.
// Rules and figures: models/libraries/SOURCES.md, "Graph era: paths".
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "tests/unit/nccl_graph.hpp"

namespace linkcast::test::nccl_graph {

/// Between two devices links of several kinds may lie. All NVSwitches are one device: kSwitches.
struct Leg {
  enum Kind { kNvlink, kPcie, kCpus };
  int from = 0, to = 0;
  Kind kind = kNvlink;
  bool operator<(const Leg& o) const { return std::tie(from, to, kind) < std::tie(o.from, o.to, o.kind); }
};
constexpr int kSwitches = -1;

enum Class { kNvl, kNvb, kPix, kPxb, kPhb, kSys };
inline const char* to_text(Class path_class) {
  return std::vector<const char*>{"NVL", "NVB", "PIX", "PXB", "PHB", "SYS"}.at(path_class);
}

struct Way {
  std::vector<Leg> legs;
  Class path_class = kNvl;
};

/// One topology as one version counts it.
class Counting {
 public:
  Counting(const linkcast::Platform& platform, int version) : machine_(&platform), version_(version) {
    const auto& topology = platform.topology();
    for (const auto& cable : topology.cables) add(cable);
    for (std::size_t a = 0; a < topology.devices.size(); ++a)
      if (is_cpu(static_cast<int>(a)))
        for (std::size_t b = 0; b < topology.devices.size(); ++b)
          if (a != b && is_cpu(static_cast<int>(b)))
            capacity_[{static_cast<int>(a), static_cast<int>(b), Leg::kCpus}] = between_cpus(topology.devices[a]);
    for (int k = 0; k < platform.gpu_count(); ++k) gpus_.push_back(platform.gpu(k));
    for (const int gpu : gpus_) up_[gpu] = uplinks(gpu, kNowhere);
  }

  /// GB/s; 0: no such link
  [[nodiscard]] double capacity(const Leg& leg) const {
    const auto it = capacity_.find(leg);
    return it == capacity_.end() ? 0 : it->second;
  }

  /// GB/s of one NVLink of GPU number `gpu`.
  [[nodiscard]] double one_nvlink(int gpu) const { return nvlink_of(device(gpus_[at(gpu)]).sm); }

  [[nodiscard]] bool direct(int from, int to) const { return !accelerator_way(from, to).empty(); }

  /// GPU numbers. The kind of hop that this version makes, and its relay: the widest, if several the first.
  [[nodiscard]] linkcast::Hop expected(int from, int to, const std::vector<int>& members) const {
    if (direct(from, to)) return {from, to, linkcast::HopKind::kPeer, -1};
    linkcast::Hop relayed{from, to, linkcast::HopKind::kRelay, -1};
    double widest = 0;
    for (const int via : members)
      if (const double width = std::min(between(from, via), between(via, to)); width > widest) {
        widest = width;
        relayed.via = via;
      }
    const Way way = pcie_way(from, to);
    const bool relay = version_ >= 8 && widest > 0 && (version_ >= 30 || way.legs.size() > 2 || widest > width(way));
    if (relay) return relayed;
    const bool runtime = machine_->topology().pcie_peer == linkcast::PciePeer::kSameSocket && way.path_class < kSys;
    const bool peer = way.path_class <= peer_limit(members.size()) && runtime;
    return {from, to, peer ? linkcast::HopKind::kPeer : linkcast::HopKind::kHostMemory, -1};
  }

  [[nodiscard]] double between(int from, int to) const {
    return capacity({gpus_[at(from)], gpus_[at(to)], Leg::kNvlink});
  }

  [[nodiscard]] Way way(const linkcast::Hop& hop) const {
    if (hop.kind == linkcast::HopKind::kRelay)
      return {{{gpus_[at(hop.from)], gpus_[at(hop.via)], Leg::kNvlink},
               {gpus_[at(hop.via)], gpus_[at(hop.to)], Leg::kNvlink}},
              kNvb};
    const auto legs = accelerator_way(hop.from, hop.to);
    if (!legs.empty()) return {legs, kNvl};
    Way way = pcie_way(hop.from, hop.to);
    const bool nvlink_down = way.legs.back().kind == Leg::kNvlink;
    if (version_ < 8 && cpu().vendor == "ibm" && nvlink_down) way.path_class = kNvl;  // up to 2.7
    return way;
  }

  /// Adds what a channel of `speed` GB/s takes from each link of a way.
  void charge(const Way& way, double speed, std::map<Leg, double>& used) const {
    for (const Leg& leg : way.legs) {
      const bool packets = way.path_class == kPhb && leg.kind == Leg::kPcie && cpu().vendor == "intel";
      used[leg] += packets ? speed * (version_ < 9 ? 4.0 / 3 : 6.0 / 5) : speed;
      if (leg.kind == Leg::kNvlink && is_cpu(leg.to) && cpu().vendor == "ibm")
        used[{leg.to, leg.from, leg.kind}] += speed;
    }
  }

 private:
  static constexpr int kNowhere = -2;
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] const linkcast::Device& device(int index) const { return machine_->topology().devices[at(index)]; }
  [[nodiscard]] bool is_cpu(int index) const { return index >= 0 && device(index).kind == linkcast::DeviceKind::kCpu; }
  [[nodiscard]] bool is_switch(int index) const { return device(index).kind == linkcast::DeviceKind::kNvswitch; }
  [[nodiscard]] const linkcast::Device& cpu() const {
    const auto& devices = machine_->topology().devices;
    return *std::find_if(devices.begin(), devices.end(),
                         [](const auto& d) { return d.kind == linkcast::DeviceKind::kCpu; });
  }

  void add(const linkcast::Cable& cable) {
    const bool nvlink = cable.kind.rfind("nvlink", 0) == 0, pcie = cable.kind.rfind("pcie", 0) == 0;
    if ((!nvlink && !pcie) || (is_switch(cable.a) && is_switch(cable.b))) return;
    const int a = is_switch(cable.a) ? kSwitches : cable.a, b = is_switch(cable.b) ? kSwitches : cable.b;
    const int gpu = device(cable.a).kind == linkcast::DeviceKind::kGpu ? cable.a : cable.b;
    const double width = cable.count * (nvlink ? nvlink_of(device(gpu).sm) : one_pcie(cable));
    for (const Leg& leg :
         {Leg{a, b, nvlink ? Leg::kNvlink : Leg::kPcie}, Leg{b, a, nvlink ? Leg::kNvlink : Leg::kPcie}})
      capacity_[leg] += width;
  }

  [[nodiscard]] double nvlink_of(int sm) const {
    if (sm < 70) return 18;
    if (sm < 90 || version_ < 20) return version_ < 10 ? 21 : version_ < 18 ? 22 : 20;
    return 20.6;  // source: models/libraries/SOURCES.md, an NVLink by compute capability
  }

  /// Lanes x 15, 30, 60, ... / 80; lanes from the nominal rate of generation 3 (8 GT/s) doubled by each one after.
  static double one_pcie(const linkcast::Cable& cable) {
    const int generation = cable.kind.at(4) - '0';
    const double lane = 8e9 * std::pow(2, generation - 3) * 128 / 130 / 8;  // source: PCI Express 3.0 base spec.
    return std::round(cable.bandwidth.si / lane) * 15 * std::pow(2, generation - 1) / 80;
  }

  [[nodiscard]] double between_cpus(const linkcast::Device& cpu) const {
    if (cpu.vendor == "ibm") return 32;
    if (cpu.vendor == "arm") return 6;
    if (cpu.vendor == "amd") return version_ < 19 ? 5000 : 16;
    if (cpu.model.find("E5-") != std::string::npos) return 6;
    if (cpu.model.find("Emerald") != std::string::npos && version_ >= 26) return 40;
    return version_ < 18 ? 9 : 10;
  }

  /// Worst class over which GPUs access each other's memory.
  [[nodiscard]] Class peer_limit(std::size_t members) const {
    const std::string& maker = cpu().vendor;
    if (maker == "amd") return version_ < 9 || members == 2 ? kSys : kPxb;
    if (maker == "ibm") return version_ < 27 ? kSys : kPxb;
    const bool skylake = maker == "intel" && cpu().model.find("E5-") == std::string::npos;
    return version_ < 9 && skylake ? kPhb : kPxb;
  }

  /// PCIe from a device up to its CPU.
  [[nodiscard]] std::vector<Leg> uplinks(int from, int below) const {
    for (const auto& [leg, width] : capacity_) {
      if (leg.kind != Leg::kPcie || leg.from != from || leg.to == below) continue;
      if (is_cpu(leg.to)) return {leg};
      if (device(leg.to).kind != linkcast::DeviceKind::kPcieSwitch) continue;
      std::vector<Leg> legs = uplinks(leg.to, from);
      if (legs.empty()) continue;
      legs.insert(legs.begin(), leg);
      return legs;
    }
    return {};
  }

  [[nodiscard]] std::vector<Leg> accelerator_way(int from, int to) const {
    const int a = gpus_[at(from)], b = gpus_[at(to)];
    if (capacity({a, b, Leg::kNvlink}) > 0) return {{a, b, Leg::kNvlink}};
    if (capacity({a, kSwitches, Leg::kNvlink}) > 0 && capacity({b, kSwitches, Leg::kNvlink}) > 0)
      return {{a, kSwitches, Leg::kNvlink}, {kSwitches, b, Leg::kNvlink}};
    return {};
  }

  static std::vector<Leg> turned(std::vector<Leg> legs) {
    std::reverse(legs.begin(), legs.end());
    for (Leg& leg : legs) std::swap(leg.from, leg.to);
    return legs;
  }

  /// NVLink to the CPU where there is one. Of two kinds of links up to the same CPU, up to 2.18 PCIe is charged.
  [[nodiscard]] std::vector<Leg> to_cpu(int gpu, bool upwards) const {
    const std::vector<Leg>& up = up_.at(gpu);
    const Leg nvlink{gpu, up.back().to, Leg::kNvlink};
    const bool beside = up.size() == 1 && upwards && version_ < 22;
    return capacity(nvlink) > 0 && !beside ? std::vector{nvlink} : up;
  }

  /// Without NVLink between the GPUs: over PCIe, CPUs and links between them.
  [[nodiscard]] Way pcie_way(int from, int to) const {
    const std::vector<Leg>&a = up_.at(gpus_[at(from)]), &b = up_.at(gpus_[at(to)]);
    const bool consent = version_ < 11 || machine_->topology().pcie_peer == linkcast::PciePeer::kSameSocket;
    for (std::size_t i = 0; i + 1 < a.size() && consent; ++i)
      for (std::size_t j = 0; j + 1 < b.size(); ++j) {
        if (a[i].to != b[j].to) continue;
        Way way{{a.begin(), a.begin() + static_cast<std::ptrdiff_t>(i) + 1}, i + j == 0 ? kPix : kPxb};
        const auto down = turned({b.begin(), b.begin() + static_cast<std::ptrdiff_t>(j) + 1});
        way.legs.insert(way.legs.end(), down.begin(), down.end());
        return way;
      }
    const int cpu_a = a.back().to, cpu_b = b.back().to;
    Way way{to_cpu(gpus_[at(from)], true), cpu_a == cpu_b ? kPhb : kSys};
    if (cpu_a != cpu_b) way.legs.push_back({cpu_a, cpu_b, Leg::kCpus});
    const auto down = turned(to_cpu(gpus_[at(to)], false));
    way.legs.insert(way.legs.end(), down.begin(), down.end());
    return way;
  }

  [[nodiscard]] double width(const Way& way) const {
    double least = capacity(way.legs.front());
    for (const Leg& leg : way.legs) least = std::min(least, capacity(leg));
    return least;
  }

  const linkcast::Platform* machine_;
  int version_;
  std::vector<int> gpus_;
  std::map<Leg, double> capacity_;
  std::map<int, std::vector<Leg>> up_;
};

}  // namespace linkcast::test::nccl_graph
