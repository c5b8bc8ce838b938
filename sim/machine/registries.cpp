// The registries live in function-local statics: ready before any plug-in registers itself, whatever the link order.
#include "sim/machine/collective.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/topology_reader.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {

Registry<Collective>& collectives() {
  static Registry<Collective> registry("collective");
  return registry;
}

Registry<Library>& libraries() {
  static Registry<Library> registry("library");
  return registry;
}

const RingLibrary& ring_library(const std::string& name) {
  const RingLibrary* rings = libraries().get(name).rings();
  if (rings == nullptr)
    throw InputError("library: mpi-* sends messages by an algorithm: it builds no rings and has no protocols");
  return *rings;
}

Registry<FabricGenerator>& fabric_generators() {
  static Registry<FabricGenerator> registry("fabric");
  return registry;
}

Registry<TopologyReader>& topology_readers() {
  static Registry<TopologyReader> registry("format of topologies");
  return registry;
}

Registry<TraceImporter>& trace_importers() {
  static Registry<TraceImporter> registry("format");
  return registry;
}

Registry<TraceGenerator>& trace_generators() {
  static Registry<TraceGenerator> registry("application");
  return registry;
}

}  // namespace linkcast
