#pragma once
// A rule that makes a fabric of any size from a few published parameters.
#include <memory>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/registry.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast {

class FabricGenerator {
 public:
  FabricGenerator() = default;
  FabricGenerator(const FabricGenerator&) = delete;
  FabricGenerator& operator=(const FabricGenerator&) = delete;
  virtual ~FabricGenerator() = default;
  /// Reads its own keys of a topology's "fabric" object ("generator", "source", "routing", "sharp" and "nics" are read
  /// already) and calls finish().
  /// @param nics_per_node  at least 1
  /// @throws InputError  a parameter is missing, unknown or impossible; says why, with the JSON pointer
  [[nodiscard]] virtual std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const = 0;
};

Registry<FabricGenerator>& fabric_generators();

/// The "fabric" object of a topology, built.
struct BuiltFabric {
  std::string generator;
  std::string source;
  std::string routing;    ///< one of fabric_routing_names()
  std::vector<int> nics;  ///< devices of the topology; NIC k of a node is nics[k]
  std::unique_ptr<Fabric> fabric;
};

/// Builds the fabric that a topology names.
/// @throws InputError  it names none, its generator is unknown, its NICs are no `nic` devices, a parameter is wrong
BuiltFabric build_fabric(const Topology& topology);
/// The fabric alone.
std::unique_ptr<Fabric> make_fabric(const Topology& topology);

}  // namespace linkcast
