#include "cli/version.hpp"

#include <fmt/format.h>

#include "sim/engine/solvers.hpp"
#include "sim/query/provenance.hpp"

namespace linkcast::cli {

std::string version_text() {
  const std::string commit = query::build_commit();
  return fmt::format("linkcast {}{}\n{} build by {} {}, SimGrid {}", query::build_version(),
                     commit.empty() ? "" : " (" + commit + ")", LINKCAST_BUILD_TYPE, LINKCAST_COMPILER,
                     LINKCAST_COMPILER_VERSION, simgrid_version());
}

}  // namespace linkcast::cli
