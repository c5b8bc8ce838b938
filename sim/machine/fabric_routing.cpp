#include "sim/machine/fabric_routing.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/base/input_error.hpp"
#include "sim/base/random.hpp"

namespace linkcast {
namespace {

int hashed_way(int from, int to, int ways) {
  const auto both = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint64_t>(to);
  return static_cast<int>(mixed(both) % static_cast<std::uint64_t>(ways));
}

}  // namespace

const std::vector<std::string>& fabric_routing_names() {
  static const std::vector<std::string> names = {"minimal", "ecmp", "valiant", "adaptive"};
  return names;
}

FabricRouting parse_fabric_routing(const std::string& text) {
  const auto& names = fabric_routing_names();
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<FabricRouting>(it - names.begin());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw InputError("routing '" + text + "': one of " + list);
}

void add_fabric_links(const Fabric& fabric, FabricRouting routing, int from, int to, std::vector<WeightedLink>& links,
                      int most) {
  const int detours = routing == FabricRouting::kValiant ? fabric.detours(from, to) : 0;
  const int ways = detours > 0 ? detours : fabric.minimal_ways(from, to);
  const bool all = routing == FabricRouting::kAdaptive || routing == FabricRouting::kValiant;
  const int first = all && ways <= most ? 0 : routing == FabricRouting::kEcmp ? hashed_way(from, to, ways) : to % ways;
  const int taken = all ? std::min(ways, most) : 1;
  std::vector<int> way;
  for (int i = 0; i < taken; ++i) {
    const int which = static_cast<int>((first + static_cast<std::int64_t>(i) * ways / taken) % ways);
    way.clear();
    if (detours > 0)
      fabric.detour(from, to, which, way);
    else
      fabric.minimal_way(from, to, which, way);
    for (const int link : way) links.push_back({link, 1.0 / taken});
  }
}

Seconds fabric_latency(const Fabric& fabric, int from, int to) {
  std::vector<int> way;
  fabric.minimal_way(from, to, 0, way);
  return fabric_latency(fabric, way);
}

Seconds fabric_latency(const Fabric& fabric, const std::vector<int>& way) {
  Seconds sum;
  for (const int link : way)
    sum.si += fabric.classes()[static_cast<std::size_t>(fabric.link(link).link_class)].latency.si;
  return sum;
}

}  // namespace linkcast
