#include "calibrate/import/emulated_topology.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "calibrate/import/xml_node.hpp"
#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

using topology_import::XmlFile;
using topology_import::XmlNode;

// source: PCI classes that NVIDIA/nccl src/graph/topo.cc looks for
const char* const kGpuClass = "0x030200";
const char* const kSwitchClass = "0x068000";
const char* const kNobody = "fffe:ff:00.0";  // ours: a bus id that no GPU has
const char* const kHiddenSwitch = "ffff:ff:ff.f";

/// A real GPU: the elements from its CPU down to its pci element.
struct RealGpu {
  std::vector<XmlNode> way;
  XmlNode gpu;
  [[nodiscard]] std::string bus() const { return way.back().text("busid"); }
};

void collect(const std::vector<XmlNode>& above, std::map<int, RealGpu>& found) {
  for (const XmlNode& pci : above.back().children("pci")) {
    std::vector<XmlNode> way = above;
    way.push_back(pci);
    for (const XmlNode& gpu : pci.children("gpu"))
      if (!found.emplace(gpu.number("dev", 0), RealGpu{way, gpu}).second) gpu.fail("dev", "is listed twice");
    collect(way, found);
  }
}

std::vector<RealGpu> real_gpus(const XmlFile& file) {
  const XmlNode root = file.root_named("system", "not a topology file of NCCL");
  std::map<int, RealGpu> found;
  for (const XmlNode& cpu : root.children("cpu")) collect({cpu}, found);
  std::vector<RealGpu> ordered;
  for (auto& [dev, real] : found) {
    if (dev != static_cast<int>(ordered.size()))
      real.gpu.fail("dev", "dev " + std::to_string(ordered.size()) + " is missing: dump it from a job on all GPUs");
    ordered.push_back(std::move(real));
  }
  if (ordered.empty()) file.root().fail("no gpu");
  return ordered;
}

class Writer {
 public:
  Writer(const std::vector<RealGpu>& real, const WishedLinks& target) : real_(real), target_(target) {}

  std::string text() {
    pugi::xml_document document;
    pugi::xml_node system = document.append_child("system");
    system.append_attribute("version") = "1";
    const int sockets = 1 + *std::max_element(target_.socket.begin(), target_.socket.end());
    for (int socket = 0; socket < sockets; ++socket) {
      pugi::xml_node cpu = copy(system, real_.front().way.front());
      if (sockets > 1) cpu.attribute("numaid") = socket;
      cpus_.push_back(cpu);
    }
    for (std::size_t gpu = 0; gpu < target_.socket.size(); ++gpu) place(gpu);
    std::ostringstream out;
    document.save(out, " ", pugi::format_default | pugi::format_no_declaration);
    return out.str();
  }

 private:
  static pugi::xml_node copy(pugi::xml_node parent, const XmlNode& of) {
    pugi::xml_node made = parent.append_child(of.name().c_str());
    for (const auto& [name, value] : of.attributes()) made.append_attribute(name.c_str()) = value.c_str();
    return made;
  }

  /// Whether a GPU of another socket hangs below the same element.
  [[nodiscard]] bool torn(const XmlNode& above, std::size_t gpu) const {
    for (std::size_t other = 0; other < target_.socket.size(); ++other) {
      if (target_.socket[other] == target_.socket[gpu]) continue;
      for (const XmlNode& step : real_[other].way)
        if (step.name() == "pci" && step.text("busid") == above.text("busid")) return true;
    }
    return false;
  }

  void place(std::size_t gpu) {
    const RealGpu& real = real_[gpu];
    pugi::xml_node at = cpus_[at_socket(gpu)];
    for (std::size_t i = 1; i + 1 < real.way.size(); ++i) {
      if (torn(real.way[i], gpu)) continue;
      const std::string bus = real.way[i].text("busid");
      const pugi::xml_node known = at.find_child_by_attribute("pci", "busid", bus.c_str());
      at = known ? known : copy(at, real.way[i]);
    }
    pugi::xml_node made = copy(at, real.way.back()).append_child("gpu");
    for (const char* kept : {"dev", "sm"}) made.append_attribute(kept) = real.gpu.text(kept).c_str();
    bool joined = false;
    for (std::size_t other = 0; other < target_.between[gpu].size(); ++other)
      if (const int count = target_.between[gpu][other]; count > 0) {
        link(made, real_[other].bus().c_str(), count, kGpuClass);
        joined = true;
      }
    if (target_.to_switch[gpu] > 0) link(made, kHiddenSwitch, target_.to_switch[gpu], kSwitchClass);
    if (!joined && target_.to_switch[gpu] == 0) link(made, kNobody, 1, kGpuClass);
  }

  [[nodiscard]] std::size_t at_socket(std::size_t gpu) const { return static_cast<std::size_t>(target_.socket[gpu]); }

  static void link(pugi::xml_node gpu, const char* target, int count, const char* kind) {
    pugi::xml_node made = gpu.append_child("nvlink");
    made.append_attribute("target") = target;
    made.append_attribute("count") = count;
    made.append_attribute("tclass") = kind;
  }

  const std::vector<RealGpu>& real_;
  const WishedLinks& target_;
  std::vector<pugi::xml_node> cpus_;
};

}  // namespace

std::vector<std::string> bus_ids_of_topology_file(const std::string& path) {
  std::vector<std::string> all;
  for (const RealGpu& real : real_gpus(XmlFile(path))) all.push_back(real.bus());
  return all;
}

std::string emulated_topology(const std::string& onto, const WishedLinks& target) {
  const XmlFile file(onto);
  const std::vector<RealGpu> real = real_gpus(file);
  if (real.size() < target.socket.size())
    throw InputError(onto + ": has " + std::to_string(real.size()) + " GPUs, and " +
                     std::to_string(target.socket.size()) + " are wished");
  return Writer(real, target).text();
}

}  // namespace linkcast
