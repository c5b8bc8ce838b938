#include "models/fabrics/switched_fabric.hpp"

#include <fmt/format.h>

#include <utility>

namespace linkcast::fabrics {

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
