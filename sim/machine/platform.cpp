#include "sim/machine/platform.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/machine/routing.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

std::string link_id(const Topology& topology, const Link& link) {
  return topology.devices[static_cast<std::size_t>(link.from)].id + "->" +
         topology.devices[static_cast<std::size_t>(link.to)].id;
}

bool is_transport(const std::string& name) {
  const auto& messages = Transports::message_names();
  return Transports::known(name) || std::find(messages.begin(), messages.end(), name) != messages.end();
}

void check_parameter_names(const Calibration& calibration, const Topology& topology, const std::vector<Link>& links) {
  const std::set<std::string> kinds = topology.cable_kinds();
  std::set<std::string> ids;
  for (const Cable& cable : topology.cables) ids.insert(one_cable(cable.kind, cable.id));
  for (const Link& link : links) ids.insert(link_id(topology, link));
  for (const auto& [name, parameter] : calibration.parameters) {
    const ParameterName parts(name);
    const auto of = parts.of();
    const std::string subject(parts.subject);
    const bool known = of == ParameterOf::kCable  ? kinds.count(subject) || ids.count(subject)
                       : of == ParameterOf::kLink ? ids.count(subject) > 0
                                                  : of.has_value();
    if (!known)
      throw InputError(calibration.path, "/parameters/" + name,
                       "names no transport, cable kind, cable or link of topology " + topology.name);
    check_parameter_name(calibration.path, name);
    if (of == ParameterOf::kTransport && !is_transport(std::string(parts.transport())))
      throw InputError(calibration.path, "/parameters/" + name, "no such parameter of a " + std::string(parts.head));
  }
}

}  // namespace

Platform::Platform(Topology topology, Calibration calibration)
    : wiring_(std::move(topology)),
      topology_(merge_switch_planes(wiring_)),
      calibration_(std::move(calibration)),
      transports_(calibration_) {
  if (calibration_.topology != topology_.name)
    throw InputError(calibration_.path, "/topology",
                     "is for '" + calibration_.topology + "', not for '" + topology_.name + "'");
  build_links();
  check_parameter_names(calibration_, topology_, links_);
  build_host_routes();
  build_retry_rates();
  build_constraints();
  build_host_memory();
  build_processes();
  build_peer_routes();
  build_socket_routes();
}

Platform Platform::with_library_parameters(const std::map<std::string, Parameter>& changed) const {
  Platform other = *this;
  for (const auto& [name, parameter] : changed) other.calibration_.parameters[name] = parameter;
  return other;
}

Platform Platform::recording(std::shared_ptr<ParametersUsed> used) const {
  Platform other = *this;
  other.used_ = std::move(used);
  return other;
}

Platform Platform::with_library_topology(LibraryTopology seen) const {
  Platform other = *this;
  other.library_topology_ = std::move(seen);
  return other;
}

void Platform::build_links() {
  for (std::size_t i = 0; i < topology_.cables.size(); ++i) {
    const Cable& cable = topology_.cables[i];
    links_.push_back({static_cast<int>(i), cable.a, cable.b});
    links_.push_back({static_cast<int>(i), cable.b, cable.a});
    const CableKind* kind = find_cable_kind(cable.kind);
    forwards_.push_back(kind != nullptr && kind->trait == CableTrait::kForwarded);
    accelerator_.insert(accelerator_.end(), 2, is_accelerator_cable(cable.kind));
  }
}

std::optional<Resolved> Platform::cable_parameter(const Cable& cable, const ParameterRow& row) const {
  for (const ParameterKey& key : {row.key(one_cable(cable.kind, cable.id)), row.key(cable.kind)})
    if (calibration_.find(key)) return resolve(calibration_, key, 0);
  return std::nullopt;
}

std::vector<double> Platform::link_figures(int link) const {
  std::vector<double> figures;
  const Cable& cable = topology_.cables[static_cast<std::size_t>(links_[static_cast<std::size_t>(link)].cable)];
  for (const ParameterRow* row : parameter_rows()) {
    if (!row->breaks_symmetry()) continue;
    const auto one = row->of == ParameterOf::kLink ? link_parameter(link, *row) : cable_parameter(cable, *row);
    figures.insert(figures.end(), {one ? one->value : -1, one ? one->rel_error : -1});
  }
  return figures;
}

std::optional<Resolved> Platform::link_parameter(int link, const ParameterRow& row) const {
  const ParameterKey key = row.key(link_id(topology_, links_[static_cast<std::size_t>(link)]));
  return calibration_.find(key) ? std::optional(resolve(calibration_, key, 0)) : std::nullopt;
}

void Platform::build_retry_rates() {
  for (const Cable& cable : topology_.cables) {
    const auto both = cable_parameter(cable, key::cable_retry_rate);
    const CableFamily family = find_cable_kind(cable.kind)->family;
    for (int way = 0; way < 2; ++way) {
      const auto own = link_parameter(static_cast<int>(retry_rates_.size()), key::link_retry_rate);
      retry_rates_.push_back(own ? own->value : both ? both->value : 0);
      resend_s_.push_back(linkcast::resend_s(retry_rates_.back(), hop_s(family)));
    }
  }
}

/// Payload: what is sent again takes its share of the wire.
Resolved Platform::link_capacity(int link) const {
  Resolved rate = wire_rate(links_[static_cast<std::size_t>(link)]);
  rate.value *= 1 - retry_rate(link);
  return rate;
}

Resolved Platform::wire_rate(const Link& link) const {
  const Cable& cable = topology_.cables[static_cast<std::size_t>(link.cable)];
  if (const auto own = link_parameter(static_cast<int>(&link - links_.data()), key::link_bandwidth)) return *own;
  // Towards the host and away from it differ on PCIe: reads and writes of host memory are different transactions.
  const auto index = static_cast<std::size_t>(&link - links_.data());
  std::optional<Resolved> rate;
  if (is_pcie_cable(cable.kind))
    rate = cable_parameter(cable, towards_host_[index] ? key::cable_to_host : key::cable_from_host);
  if (!rate) rate = cable_parameter(cable, key::cable_bandwidth);
  if (!rate) rate = Resolved{cable.bandwidth.si, kNominalRelativeError, false, key::cable_bandwidth(cable.kind).name};
  rate->value *= cable.count;
  rate->edited = cable.edited;
  return *rate;
}

void Platform::build_constraints() {
  for (const Link& link : links_) {
    const Cable& cable = topology_.cables[static_cast<std::size_t>(link.cable)];
    const auto limit = [&](const CableRow& row) {
      const auto one = cable_parameter(cable, row);
      return one ? one->value : std::numeric_limits<double>::infinity();
    };
    const int index = static_cast<int>(flow_caps_.size());
    flow_caps_.push_back(limit(key::cable_flow_bandwidth) * (1 - retry_rate(index)));
    store_caps_.push_back(cable.count * limit(key::cable_store));
    load_caps_.push_back(cable.count * limit(key::cable_load));
  }
  for (std::size_t i = 0; i < links_.size(); ++i)
    constraints_.push_back({ConstraintKind::kLink, static_cast<int>(i), links_[i].cable, link_id(topology_, links_[i]),
                            link_capacity(static_cast<int>(i))});
  const auto cables = static_cast<int>(topology_.cables.size());
  for (int i = 0; i < cables; ++i)
    duplex_of_cable_.push_back(add_duplex(i, key::cable_duplex, ConstraintKind::kDuplex, "<->"));
  for (int i = 0; i < cables; ++i)
    kernel_duplex_of_cable_.push_back(add_duplex(i, key::cable_kernel_duplex, ConstraintKind::kKernelDuplex, "<=>"));
}

int Platform::add_duplex(int cable, const CableRow& row, ConstraintKind kind, const char* arrow) {
  const Cable& c = topology_.cables[static_cast<std::size_t>(cable)];
  auto both = cable_parameter(c, row);
  if (!both) return -1;
  both->value *= c.count * (1 - std::max(retry_rate(2 * cable), retry_rate(2 * cable + 1)));
  both->edited = c.edited;
  const auto& devices = topology_.devices;
  constraints_.push_back({kind, -1, cable,
                          devices[static_cast<std::size_t>(c.a)].id + arrow + devices[static_cast<std::size_t>(c.b)].id,
                          *both});
  return static_cast<int>(constraints_.size()) - 1;
}

void Platform::build_host_memory() {
  host_memory_.resize(topology_.devices.size());
  for (std::size_t d = 0; d < host_memory_.size(); ++d) {
    if (topology_.devices[d].kind != DeviceKind::kCpu) continue;
    const auto add = [&](const ParameterKey& key, const char* words) {
      if (!calibration_.find(key)) return -1;
      constraints_.push_back(
          {ConstraintKind::kHostMemory, -1, -1, topology_.devices[d].id + words, resolve(calibration_, key, 0)});
      return static_cast<int>(constraints_.size()) - 1;
    };
    host_memory_[d] = {add(key::host_write(), " memory, written"), add(key::host_read(), " memory, read"),
                       add(key::host_both(), " memory")};
  }
}

double Platform::process_copy_Bps() { return key::inside_bandwidth.prior->value; }

void Platform::build_processes() {
  first_process_ = static_cast<int>(constraints_.size());
  const Resolved pace{process_copy_Bps(), 0, true, ""};
  for (const int gpu : topology_.gpus())
    constraints_.push_back(
        {ConstraintKind::kProcess, -1, -1, topology_.devices[static_cast<std::size_t>(gpu)].id + " process", pace});
}

void Platform::build_host_routes() {
  const auto count = topology_.devices.size();
  to_host_.resize(count);
  from_host_.resize(count);
  socket_of_.assign(count, -1);
  towards_host_.assign(links_.size(), 0);
  const RouteGraph graph(topology_, links_, host_rule());
  std::map<std::size_t, RoutesFrom> from_cpu;
  for (std::size_t cpu = 0; cpu < count; ++cpu)
    if (topology_.devices[cpu].kind == DeviceKind::kCpu) from_cpu.try_emplace(cpu, graph, static_cast<int>(cpu));
  for (std::size_t d = 0; d < count; ++d) {
    const DeviceKind kind = topology_.devices[d].kind;
    if (kind != DeviceKind::kGpu && kind != DeviceKind::kNic) continue;
    const RoutesFrom routes(graph, static_cast<int>(d));
    for (const auto& [cpu, down] : from_cpu) {
      const auto up = routes.to(static_cast<int>(cpu));
      if (!up || (socket_of_[d] >= 0 && up->links.size() >= to_host_[d].links.size())) continue;
      socket_of_[d] = static_cast<int>(cpu);
      to_host_[d] = *up;
      from_host_[d] = *down.to(static_cast<int>(d));
    }
    for (const int link : to_host_[d].links) towards_host_[static_cast<std::size_t>(link)] = 1;
  }
}

void Platform::build_socket_routes() {
  const auto count = static_cast<int>(topology_.devices.size());
  const auto is_cpu = [&](int d) { return topology_.devices[static_cast<std::size_t>(d)].kind == DeviceKind::kCpu; };
  const RouteGraph graph(topology_, links_, socket_rule());
  for (int from = 0; from < count; ++from) {
    if (!is_cpu(from)) continue;
    const RoutesFrom routes(graph, from);
    for (int to = 0; to < count; ++to)
      if (is_cpu(to))
        if (auto route = routes.to(to)) socket_routes_[{from, to}] = std::move(*route);
  }
}

BytesPerSecond Platform::narrowest(const Route& route) const {
  BytesPerSecond least{std::numeric_limits<double>::infinity()};
  for (const int link : route.links) {
    const Cable& cable = topology_.cables[static_cast<std::size_t>(links_[static_cast<std::size_t>(link)].cable)];
    least = std::min(least, BytesPerSecond{cable.count * cable.bandwidth.si});
  }
  return least;
}

void Platform::build_peer_routes() {
  const bool pcie = topology_.pcie_peer != PciePeer::kNone;
  const RouteGraph accelerators(topology_, links_, accelerator_rule()), switched(topology_, links_, switched_rule());
  const RouteGraph forwarding(topology_, links_, forwarding_rule()),
      peers(topology_, links_, pcie_peer_rule(topology_.pcie_peer));
  for (const int source : topology_.gpus()) {
    const RoutesFrom direct(accelerators, source), by_switches(switched, source);
    std::optional<RoutesFrom> forwarded, over_pcie;  // where something is not joined directly
    for (const int target : topology_.gpus()) {
      auto route = direct.to(target);
      // Peers below NVSwitches use these all the same if a cable between them carries less.
      if (route && route->links.size() == 1)
        if (auto other = by_switches.to(target); other && narrowest(*other) > narrowest(*route))
          route = std::move(other);
      if (!route && !forwarded) forwarded.emplace(forwarding, source);
      if (!route) route = forwarded->to(target);
      if (!route && pcie && !over_pcie) over_pcie.emplace(peers, source);
      if (!route && pcie) route = over_pcie->to(target);
      peer_routes_[{source, target}] = std::move(route);
    }
  }
}

const Route& Platform::to_host(int device) const {
  if (socket_of(device) < 0)
    throw InputError("platform " + topology_.name + ": " + topology_.devices[static_cast<std::size_t>(device)].id +
                     " has no path to a CPU");
  return to_host_[static_cast<std::size_t>(device)];
}
const Route& Platform::from_host(int device) const {
  static_cast<void>(to_host(device));  // throws if there is no way
  return from_host_[static_cast<std::size_t>(device)];
}
int Platform::socket_of(int device) const { return socket_of_[static_cast<std::size_t>(device)]; }

const std::optional<Route>& Platform::peer_route(int source, int target) const {
  return peer_routes_.at({source, target});
}

const Route& Platform::between_sockets(int from_cpu, int to_cpu) const {
  const auto it = socket_routes_.find({from_cpu, to_cpu});
  if (it != socket_routes_.end()) return it->second;
  throw InputError("platform " + topology_.name + ": no cable joins the sockets " +
                   topology_.devices[static_cast<std::size_t>(from_cpu)].id + " and " +
                   topology_.devices[static_cast<std::size_t>(to_cpu)].id);
}

bool Platform::accelerators_only(const std::vector<int>& links) const {
  return std::all_of(links.begin(), links.end(),
                     [&](int link) { return accelerator_[static_cast<std::size_t>(link)]; });
}

std::vector<int> Platform::relays(int source, int target) const {
  const auto joined = [&](int from, int to) {
    const auto& route = peer_route(from, to);
    return route && accelerators_only(route->links);
  };
  std::vector<int> found;
  for (const int gpu : topology_.gpus())
    if (gpu != source && gpu != target && joined(source, gpu) && joined(gpu, target)) found.push_back(gpu);
  return found;
}

}  // namespace linkcast
