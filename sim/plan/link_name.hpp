#pragma once
#include <cstddef>
#include <string>

#include "sim/machine/cluster.hpp"

namespace linkcast::activities {

/// Id of a key of the machine, as people read it. @param with_node  else it is of the one node
inline std::string link_name(const Cluster& machine, int key, bool with_node) {
  return with_node ? machine.id(key) : machine.node().constraints()[static_cast<std::size_t>(key)].id;
}

}  // namespace linkcast::activities
