#pragma once
// The communication library of a machine's time, where nobody says which one it runs.
#include <string>
#include <utility>

#include "sim/machine/topology.hpp"

namespace linkcast {

/// By the newest generation among its GPUs: the release that owners of such machines ran when they were new, as far as
/// the catalogue has it.
std::string usual_library(const Topology& topology);

/// NCCL_VERSION_CODE, as the library prints it: 2804 is 2.8, 22809 is 2.28. @returns major, minor
std::pair<int, int> nccl_version(int code);

/// Of the registered nccl-* the newest that is not newer than this version, else the oldest; empty if there is none.
std::string nearest_nccl(int major, int minor);

}  // namespace linkcast
