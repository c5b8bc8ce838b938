#include "models/fabrics/switched_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/machine/topology.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::fabrics {

int count_of(ObjectReader& parameters, const std::string& key, int least) {
  const int count = parameters.required<int>(key);
  if (count < least) parameters.fail(key, fmt::format("must be at least {}", least));
  return count;
}

int checked_count(const ObjectReader& parameters, const std::string& key, std::int64_t count, const std::string& what) {
  if (count > std::numeric_limits<int>::max() / 2)
    parameters.fail(key, fmt::format("too large: {} {}, at most 2^30 can be numbered", count, what));
  return static_cast<int>(count);
}

std::vector<FabricLinkClass> read_link_classes(ObjectReader& parameters, const std::vector<std::string>& names) {
  ObjectReader links = parameters.object("links");
  std::vector<FabricLinkClass> classes;
  for (const std::string& name : names) {
    ObjectReader r = links.object(name);
    FabricLinkClass c;
    c.name = name;
    c.cable = r.required<std::string>("cable");
    if (!is_fabric_cable(c.cable))
      r.fail("cable",
             "'" + c.cable + "' is no cable between nodes: " + known_cable_kinds(CableFamily::kNetwork) + " are known");
    c.bandwidth = r.bandwidth("bandwidth");
    if (c.bandwidth.si <= 0) r.fail("bandwidth", "must be above 0");
    c.latency = r.seconds("latency");
    c.source = r.required<std::string>("source");
    if (c.source.empty()) r.fail("source", "a rate without a source is not accepted");
    r.finish();
    classes.push_back(std::move(c));
  }
  links.finish();
  return classes;
}

void check_global_ports(const ObjectReader& parameters, const GroupCables& cables, int switches,
                        const std::string& what, int ports_of_each) {
  const std::int64_t there = static_cast<std::int64_t>(switches) * ports_of_each;
  if (cables.of_a_group() <= there) return;
  parameters.fail("groups",
                  fmt::format("{} cables to each of {} other groups need {} global ports; the {} {} of a group have {}",
                              cables.each, cables.groups - 1, cables.of_a_group(), switches, what, there));
}

void check_group_numbers(const ObjectReader& parameters, const GroupCables& cables, std::int64_t local_cables) {
  const std::int64_t all = cables.groups * local_cables + cables.groups * cables.of_a_group() / 2;
  checked_count(parameters, "groups", 2 * all, "links");
  checked_count(parameters, "global_links", cables.of_a_group() * cables.each, "detours");
}

Placement::Placement(ObjectReader& parameters, int nics_per_node, const std::string& ports_key,
                     std::optional<int> given_switches)
    : nics_(nics_per_node) {
  nodes_ = count_of(parameters, "nodes");
  checked_count(parameters, "nodes", static_cast<std::int64_t>(nodes_) * nics_, "endpoints");
  const int switches_per_node = given_switches ? *given_switches : count_of(parameters, "switches_per_node");
  if (nics_ % switches_per_node != 0)
    parameters.fail("switches_per_node", fmt::format("the {} NICs of a node do not spread evenly over {} switches",
                                                     nics_, switches_per_node));
  nics_per_switch_ = nics_ / switches_per_node;
  ports_ = count_of(parameters, ports_key);
  if (ports_ % nics_per_switch_ != 0)
    parameters.fail(ports_key, fmt::format("{} ports do not divide into nodes with {} NICs each at one switch", ports_,
                                           nics_per_switch_));
}

void Placement::group(const ObjectReader& parameters, int groups, int nodes_per_group, int switches, int stride,
                      const std::string& switches_key) {
  if (switches % switches_per_node() != 0)
    parameters.fail(switches_key, fmt::format("{} switches do not divide into sets of {} (switches_per_node)", switches,
                                              switches_per_node()));
  const std::int64_t room = static_cast<std::int64_t>(switches / switches_per_node()) * nodes_per_block();
  if (nodes_per_group > room)
    parameters.fail(parameters.has("nodes_per_group") ? "nodes_per_group" : "nodes",
                    fmt::format("{} nodes do not fit: {} switches with {} ports for NICs take {}", nodes_per_group,
                                switches, ports_, room));
  if (static_cast<std::int64_t>(groups) * nodes_per_group < nodes_)
    parameters.fail("nodes", fmt::format("{} nodes do not fit: {} groups of {} take {}", nodes_, groups,
                                         nodes_per_group, static_cast<std::int64_t>(groups) * nodes_per_group));
  nodes_per_group_ = nodes_per_group;
  stride_ = stride;
}

int Placement::switch_of(int endpoint) const {
  const int node = endpoint / nics_, nic = endpoint % nics_;
  const int block = node % nodes_per_group_ / nodes_per_block();
  return node / nodes_per_group_ * stride_ + block * switches_per_node() + nic / nics_per_switch_;
}

std::pair<int, int> PairNumbers::ends(int number) const {
  // The root of before(i) = number, then to the whole number below, whatever was rounded.
  const double middle = size_ - 0.5;
  int i = static_cast<int>(middle - std::sqrt(std::max(0.0, middle * middle - 2.0 * number)));
  while (i > 0 && before(i) > number) --i;
  while (before(i + 1) <= number) ++i;
  return {i, number - before(i) + i + 1};
}

Turned turned_pair(const PairNumbers& groups, int count, int cable, int first, int each) {
  const auto [a, b] = groups.ends((cable - first) / each);
  const int next_a = (a + 1) % count, next_b = (b + 1) % count;
  return {first + groups.number(next_a, next_b) * each + (cable - first) % each, next_a > next_b};
}

FabricLink SwitchedFabric::link(int id) const {
  const int cable = id / 2;
  FabricLink link;
  if (cable < endpoints()) {
    link = {cable, switch_of(cable), 0};
  } else {
    link = switch_cable(cable - endpoints());
    link.from += endpoints();
  }
  link.to += endpoints();
  if (id % 2 == 1) std::swap(link.from, link.to);
  return link;
}

std::string SwitchedFabric::vertex_name(int vertex) const {
  return vertex < endpoints() ? fmt::format("nic{}", vertex) : switch_name(vertex - endpoints());
}

int SwitchedFabric::minimal_ways(int from, int to) const {
  const int a = switch_of(from), b = switch_of(to);
  return a == b ? 1 : ways(a, b);
}

void SwitchedFabric::minimal_way(int from, int to, int which, std::vector<int>& links) const {
  const int a = switch_of(from), b = switch_of(to);
  links.push_back(2 * from);
  if (a != b) way(a, b, which, links);
  links.push_back(2 * to + 1);
}

int SwitchedFabric::detours(int from, int to) const {
  const int a = switch_of(from), b = switch_of(to);
  return a == b ? 0 : far_ways(a, b);
}

void SwitchedFabric::detour(int from, int to, int which, std::vector<int>& links) const {
  links.push_back(2 * from);
  far_way(switch_of(from), switch_of(to), which, links);
  links.push_back(2 * to + 1);
}

int SwitchedFabric::distance(int from, int to) const {
  const int a = switch_of(from), b = switch_of(to);
  return a == b ? 0 : switch_distance(a, b);
}

}  // namespace linkcast::fabrics
