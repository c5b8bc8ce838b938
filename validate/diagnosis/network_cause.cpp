#include "validate/diagnosis/network_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/parse.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::diagnosis {
namespace {

using Edits = std::vector<std::string>;

std::string number_text(double value) { return Json(value).dump(); }

std::ptrdiff_t nic_count(const Topology& wiring) {
  return std::count_if(wiring.devices.begin(), wiring.devices.end(),
                       [](const Device& device) { return device.kind == DeviceKind::kNic; });
}

/// One adapter, its port, its rail: slower, or gone so that the library does without.
void add_nics(const Topology& wiring, std::vector<Cause>& causes) {
  for (const Cable& cable : wiring.cables) {
    const auto nic = [&](int end) { return wiring.devices[static_cast<std::size_t>(end)].kind == DeviceKind::kNic; };
    if (!nic(cable.a) && !nic(cable.b)) continue;
    const std::string id = wiring.devices[static_cast<std::size_t>(nic(cable.a) ? cable.a : cable.b)].id;
    causes.push_back(graded_cause(CauseKind::kNic, id, id + " slower", false,
                                  [id](double times) { return Edits{"slow " + id + ":" + number_text(times)}; }));
    causes.push_back({CauseKind::kNic, id, false, {{1, id + " lost", {"remove " + cable.id}}}});
  }
}

/// Fewer adapters than there are: NCCL_IB_HCA names some, or the others' ports are down.
void add_rails(const Topology& wiring, std::vector<Cause>& causes) {
  const auto nics = nic_count(wiring);
  Cause cause{CauseKind::kNic, "all adapters", false, {}};
  for (auto used = nics / 2; used >= 1; used /= 2)
    cause.trials.push_back({1, fmt::format("{} of {} adapters used", used, nics), {fmt::format("nics {}", used)}});
  if (!cause.trials.empty()) causes.push_back(std::move(cause));
}

/// Access Control Services send what goes from device to device below one switch up to the CPU and back, where an IOMMU
/// translates: each NIC is as far from its GPU as if it hung at the CPU, and the library does not see it.
void add_iommu(const Platform& platform, std::vector<Cause>& causes) {
  const Topology& wiring = platform.wiring();
  const auto device = [&](int end) -> const Device& { return wiring.devices[static_cast<std::size_t>(end)]; };
  Edits edits;
  for (const Cable& cable : wiring.cables) {
    const bool first = device(cable.a).kind == DeviceKind::kNic;
    const Device &nic = device(first ? cable.a : cable.b), &other = device(first ? cable.b : cable.a);
    if (nic.kind != DeviceKind::kNic || other.kind == DeviceKind::kCpu || other.kind == DeviceKind::kGpu) continue;
    const auto at = platform.topology().find(nic.id);
    if (!at) continue;
    const int socket = platform.socket_of(*at);
    if (socket < 0) continue;
    edits.push_back("remove " + cable.id);
    edits.push_back(fmt::format("add {}-{}:{}{}", nic.id,
                                platform.topology().devices[static_cast<std::size_t>(socket)].id, cable.kind,
                                cable.count > 1 ? fmt::format(":{}", cable.count) : ""));
  }
  if (edits.empty() || !wiring.gpudirect_rdma) return;
  causes.push_back(
      {CauseKind::kIommu, "all NICs", false, {{1, "NICs reach GPUs through the CPU", edits, [](Json& query) {
                                                 if (!query.contains("gdr_level")) query["gdr_level"] = "SYS";
                                               }}}});
}

/// Every port of a node slower (an older generation, half of the lanes), or the links between switches.
void add_fabric(const Json& fabric, std::vector<Cause>& causes) {
  const std::string generator = fabric.value("generator", "");
  const Json links = fabric.value("links", Json::object());
  for (const auto& [name, link] : links.items()) {
    const bool ports = name == "host";
    const std::string part = ports ? "all ports" : name + " links", cable = link.value("cable", "");
    const auto shared = [&](const Json& other) { return other.value("cable", "") == cable; };
    const bool alone = std::count_if(links.begin(), links.end(), shared) == 1;
    if (ports ||
        alone)  // `scale` has every class that is of this cable; a slower switch behind a port shows as the port
      causes.push_back(graded_cause(CauseKind::kFabric, part, part + " slower", true, [cable](double times) {
        return Edits{"scale " + cable + ":" + number_text(1 / times)};
      }));
    else
      causes.push_back(graded_cause(CauseKind::kFabric, part, part + " slower", true,
                                    [start = "fabric " + generator + ":links." + name + ".bandwidth=",
                                     rate = parse_bandwidth(link.value("bandwidth", "")).si](double times) {
                                      return Edits{start + number_text(rate / times) + "B/s"};
                                    }));
  }
}

/// Ports of a node as the fabric says; empty: it says nothing.
Json host_port(const Topology& wiring) {
  if (!wiring.fabric.is_object()) return Json::object();
  return wiring.fabric.value("links", Json::object()).value("host", Json::object());
}

// A step of NVLSTree between nodes by NCCL's own table, PAT alike. source: NCCL, tuning.cc: 14 to 20.9 us
constexpr double kTableStep_s = 20.9e-6;

/// Steps between nodes that take so long, of rings, trees and the algorithms that have a table of their own; those that
/// no calibration has are set, too.
Edits network_hops(const Platform& platform, const std::function<double(double expected_s)>& hop_s) {
  const std::string family = library_family(usual_library(platform.topology()));
  Edits edits;
  for (const ParameterRow* row : parameter_rows()) {
    const bool step = row->meaning == key::library_network_hop.meaning;
    if (!step || !row->addable) continue;
    bool known = false;
    for (const auto& [name, parameter] : platform.calibration().parameters) {
      if (!is_of(name, *row) || name.rfind(family, 0) != 0) continue;
      known = true;
      edits.push_back("set " + name + "=" + number_text(hop_s(parameter.value)) + "s");
    }
    if (!known)
      edits.push_back(fmt::format("set {}.{}.{}={}s", family, row->subject, row->what,
                                  number_text(hop_s(row->prior ? row->prior->value : kTableStep_s))));
  }
  return edits;
}

// Steps that a slow proxy, plug-in or network makes of all protocols alike, and rates of other networks. source: ours,
// from half of NCCL's count for LL over InfiniBand to sockets on a busy host; rates from a generation to a quarter of
// the ports of two
constexpr double kSlowSteps_s[] = {10e-6, 15e-6, 22e-6, 33e-6, 50e-6, 75e-6, 110e-6};
constexpr double kNarrower[] = {1.5, 2, 3, 4, 8};
constexpr double kNarrowSteps_s[] = {15e-6, 33e-6, 75e-6};

/// No step between nodes is shorter than some time; where rates are given, too, these are divided.
/// @param cable  of the ports; empty: rates as they should be
void add_steps(const Platform& platform, const std::string& cable, std::vector<Cause>& causes) {
  Cause steps{CauseKind::kStartup, "every step between nodes", false, {}};
  const auto least = [&](double step_s) {
    return network_hops(platform, [step_s](double expected_s) { return std::max(step_s, expected_s); });
  };
  for (const double step_s : kSlowSteps_s)
    steps.trials.push_back(
        {1, fmt::format("every step between nodes takes {:.0f} us at least", step_s * 1e6), least(step_s)});
  causes.push_back(std::move(steps));
  if (cable.empty()) return;
  Cause narrow{CauseKind::kFabric, "a slower, narrower network", false, {}};
  for (const double step_s : kNarrowSteps_s)
    for (const double times : kNarrower) {
      Edits edits = least(step_s);
      edits.push_back("scale " + cable + ":" + number_text(1 / times));
      narrow.trials.push_back(
          {1, fmt::format("steps of {:.0f} us at least, rate 1/{:g}", step_s * 1e6, times), std::move(edits)});
    }
  causes.push_back(std::move(narrow));
}

/// Each step between nodes longer, the rates as they should be; or another network, slower in both.
void add_startup(const Platform& platform, std::vector<Cause>& causes) {
  const auto steps = [&platform](double times) {
    return network_hops(platform, [times](double expected_s) { return expected_s * times; });
  };
  causes.push_back(graded_cause(CauseKind::kStartup, "steps between nodes", "steps between nodes slower", true, steps));
  const std::string cable = host_port(platform.wiring()).value("cable", "");
  add_steps(platform, cable, causes);
  if (cable.empty()) return;
  causes.push_back(graded_cause(CauseKind::kFabric, "start-up and rate", "start-up and rate slower", true,
                                [steps, cable](double times) {
                                  Edits edits = steps(times);
                                  edits.push_back("scale " + cable + ":" + number_text(1 / times));
                                  return edits;
                                }));
}

// TCP: rates of a node, and what a step takes. source: NVIDIA/nccl#450, 4 to 6 GB/s of bus on 100 Gbit/s; a page of
// CSCS on NCCL without its plug-in, 5.4 GB/s on 4 x 200 Gbit/s; Ethernet of 10 and 25 Gbit/s. Steps: assumed, several
// times those of RDMA
constexpr double kSocketRates_Bps[] = {1.1e9, 2.6e9, 5.4e9, 11e9};
constexpr double kSocketHops_s[] = {25e-6, 60e-6};

/// The network is there and not used: sockets over host memory.
void add_sockets(const Topology& wiring, const Platform& platform, std::vector<Cause>& causes) {
  const Json port = host_port(wiring);
  const std::string cable = port.value("cable", "");
  const auto ports = nic_count(wiring);
  if (cable.empty() || ports == 0) return;
  const double node_Bps = static_cast<double>(ports) * parse_bandwidth(port.value("bandwidth", "")).si;
  Cause cause{CauseKind::kSockets, "all nodes", false, {}};
  for (const double rate_Bps : kSocketRates_Bps)
    for (const double hop_s : kSocketHops_s) {
      if (rate_Bps >= node_Bps) continue;
      Edits edits = network_hops(platform, [hop_s](double expected_s) { return std::max(hop_s, expected_s); });
      edits.push_back("scale " + cable + ":" + number_text(rate_Bps / node_Bps));
      if (wiring.gpudirect_rdma) edits.emplace_back("disable gpudirect");
      cause.trials.push_back({1, fmt::format("sockets: {:.1f} GB/s a node", rate_Bps / 1e9), std::move(edits)});
    }
  if (!cause.trials.empty()) causes.push_back(std::move(cause));
}

}  // namespace

std::vector<Cause> causes_between_nodes(const Platform& platform, const validate::Comparison& comparison) {
  std::vector<Cause> causes;
  if (std::none_of(comparison.points.begin(), comparison.points.end(), on_several_nodes)) return causes;
  add_nics(platform.wiring(), causes);
  if (platform.wiring().fabric.is_object()) add_fabric(platform.wiring().fabric, causes);
  causes.push_back({CauseKind::kGpuDirect, "all GPUs", false, {{1, "GPUDirect RDMA off", {"disable gpudirect"}}}});
  add_rails(platform.wiring(), causes);
  add_iommu(platform, causes);
  add_startup(platform, causes);
  add_sockets(platform.wiring(), platform, causes);
  return causes;
}

}  // namespace linkcast::diagnosis
