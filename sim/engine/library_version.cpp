#include "sim/engine/library_version.hpp"

#include "sim/engine/simgrid_version.hpp"

namespace linkcast {

std::string simgrid_version() {
  return std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR) + "." +
         std::to_string(SIMGRID_VERSION_PATCH);
}

}  // namespace linkcast
