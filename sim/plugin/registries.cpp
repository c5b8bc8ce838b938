// The registries live in function-local statics: ready before any plug-in registers itself, whatever the link order.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast {

Registry<Collective>& collectives() {
  static Registry<Collective> registry("collective");
  return registry;
}

Registry<Library>& libraries() {
  static Registry<Library> registry("library");
  return registry;
}

}  // namespace linkcast
