#pragma once
// Which nodes of a cluster hang on which switch, as a resource manager knows it.
#include <map>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast {

struct NodeGroup {
  std::vector<std::string> nodes{};          ///< of a leaf switch
  std::vector<std::string> switches{};       ///< below it
  std::optional<std::int64_t> link_speed{};  ///< in the units of who wrote it; nothing here knows them
};

/// A forest of switches.
struct NodeGroups {
  std::string name, source;
  std::map<std::string, NodeGroup> switches;
  std::vector<std::string> order{};  ///< names of the switches as the record has them
};

/// Schema node-groups/1. @throws InputError  a switch below two others, below itself or not there, a node on two
NodeGroups read_node_groups(const Json& record, const std::string& file);

}  // namespace linkcast
