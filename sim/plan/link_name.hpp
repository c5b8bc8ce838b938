#pragma once
#include <cstddef>
#include <string>

#include "sim/machine/cluster.hpp"

namespace linkcast::activities {

/// Id of a key of the machine: of a node alone without the node.
inline std::string link_name(const Cluster& machine, int key) {
  return machine.nodes() == 1 ? machine.node().constraints()[static_cast<std::size_t>(key)].id : machine.id(key);
}

}  // namespace linkcast::activities
