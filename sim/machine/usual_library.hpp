#pragma once
// The communication library of a machine's time, where nobody says which one it runs.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/topology.hpp"

namespace linkcast {

class RingLibrary;

/// By the newest generation among its GPUs: the release that owners of such machines ran when they were new, as far as
/// the catalogue has it.
std::string usual_library(const Topology& topology);

/// NCCL_VERSION_CODE, as the library prints it: 2804 is 2.8, 22809 is 2.28. @returns major, minor
std::pair<int, int> nccl_version(int code);

/// Of the registered nccl-* the newest that is not newer than this version, else the oldest; empty if there is none.
std::string nearest_nccl(int major, int minor);

/// Registered versions of NCCL that have a capability, oldest first.
std::vector<std::string> nccl_versions(const std::function<bool(const RingLibrary&)>& has);

/// The oldest and the newest of nccl_versions(has), as messages write them: "nccl-2.7 to nccl-2.30".
std::string nccl_range(const std::function<bool(const RingLibrary&)>& has);

}  // namespace linkcast
