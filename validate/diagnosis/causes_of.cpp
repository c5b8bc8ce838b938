#include "validate/diagnosis/causes_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/parse.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"
#include "validate/diagnosis/network_cause.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::diagnosis {
namespace {

// source: PCI-SIG, PCI Express Base Specification: 16 lanes of a GPU's port
constexpr double kLanes = 16;

std::string factor_text(double factor) { return Json(factor).dump(); }

/// GPUs that took part.
std::set<int> gpus_of(const Platform& platform, const validate::Comparison& comparison) {
  std::set<int> gpus;
  const auto add = [&](const std::string& id) {
    const auto device = platform.wiring().find(id.substr(id.find('/') + 1));
    if (device) gpus.insert(*device);
  };
  for (const validate::ComparedPoint& point : comparison.points) {
    for (const char* end : {"src", "dst"})
      if (point.query.contains(end)) add(point.query[end].get<std::string>());
    if (point.query.contains("flows"))
      for (const Json& flow : point.query["flows"]) {
        add(flow[0].get<std::string>());
        add(flow[1].get<std::string>());
      }
    if (point.query.contains("gpus"))
      for (const Json& gpu : point.query["gpus"]) add(fmt::format("gpu{}", gpu.get<int>()));
    for (int gpu = 0; gpu < point.query.value("gpus_per_node", 0); ++gpu) add(fmt::format("gpu{}", gpu));
  }
  return gpus;
}

struct KernelParameter {
  std::string name;
  double value = 0;
  bool rate = false;  ///< else a time
};

/// Rates divided, times multiplied.
std::vector<std::string> slower(const std::vector<KernelParameter>& parameters, double times) {
  std::vector<std::string> edits;
  for (const auto& [name, value, rate] : parameters)
    edits.push_back("set " + name + "=" + factor_text(rate ? value / times : value * times) + (rate ? "B/s" : "s"));
  return edits;
}

class Causes {
 public:
  Causes(const Platform& platform, const validate::Comparison& comparison)
      : platform_(platform), wiring_(platform.wiring()), gpus_(gpus_of(platform, comparison)) {
    for (const validate::ComparedPoint& point : comparison.points) {
      const bool collective = validate::asks_collective(point.query);
      collectives_ = collectives_ || collective;
      copies_ = copies_ || !collective;
      host_ = host_ || validate::asks_for(Carrier::kHost, point.query);
      inside_ = inside_ || !on_several_nodes(point);
    }
  }

  std::vector<Cause> run() {
    add_links();
    add_pcie();
    add_peers();
    if (inside_) {
      add_gpus();
      add_clock();
    }
    if (collectives_) add_library();
    if (host_) add_numa();
    return std::move(causes_);
  }

 private:
  [[nodiscard]] const Device& device(int index) const { return wiring_.devices[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool is_gpu(int index) const { return device(index).kind == DeviceKind::kGpu; }
  [[nodiscard]] bool took_part(int index) const { return gpus_.count(index) > 0; }

  void add(CauseKind kind, const std::string& part, std::vector<Trial> trials) {
    causes_.push_back({kind, part, false, std::move(trials)});
  }
  /// A fault that may be slight or bad. @param edits  of a factor; outlives this
  template <class Edits>
  void add_graded(CauseKind kind, const std::string& part, const std::string& what, Edits edits) {
    const bool whole = kind == CauseKind::kClock || kind == CauseKind::kChannels;
    causes_.push_back(graded_cause(kind, part, what, whole, edits));
  }

  /// NVLinks and their like: some of a bundle gone, or all of it slower (packets sent again, lanes lost).
  void add_links();
  void add_link(const Cable& cable, const std::string& part);
  /// All that joins a GPU to NVSwitches slower.
  void add_links_of(const std::string& gpu, const std::vector<std::string>& cables);
  /// Every cable of a kind slower.
  void add_all_of(CauseKind kind, const std::string& cable);
  /// PCIe: half, a quarter, ... of the lanes, or an older generation, of one cable or of all.
  void add_pcie();
  void add_peers();
  void add_gpus() {
    for (const int gpu : gpus_) {
      if (!is_gpu(gpu)) continue;
      const std::string id = device(gpu).id;
      add_graded(CauseKind::kGpu, id, id + " slower",
                 [id](double times) { return std::vector<std::string>{"slow " + id + ":" + factor_text(times)}; });
    }
  }
  /// Clocks of all GPUs: of their multiprocessors alone, or of all that they do.
  void add_clock();
  void add_library();
  void add_numa();
  /// Rates of thread blocks, and latencies of kernels.
  [[nodiscard]] std::vector<KernelParameter> kernel_parameters(bool latencies) const;

  const Platform& platform_;
  const Topology& wiring_;
  std::set<int> gpus_;  ///< device indices
  bool collectives_ = false, copies_ = false, host_ = false;
  bool inside_ =
      false;  ///< some point is of one node; times between nodes do not separate a GPU from the network before it
  std::vector<Cause> causes_;
};

void Causes::add_link(const Cable& cable, const std::string& part) {
  std::vector<Trial> trials;
  const bool plane = !is_gpu(cable.a) || !is_gpu(cable.b);
  for (int lost = 1; lost <= cable.count; ++lost) {
    const std::string some = lost < cable.count ? fmt::format(":{}", lost) : "";
    trials.push_back(
        {1, fmt::format("{} without {} {}", part, lost, lost > 1 ? "links" : "link"), {"remove " + cable.id + some}});
  }
  add(CauseKind::kLinks, part, std::move(trials));
  if (plane) return;
  add_graded(CauseKind::kLinks, part, part + " slower", [id = cable.id](double times) {
    return std::vector<std::string>{"scale " + id + ":" + factor_text(1 / times)};
  });
}

void Causes::add_links_of(const std::string& gpu, const std::vector<std::string>& cables) {
  const std::string part = "links of " + gpu;
  add_graded(CauseKind::kLinks, part, part + " slower", [cables](double times) {
    std::vector<std::string> edits;
    for (const std::string& cable : cables) edits.push_back("scale " + cable + ":" + factor_text(1 / times));
    return edits;
  });
}

void Causes::add_links() {
  std::set<std::string> kinds;
  std::map<int, std::vector<std::string>> to_switches;  // cables by GPU
  std::set<std::pair<int, int>> planes;  // stripes over the planes of an NVSwitch are equal: one of each size is enough
  for (const Cable& cable : wiring_.cables) {
    const CableKind* kind = find_cable_kind(cable.kind);
    if (kind == nullptr || kind->family != CableFamily::kAccelerator) continue;
    const bool between = is_gpu(cable.a) && is_gpu(cable.b);
    const int gpu = is_gpu(cable.a) ? cable.a : cable.b;
    if (between ? !took_part(cable.a) || !took_part(cable.b) : !took_part(gpu)) continue;
    kinds.insert(cable.kind);
    if (between)
      add_link(cable, cable.id);
    else if (planes.emplace(gpu, cable.count).second)
      add_link(cable, "links of " + device(gpu).id);
    if (!between) to_switches[gpu].push_back(cable.id);
  }
  if (inside_)
    for (const auto& [gpu, cables] : to_switches) add_links_of(device(gpu).id, cables);
  for (const std::string& kind : kinds) add_all_of(CauseKind::kLinks, kind);
}

void Causes::add_all_of(CauseKind kind, const std::string& cable) {
  add_graded(kind, "all " + cable, "all " + cable + " slower", [cable](double times) {
    return std::vector<std::string>{"scale " + cable + ":" + factor_text(1 / times)};
  });
  causes_.back().whole_machine = true;
}

void Causes::add_pcie() {
  std::set<std::string> kinds;
  const auto older = [](const std::string& kind) {
    std::vector<std::string> all;
    for (int generation = cable_generation(kind) - 1; generation > 0; --generation)
      if (const CableKind* old = cable_kind_of(CableFamily::kPcie, generation)) all.emplace_back(old->name);
    return all;
  };
  for (const Cable& cable : wiring_.cables) {
    const CableKind* kind = find_cable_kind(cable.kind);
    if (kind == nullptr || kind->family != CableFamily::kPcie) continue;
    if (device(cable.a).kind == DeviceKind::kNic || device(cable.b).kind == DeviceKind::kNic) continue;
    if ((is_gpu(cable.a) && !took_part(cable.a)) || (is_gpu(cable.b) && !took_part(cable.b))) continue;
    kinds.insert(cable.kind);
    std::vector<Trial> trials;
    for (int lanes = 8; lanes >= 1; lanes /= 2)  // of 16
      trials.push_back({1,
                        fmt::format("{} with {} of 16 lanes", cable.id, lanes),
                        {"scale " + cable.id + ":" + factor_text(lanes / kLanes)}});
    for (const std::string& old : older(cable.kind))
      trials.push_back({1, cable.id + " as " + old, {"swap " + cable.id + ":" + old}});
    add(CauseKind::kPcie, cable.id, std::move(trials));
  }
  for (const std::string& kind : kinds) {
    std::vector<Trial> trials;
    for (const std::string& old : older(kind)) trials.push_back({1, "all as " + old, {"swap " + kind + ":" + old}});
    if (!trials.empty()) add(CauseKind::kPcie, "all " + kind, std::move(trials));
    add_all_of(CauseKind::kPcie, kind);
  }
}

/// Copies between these GPUs go through host memory.
void without_access(Json& query) {
  if (!validate::asks_for(Carrier::kPeer, query)) return;
  query["transport"] = "staged";
  for (const char* key : {"direction", "engine"}) query.erase(key);
}

void Causes::add_peers() {
  const auto off = [](Json& query) {
    if (query["kind"] != "p2p") query["edits"].push_back("disable p2p");
    without_access(query);
  };
  add(CauseKind::kPeers, "all pairs", {{1, "P2P off between all pairs", {}, off}});
  if (collectives_)
    for (const char* level : {"NVL", "PIX", "PXB", "PHB"})
      add(CauseKind::kPeers, std::string("pairs beyond ") + level,
          {{1, std::string("NCCL_P2P_LEVEL=") + level, {}, [level](Json& query) {
              if (validate::asks_collective(query)) query["p2p_level"] = level;
            }}});
  if (!copies_) return;
  const Platform& platform = platform_;
  for (const int gpu : gpus_) {
    if (!is_gpu(gpu)) continue;
    const std::string id = device(gpu).id;
    add(CauseKind::kPeers, id, {{1, "P2P off to and from " + id, {}, [id](Json& query) {
                                   if (query.value("src", "") == id || query.value("dst", "") == id)
                                     without_access(query);
                                 }}});
  }
  const auto socket = [&platform](const Json& query, const char* end) {
    const auto found = platform.topology().find(query.value(end, ""));
    return found ? platform.socket_of(*found) : -1;
  };
  add(CauseKind::kPeers, "pairs across sockets", {{1, "P2P off across sockets", {}, [socket](Json& query) {
                                                     if (socket(query, "src") != socket(query, "dst"))
                                                       without_access(query);
                                                   }}});
  for (std::size_t i = 0; i < platform.topology().devices.size(); ++i) {
    if (platform.topology().devices[i].kind != DeviceKind::kCpu) continue;
    const int cpu = static_cast<int>(i);
    const std::string id = platform.topology().devices[i].id;
    add(CauseKind::kPeers, "GPUs of " + id, {{1, "P2P off between GPUs of " + id, {}, [socket, cpu](Json& query) {
                                                if (socket(query, "src") == cpu && socket(query, "dst") == cpu)
                                                  without_access(query);
                                              }}});
  }
}

std::vector<KernelParameter> Causes::kernel_parameters(bool latencies) const {
  std::vector<KernelParameter> found;
  for (const auto& [name, parameter] : platform_.calibration().parameters) {
    const ParameterName parts(name);
    const bool library = is_of_library(name) && !parts.subject.starts_with("network");
    const bool kernels = parts.transport().ends_with("_sm");
    const bool rate = (library && parts.what == key::ring_channel["LL"].what) ||
                      (latencies && kernels && is_of(name, key::range_bandwidth));
    const bool time =
        latencies && ((library && (parts.what == key::library_base.what || parts.what == key::library_hop.what)) ||
                      (kernels && (is_of(name, key::startup) || is_of(name, key::flat))));
    if (rate || time) found.push_back({name, parameter.value, rate});
  }
  return found;
}

void Causes::add_clock() {
  add_graded(CauseKind::kClock, "multiprocessors of all GPUs", "kernels of all GPUs slower",
             [parameters = kernel_parameters(true)](double times) { return slower(parameters, times); });
  std::vector<std::string> ids;
  for (const int gpu : gpus_)
    if (is_gpu(gpu)) ids.push_back(device(gpu).id);
  add_graded(CauseKind::kClock, "all GPUs", "all GPUs slower", [ids](double times) {
    std::vector<std::string> edits;
    for (const std::string& id : ids) edits.push_back("slow " + id + ":" + factor_text(times));
    return edits;
  });
}

void Causes::add_library() {
  const auto force = [&](CauseKind kind, const char* key, const Json& value, const std::string& text) {
    add(kind, text, {{1, text, {}, [key, value](Json& query) {
                        if (validate::asks_collective(query) && !query.contains(key)) query[key] = value;
                      }}});
  };
  force(CauseKind::kMulticast, "nvls", false, "NCCL_NVLS_ENABLE=0");
  for (const char* protocol : {"LL", "LL128", "Simple"})
    force(CauseKind::kProtocol, "protocol", protocol, std::string("NCCL_PROTO=") + protocol);
  force(CauseKind::kProtocol, "algorithm", "ring", "NCCL_ALGO=Ring");
  force(CauseKind::kProtocol, "algorithm", "tree", "NCCL_ALGO=Tree");
  add_graded(CauseKind::kChannels, "all channels", "fewer channels",
             [parameters = kernel_parameters(false)](double times) { return slower(parameters, times); });
}

void Causes::add_numa() {
  const Topology& topology = platform_.topology();
  for (const Device& cpu : topology.devices) {
    if (cpu.kind != DeviceKind::kCpu) continue;
    const std::string id = cpu.id;
    add(CauseKind::kNuma, "host memory on " + id, {{1, "all host memory on " + id, {}, [id](Json& query) {
                                                      if (!validate::asks_for(Carrier::kHost, query)) return;
                                                      for (const char* end : {"src", "dst"})
                                                        if (query[end].get<std::string>().rfind("cpu", 0) == 0)
                                                          query[end] = id;
                                                    }}});
  }
}

}  // namespace

std::vector<Cause> causes_of(const Platform& platform, const validate::Comparison& comparison) {
  std::vector<Cause> causes = Causes(platform, comparison).run();
  for (Cause& cause : causes_between_nodes(platform, comparison)) causes.push_back(std::move(cause));
  return causes;
}

}  // namespace linkcast::diagnosis
