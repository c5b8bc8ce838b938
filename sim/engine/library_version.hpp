#pragma once
#include <string>

namespace linkcast {

/// SimGrid's, as it was built with: "3.32.0"
std::string simgrid_version();

}  // namespace linkcast
