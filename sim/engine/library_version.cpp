#include "sim/engine/library_version.hpp"

#include "sim/engine/simgrid_version.hpp"

namespace linkcast {

std::string simgrid_version() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace linkcast
