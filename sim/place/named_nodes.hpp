#pragma once
// Nodes by the names that a resource manager has for them, laid onto a fabric switch by switch.
#include <map>
#include <string>
#include <vector>

#include "sim/place/fabric_groups.hpp"
#include "sim/records/node_groups.hpp"

namespace linkcast::placement {

class NamedNodes {
 public:
  /// Each leaf switch takes a group of the fabric for itself, of the nearest level at which all leaf switches find one;
  /// a switch above others takes a group of a farther level that holds theirs. Groups may stay larger than what they
  /// hold.
  /// @param place  of the groups in errors. @throws InputError  there is no such way
  NamedNodes(const NodeGroups& groups, const FabricGroups& fabric, const std::string& file, const std::string& place);

  [[nodiscard]] int count() const { return static_cast<int>(node_of_.size()); }
  /// Number of the fabric's node; -1: no such name.
  [[nodiscard]] int node(const std::string& name) const;
  /// Empty: the fabric's node has none.
  [[nodiscard]] const std::string& name(int node) const { return names_[static_cast<std::size_t>(node)]; }
  /// The leaf switch of a node that has a name.
  [[nodiscard]] const std::string& leaf(int node) const { return leaves_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::string> names_, leaves_;  ///< per node of the fabric
  std::map<std::string, int> node_of_;
};

}  // namespace linkcast::placement
