#pragma once
// Which of a fabric's ways the bytes between two endpoints take.
#include <limits>
#include <string>
#include <vector>

#include "sim/machine/fabric.hpp"

namespace linkcast {

enum class FabricRouting {
  kMinimal,   ///< one minimal way, chosen by the number of the target, as tables of InfiniBand and d-mod-k do
  kEcmp,      ///< one minimal way, chosen by a hash of both ends
  kValiant,   ///< all detours share evenly; minimal where there are none
  kAdaptive,  ///< all minimal ways share evenly, and what would wait there takes detours (adaptive_routing.hpp)
};

/// "minimal", "ecmp", "valiant", "adaptive". @throws InputError  lists the known ones
FabricRouting parse_fabric_routing(const std::string& text);
const std::vector<std::string>& fabric_routing_names();

struct WeightedLink {
  int link = 0;
  double share = 1;  ///< of the bytes; a link may be listed several times
};

/// Appends the links of the way(s) between two different endpoints. Deterministic.
/// @param most  ways: where there are more, so many at even distances, beginning by the number of the target
void add_fabric_links(const Fabric& fabric, FabricRouting routing, int from, int to, std::vector<WeightedLink>& links,
                      int most = std::numeric_limits<int>::max());

/// Sum of the latencies of a way's links.
Seconds fabric_latency(const Fabric& fabric, const std::vector<int>& way);
/// Of a minimal way.
Seconds fabric_latency(const Fabric& fabric, int from, int to);

}  // namespace linkcast
