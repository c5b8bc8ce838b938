#include "sim/machine/inherit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "sim/base/file_hash.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"
#include "sim/machine/routing.hpp"
#include "sim/machine/structure.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::lending {

bool is_of_fabric(const std::string& name) {
  return is_of(name, key::network_growth) || is_of(name, key::network_hop_growth) || is_of(name, key::network_channel);
}

namespace {

// What a parameter of one machine is off by as that of another one, standard error of its logarithm.
// source: start-ups of peer, local and staged copies on the seven calibrated machines of models/params differ by 0.20,
// 0.25 and 0.21 between each other
constexpr double kOtherStartup = 0.25;
// source: attainable over nominal rate of one kind of cable on the same machines: nvlink2 0.92 to 0.97, pcie3 0.66 to
// 0.87; local copies over the memory's rate 0.39 to 0.70
constexpr double kOtherRate = 0.15;
// The same of a newer or older kind of the same family. source: assumed, the spread of all kinds in models/params
constexpr double kOtherGeneration = 0.2;

/// The parameters of cables that are rates.
constexpr std::array kRates = {&key::cable_bandwidth, &key::cable_to_host,       &key::cable_from_host,
                               &key::cable_duplex,    &key::cable_kernel_duplex, &key::cable_flow_bandwidth,
                               &key::cable_store,     &key::cable_load};

constexpr double kTrained = 0.01;  // source: ours: rates of one kind as files print them differ by less

/// What a machine's data sheets say of the ways that copies take.
struct Nominal {
  double memory_Bps = 0;       ///< of a GPU's own memory
  double host_Bps = 0;         ///< from a GPU to its CPU
  double accelerator_Bps = 0;  ///< of all links of GPU 0, one direction
  double nic_Bps = 0;          ///< of the port of a NIC to the fabric; 0: no fabric
};

/// Nominal rate of the route from a GPU to the nearest CPU, of the GPU that has the fastest: another's may have trained
/// to fewer lanes. Infinity where no cable leads to one. A whole Platform would find the routes of all pairs first.
double host_rate_of(const Topology& wiring) {
  const Topology topology = merge_switch_planes(wiring);
  std::vector<Link> links;
  for (std::size_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    links.push_back({static_cast<int>(i), cable.a, cable.b});
    links.push_back({static_cast<int>(i), cable.b, cable.a});
  }
  const RouteGraph graph(topology, links, host_rule());
  double fastest = 0;
  for (const int gpu : topology.gpus()) {
    const RoutesFrom routes(graph, gpu);
    std::optional<Route> nearest;
    for (std::size_t d = 0; d < topology.devices.size(); ++d) {
      if (topology.devices[d].kind != DeviceKind::kCpu) continue;
      const auto route = routes.to(static_cast<int>(d));
      if (route && (!nearest || route->links.size() < nearest->links.size())) nearest = route;
    }
    double rate = std::numeric_limits<double>::infinity();
    if (!nearest) return rate;
    for (const int link : nearest->links) {
      const Cable& cable = topology.cables[static_cast<std::size_t>(links[static_cast<std::size_t>(link)].cable)];
      rate = std::min(rate, cable.count * cable.bandwidth.si);
    }
    fastest = std::max(fastest, rate);
  }
  return fastest;
}

Nominal nominal_of(const Topology& topology) {
  Nominal found;
  if (const auto model = find_gpu_model(first_gpu(topology).model)) found.memory_Bps = model->memory_Bps;
  found.host_Bps = host_rate_of(topology);
  const int first = topology.gpus().front();
  for (const Cable& cable : topology.cables)
    if (is_accelerator_cable(cable.kind) && trait_of(cable.kind) == CableTrait::kNone &&
        (cable.a == first || cable.b == first))
      found.accelerator_Bps += cable.count * cable.bandwidth.si;
  if (topology.fabric.is_object() && topology.fabric.contains("links") && topology.fabric["links"].contains("host"))
    found.nic_Bps = ObjectReader(topology.fabric, topology.path, "/fabric")
                        .object("links")
                        .object("host")
                        .bandwidth("bandwidth")
                        .si;
  return found;
}

/// Nominal rate of the widest cable of a kind; 0 where the machine has none.
double rate_of(const Topology& topology, const std::string& kind) {
  double widest_Bps = 0;
  for (const Cable& cable : topology.cables)
    if (cable.kind == kind) widest_Bps = std::max(widest_Bps, cable.bandwidth.si);
  return widest_Bps;
}

class Loan {
 public:
  Loan(const Topology& here, const std::vector<Lender>& machines)
      : here_(here), machines_(machines), borrower_(nominal_of(here)) {
    for (const Lender& machine : machines) nominal_.push_back(nominal_of(machine.topology));
  }

  std::map<std::string, Parameter> all() {
    std::set<std::string> kinds;
    for (const Cable& cable : here_.cables) kinds.insert(cable.kind);
    for (const std::string& kind : kinds) lend_cable(kind);
    for (const Cable& cable : here_.cables)
      if (is_pcie_cable(cable.kind)) narrow(cable);
    std::set<std::string> done;
    for (std::size_t i = 0; i < machines_.size(); ++i) lend_transports(i, done);
    for (std::size_t i = 0; i < machines_.size(); ++i) lend_library(i);
    return found_;
  }

 private:
  void lend(std::size_t machine, const std::string& name, const Parameter& parameter, const std::string& as,
            double scale, double spread) {
    Parameter copy = parameter;
    copy.value *= scale;
    if (copy.stderr_ > 0 || parameter.unit != "B")  // ends of size ranges are no quantities with an error
      copy.stderr_ = std::max(copy.stderr_ * scale, spread * std::abs(copy.value));
    copy.provenance = "inherited:" + machines_[machine].calibration.name;
    if (as != name || scale != 1) copy.provenance += ", " + (as != name ? name + " " : "") + "scaled by nominal rates";
    found_.try_emplace(as, copy);
  }

  /// Copies through host memory say that a cable carries at least so much, not what it could: other machines know more.
  [[nodiscard]] bool only_bounded(std::size_t machine, const std::string& kind) const {
    const Parameter* up = machines_[machine].calibration.find(key::cable_to_host(kind));
    return up && up->provenance.rfind("derived: as fast as", 0) == 0;
  }

  /// One rate of a kind of cable from the first machine that measured it: what the first says of copies does not keep
  /// another from saying what kernels get. @returns false if none did
  bool lend_rate(const CableRow& row, const std::string& from, const std::string& kind, double spread, bool bounded) {
    const std::string name = row(from).name;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      if (!bounded && only_bounded(i, from)) continue;
      const double there = rate_of(machines_[i].topology, from), here = rate_of(here_, kind);
      const Parameter* parameter = machines_[i].calibration.find(name);
      if (!parameter || parameter->inherited() || there <= 0) continue;
      const double scale = std::abs(here / there - 1) < kRounding ? 1 : here / there;
      lend(i, name, *parameter, row(kind).name, scale, spread);
      return true;
    }
    return false;
  }

  /// Other kinds of the family, the nearest generation first.
  static std::vector<std::string> related_to(const std::string& kind) {
    const CableKind* row = find_cable_kind(kind);
    std::vector<const CableKind*> related;
    for (const CableKind& other : kCableKinds)
      if (row && row->generation > 0 && other.family == row->family && other.maker == row->maker &&
          other.generation > 0)
        related.push_back(&other);
    std::stable_sort(related.begin(), related.end(), [&](const CableKind* a, const CableKind* b) {
      return std::abs(a->generation - row->generation) < std::abs(b->generation - row->generation);
    });
    std::vector<std::string> names;
    for (const CableKind* other : related) names.emplace_back(other->name);
    return names;
  }

  void lend_cable(const std::string& kind) {
    const std::vector<std::string> related = related_to(kind);
    for (const CableRow* row : kRates) {
      bool lent = lend_rate(*row, kind, kind, kOtherRate, false);
      for (const std::string& other : related) lent = lent || lend_rate(*row, other, kind, kOtherGeneration, false);
      if (!lent) lend_rate(*row, kind, kind, kOtherRate, true);
    }
  }

  /// PCIe that trained to fewer lanes than the widest of its kind: as much less, as rates of its own.
  void narrow(const Cable& cable) {
    const double share = cable.bandwidth.si / rate_of(here_, cable.kind);
    if (share > 1 - kTrained) return;
    for (const CableRow* row : kRates) {
      const auto whole = found_.find((*row)(cable.kind).name);
      if (whole == found_.end()) continue;
      Parameter own = whole->second;
      own.value *= share;
      own.stderr_ *= share;
      found_.try_emplace((*row)(one_cable(cable.kind, cable.id)).name, own);
    }
  }

  /// What rates of a transport are multiplied with; 0: it says nothing of the other machine.
  [[nodiscard]] double scale_of(std::size_t machine, const std::string& transport) const {
    const Nominal& there = nominal_[machine];
    const auto starts = [&](const char* text) { return transport.rfind(text, 0) == 0; };
    const auto ratio = [](double here_Bps, double there_Bps) {
      if (here_Bps <= 0 || there_Bps <= 0 || std::abs(here_Bps / there_Bps - 1) < kRounding) return 1.0;
      return here_Bps / there_Bps;
    };
    if (starts("local")) return ratio(borrower_.memory_Bps, there.memory_Bps);
    if (starts("peer") || starts("relay")) return ratio(borrower_.accelerator_Bps, there.accelerator_Bps);
    if (starts("h2d") || starts("d2h") || starts("staged")) return ratio(borrower_.host_Bps, there.host_Bps);
    return borrower_.nic_Bps > 0 && borrower_.nic_Bps == there.nic_Bps ? 1 : 0;  // messages
  }

  /// Whole curves: ranges of one machine do not fit those of another.
  void lend_transports(std::size_t machine, std::set<std::string>& done) {
    std::set<std::string> here;
    for (const auto& [name, parameter] : machines_[machine].calibration.parameters) {
      if (is_of(name, key::engine_turn) && !parameter.inherited())
        lend(machine, name, parameter, name, 1, kOtherStartup);
      const std::string transport(ParameterName(name).transport());
      if (transport.empty() || parameter.inherited()) continue;
      const double scale = scale_of(machine, transport);
      if (done.count(transport) > 0 || scale <= 0) continue;
      here.insert(transport);
      const bool rate = parameter.unit == "B/s";
      lend(machine, name, parameter, name, rate ? scale : 1, rate ? kOtherRate : kOtherStartup);
    }
    done.insert(here.begin(), here.end());
  }

  /// GPUs for each NIC; 0 without NICs.
  static double gpus_a_nic(const Topology& topology) {
    const auto nics = std::count_if(topology.devices.begin(), topology.devices.end(),
                                    [](const Device& device) { return device.kind == DeviceKind::kNic; });
    return nics > 0 ? static_cast<double>(topology.gpus().size()) / static_cast<double>(nics) : 0;
  }

  /// A GPU's proxy sends at the pace of a NIC and of the cables that GPUs share with it.
  [[nodiscard]] bool paced_alike(std::size_t machine) const {
    return scale_of(machine, "") == 1 && gpus_a_nic(machines_[machine].topology) == gpus_a_nic(here_);
  }

  /// Compute capabilities, x 10, of GPUs whose kernels a library runs alike: B200 and B300, gfx942 and gfx950 (MI300,
  /// MI350), RTX Blackwell and GB10. source: ours, by release; bases and rates of A100, H100 and B200, a generation
  /// apart, differ by 0.5 (models/params)
  [[nodiscard]] static bool runs_alike(int here, int there) {
    constexpr std::array<std::pair<int, int>, 3> kAlike = {{{100, 103}, {94, 95}, {120, 121}}};
    return here == there || std::any_of(kAlike.begin(), kAlike.end(), [&](const auto& pair) {
             return std::minmax(here, there) == std::minmax(pair.first, pair.second);
           });
  }

  /// What kernels cost follows the GPU, so that other generations lend nothing.
  void lend_library(std::size_t machine) {
    const Topology& there = machines_[machine].topology;
    if (!runs_alike(first_gpu(here_).sm, first_gpu(there).sm) || maker_of(there) != maker_of(here_)) return;
    for (const auto& [name, parameter] : machines_[machine].calibration.parameters)
      if (is_of_library(name) && !parameter.inherited() && !is_of_fabric(name) &&
          (!is_of(name, key::network_proxy) || paced_alike(machine)))
        lend(machine, name, parameter, name, 1, kOtherStartup);
  }

  static constexpr double kRounding = 1e-3;  // source: data sheets give four digits: 63.01 and 63.015 GB/s are one rate
  const Topology& here_;
  const std::vector<Lender>& machines_;
  Nominal borrower_;
  std::vector<Nominal> nominal_;
  std::map<std::string, Parameter> found_;
};

}  // namespace

std::map<std::string, Parameter> lend(const Topology& borrower, const std::vector<Lender>& lenders) {
  return Loan(borrower, lenders).all();
}

namespace {

constexpr const CableRow* kHostRates[] = {&key::cable_to_host, &key::cable_from_host, &key::cable_duplex,
                                          &key::cable_kernel_duplex};

/// Copies whose parameters this machine found itself. Rates of cables to the host alone say nothing of other copies.
int own_copies(const Calibration& calibration) {
  const auto of_host = [](const std::string& name) {
    return std::any_of(std::begin(kHostRates), std::end(kHostRates),
                       [&](const CableRow* row) { return name.ends_with("." + std::string(row->what)); });
  };
  return static_cast<int>(
      std::count_if(calibration.parameters.begin(), calibration.parameters.end(), [&](const auto& item) {
        const auto of = ParameterName(item.first).of();
        return !item.second.inherited() &&
               (of == ParameterOf::kTransport || (of == ParameterOf::kCable && !of_host(item.first)));
      }));
}

int gpu_distance(const Structure& here, const Structure& there) {
  constexpr int other_model = 1, other_release = 1;  // each a step farther than the one before
  if (here.gpu == there.gpu && here.sm == there.sm) return 0;
  return here.sm == there.sm ? other_model : other_release + other_model + generations_between(here, there);
}

std::string join_text(const Structure& s) {
  if (s.join == Join::kNone) return "GPUs on PCIe alone";
  return s.join_name + (s.join == Join::kSwitch ? " through a switch" : " from GPU to GPU");
}

std::string host_text(const Structure& s) {
  if (!s.host.empty()) return "CPU on " + s.host;
  return s.pcie_generation > 0 ? fmt::format("PCIe {}", s.pcie_generation) : "no PCIe";
}

std::string compared(const std::string& here, const std::string& there) {
  return here == there ? there + " as here" : there + ", here " + here;
}

std::string alike(const Structure& here, const Structure& there) {
  const std::string gpu = here.gpu == there.gpu ? "same GPU " + there.gpu
                          : here.sm == there.sm ? there.gpu + ", the same compute capability"
                                                : there.gpu + ", the nearest release of GPUs";
  return gpu + "; " + compared(join_text(here), join_text(there)) + "; " + compared(host_text(here), host_text(there));
}

}  // namespace

std::vector<Relative> relatives_of(const Topology& topology, const std::vector<Lender>& machines) {
  using Distance = std::tuple<int, bool, bool, int, int, int, std::string>;
  const Structure here = structure_of(topology);
  std::vector<std::pair<Distance, Relative>> found;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Structure there = structure_of(machines[i].topology);
    const int copies = own_copies(machines[i].calibration);
    if (there.maker != here.maker || copies == 0) continue;
    found.emplace_back(
        Distance{gpu_distance(here, there), here.join != there.join, here.host != there.host,
                 std::abs(here.join_generation - there.join_generation),
                 std::abs(here.pcie_generation - there.pcie_generation), -copies, machines[i].calibration.name},
        Relative{i, alike(here, there)});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Relative> relatives;
  for (auto& [distance, relative] : found) relatives.push_back(std::move(relative));
  return relatives;
}

namespace {

// Machines that lend: the nearest, and two more for what it did not measure. source: ours, as many as the shipped
// machines without measurements have (calibrate/data/refit.sh)
constexpr std::size_t kMostLenders = 3;

/// The measurement that determines most of what is lent: a matrix of copies between all pairs.
std::string what_to_measure(const Topology& topology) {
  const bool amd = maker_of(topology) == "amd";
  return std::string("measure: ") +
         (amd ? "osu_bw and osu_latency between two GPUs (D D)" : "p2pBandwidthLatencyTest or nvbandwidth") + " on " +
         topology.name + " (docs/start.md)";
}

/// Machines that parameters were taken from, in the order of the list.
std::vector<std::string> machines_used(const Calibration& calibration, const std::vector<Lender>& machines) {
  std::vector<std::string> names;
  for (const Lender& one : machines) {
    const std::string provenance = "inherited:" + one.calibration.name;
    const bool used =
        std::any_of(calibration.parameters.begin(), calibration.parameters.end(), [&](const auto& parameter) {
          const std::string& from = parameter.second.provenance;
          return from == provenance || from.starts_with(provenance + ",");
        });
    if (used) names.push_back(one.calibration.name);
  }
  return names;
}

/// The one warning of a machine without measurements: where its figures are from, and what to measure.
std::string unmeasured_note(const Topology& topology, const Calibration& calibration,
                            const std::vector<Lender>& machines, const std::string& alike) {
  const std::vector<std::string> names = machines_used(calibration, machines);
  std::string from;
  for (std::size_t i = 0; i < names.size(); ++i) {
    from += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
    if (i == 0 && names.front() == machines.front().calibration.name && !alike.empty()) from += " (" + alike + ")";
  }
  return "nothing was measured on " + topology.name + ": " +
         (from.empty() ? "figures are those of data sheets and tables, as the nearest machine, " +
                             machines.front().calibration.name + (alike.empty() ? "" : " (" + alike + ")") +
                             ", has none of its kinds of cables and copies"
                       : "figures are inherited from " + from + ", scaled by nominal rates") +
         "; " + what_to_measure(topology);
}

std::string hash_of(const std::map<std::string, Parameter>& parameters) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& [name, p] : parameters) text << name << ' ' << p.value << ' ' << p.stderr_ << '\n';
  return sha256_of_text(text.str());
}

}  // namespace

Calibration inherited_calibration(const Topology& topology, const std::vector<Lender>& machines,
                                  const std::string& library, const std::string& alike) {
  Calibration c;
  c.path = topology.path;
  c.name = c.topology = topology.name;
  c.default_library = library;
  c.parameters = lend(topology, machines);
  c.sha256 = hash_of(c.parameters);
  c.valid_from_B = machines.front().calibration.valid_from_B;
  c.valid_to_B = machines.front().calibration.valid_to_B;
  for (const Lender& one : machines) c.from.push_back({one.calibration.path, one.calibration.sha256});
  c.notes = {unmeasured_note(topology, c, machines, alike)};
  return c;
}

Calibration stranger(const Topology& topology, const std::vector<Lender>& machines, const std::string& library) {
  std::vector<Relative> relatives = relatives_of(topology, machines);
  if (relatives.empty())
    throw InputError(topology.path, "/devices",
                     "no measured machine has GPUs of this maker: measure it, then 'linkcast calibrate fit'");
  if (relatives.size() > kMostLenders) relatives.resize(kMostLenders);
  std::vector<Lender> lenders;
  for (const Relative& one : relatives) lenders.push_back(machines[one.lender]);
  return inherited_calibration(topology, lenders, library, relatives.front().alike);
}

}  // namespace linkcast::lending
