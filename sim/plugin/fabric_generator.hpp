#pragma once
// A rule that makes a fabric of any size from a few published parameters.
#include <memory>

#include "sim/platform/fabric.hpp"
#include "sim/plugin/registry.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast {

class FabricGenerator {
 public:
  FabricGenerator() = default;
  FabricGenerator(const FabricGenerator&) = delete;
  FabricGenerator& operator=(const FabricGenerator&) = delete;
  virtual ~FabricGenerator() = default;
  /// Reads its own keys of a topology's "fabric" object ("generator", "source" and "routing" are read already) and
  /// calls finish().
  /// @param nics_per_node  at least 1
  /// @throws InputError  a parameter is missing, unknown or impossible; says why, with the JSON pointer
  [[nodiscard]] virtual std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const = 0;
};

Registry<FabricGenerator>& fabric_generators();

}  // namespace linkcast
