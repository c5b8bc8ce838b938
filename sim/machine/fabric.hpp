#pragma once
// The network between nodes: switches and cables that follow a rule, so that none of them is stored and every route is
// computed when asked for; which route the bytes take; generators that make a fabric of any size from a few published
// parameters. Structure and nominal rates only.
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/machine/registry.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast {

/// What the links of one class have in common.
struct FabricLinkClass {
  std::string name;          ///< host, local, global, ...: unique in its fabric
  std::string cable;         ///< slingshot, ib_hdr, apelink, ...
  BytesPerSecond bandwidth;  ///< nominal, one direction
  Seconds latency;           ///< from the start of one end to the start of the next: cable and the switch behind it
  std::string source;
};

/// One direction of a cable. The opposite direction of link i is link i ^ 1.
struct FabricLink {
  int from = 0, to = 0;  ///< vertices: endpoints are 0 to endpoints() - 1, switches follow
  int link_class = 0;    ///< index into Fabric::classes()
};

/// A fabric of a given size. Endpoint node * nics_per_node + k is NIC k of a node, however the rule places it.
/// Ways are lists of links from an endpoint to another one, numbered so that neighbouring numbers share few links.
class Fabric {
 public:
  Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  virtual ~Fabric() = default;

  [[nodiscard]] virtual int endpoints() const = 0;
  [[nodiscard]] virtual int switches() const = 0;
  /// Directed links: both directions of every cable.
  [[nodiscard]] virtual int links() const = 0;
  [[nodiscard]] virtual const std::vector<FabricLinkClass>& classes() const = 0;
  [[nodiscard]] virtual FabricLink link(int id) const = 0;
  /// "group3/leaf5"; an endpoint is "nic7".
  [[nodiscard]] virtual std::string vertex_name(int vertex) const = 0;

  /// Number of ways with the fewest links, at least 1; `from` and `to` differ.
  [[nodiscard]] virtual int minimal_ways(int from, int to) const = 0;
  /// Appends the links of minimal way `which`.
  virtual void minimal_way(int from, int to, int which, std::vector<int>& links) const = 0;
  /// Number of ways over an intermediate place (Valiant), 0 where the rule has none.
  [[nodiscard]] virtual int detours(int /*from*/, int /*to*/) const { return 0; }
  /// Appends the links of detour `which`.
  virtual void detour(int /*from*/, int /*to*/, int /*which*/, std::vector<int>& /*links*/) const {}

  /// Whether the ways between two endpoints are those between their switches, whichever endpoints of these they are.
  [[nodiscard]] virtual bool ways_of_switches() const { return false; }
  /// How often turned() has to be applied until every switch is back where it was; 1: no turn is known. A turn maps the
  /// links between switches onto links of their class, and ways onto ways.
  [[nodiscard]] virtual int turns() const { return 1; }
  /// Vertex, which is a switch, and link, which is between switches, after a turn.
  [[nodiscard]] virtual int turned_switch(int vertex) const { return vertex; }
  [[nodiscard]] virtual int turned_link(int link) const { return link; }

  /// How near two endpoints are, in words of this fabric, nearest first: "same switch", "same group", ...
  [[nodiscard]] virtual const std::vector<std::string>& distances() const = 0;
  /// Index into distances().
  [[nodiscard]] virtual int distance(int from, int to) const = 0;
};

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
/// @param flows  that share the bytes evenly; each is hashed by itself (ecmp)
void add_fabric_links(const Fabric& fabric, FabricRouting routing, int from, int to, std::vector<WeightedLink>& links,
                      int most = std::numeric_limits<int>::max(), int flows = 1);

/// Sum of the latencies of a way's links.
Seconds fabric_latency(const Fabric& fabric, const std::vector<int>& way);
/// Latency of a minimal route.
Seconds fabric_latency(const Fabric& fabric, int from, int to);

class FabricGenerator {
 public:
  FabricGenerator() = default;
  FabricGenerator(const FabricGenerator&) = delete;
  FabricGenerator& operator=(const FabricGenerator&) = delete;
  virtual ~FabricGenerator() = default;
  /// Reads its own keys of a topology's "fabric" object ("generator", "source", "routing", "flows", "sharp", "plugin"
  /// and "nics" are read already) and calls finish().
  /// @param nics_per_node  at least 1
  /// @throws InputError  a parameter is missing, unknown or impossible; says why, with the JSON pointer
  [[nodiscard]] virtual std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const = 0;
  /// Its own keys for so many nodes: full bisection, switches of 64 ports where they suffice. Of "links" every class,
  /// with what is assumed of those between switches.
  /// @param nics_per_node  at least 1
  [[nodiscard]] virtual Json sized(int nodes, int nics_per_node) const = 0;
};

Registry<FabricGenerator>& fabric_generators();

/// Tuners of network plug-ins by name: those of EFA on types of instances, and one whose rules nobody published.
const std::vector<std::string>& plugin_tuners();
inline constexpr const char* kUnknownTuner = "unknown";

/// Key "plugin" of a fabric. @throws InputError  a wrong key of it
NetworkPlugin plugin_of(const Topology& topology);

/// The "fabric" object of a topology, built.
struct BuiltFabric {
  std::string generator;
  std::string source;
  std::string routing;    ///< one of fabric_routing_names()
  int flows = 1;          ///< of one connection, each hashed by itself (ecmp)
  std::vector<int> nics;  ///< devices of the topology; NIC k of a node is nics[k]
  std::unique_ptr<Fabric> fabric;
};

/// Builds the fabric that a topology names.
/// @throws InputError  it names none, its generator is unknown, its NICs are no `nic` devices, a parameter is wrong
BuiltFabric build_fabric(const Topology& topology);
/// The fabric alone.
std::unique_ptr<Fabric> make_fabric(const Topology& topology);

}  // namespace linkcast
