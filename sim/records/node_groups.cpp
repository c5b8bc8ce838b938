#include "sim/records/node_groups.hpp"

#include <set>

namespace linkcast {
namespace {

/// A switch that is above itself has no root above it.
void refuse_cycles(const NodeGroups& groups, const std::map<std::string, std::string>& above, const ObjectReader& r) {
  for (const auto& [name, group] : groups.switches) {
    std::set<std::string> seen = {name};
    for (auto at = above.find(name); at != above.end(); at = above.find(at->second))
      if (!seen.insert(at->second).second) r.fail("switches", at->second + " is below itself");
  }
}

void check(const NodeGroups& groups, const ObjectReader& r) {
  std::map<std::string, std::string> above, leaf;
  for (const auto& [name, group] : groups.switches) {
    if (group.nodes.empty() == group.switches.empty()) r.fail("switches", name + " must have either nodes or switches");
    for (const std::string& below : group.switches) {
      if (groups.switches.count(below) == 0) r.fail("switches", name + ": there is no switch " + below);
      if (!above.emplace(below, name).second)
        r.fail("switches", below + " is below both " + above[below] + " and " + name);
    }
    for (const std::string& node : group.nodes)
      if (!leaf.emplace(node, name).second)
        r.fail("switches", "node " + node + " is on both " + leaf[node] + " and " + name);
  }
  refuse_cycles(groups, above, r);
}

}  // namespace

NodeGroups read_node_groups(const Json& record, const std::string& file) {
  ObjectReader r(record, file);
  r.schema("node-groups/1");
  NodeGroups groups{r.required<std::string>("name"), r.required<std::string>("source"), {}, {}};
  for (ObjectReader& one : r.objects("switches")) {
    const auto name = one.required<std::string>("name");
    NodeGroup group;
    group.nodes = one.optional<std::vector<std::string>>("nodes").value_or(std::vector<std::string>{});
    group.switches = one.optional<std::vector<std::string>>("switches").value_or(std::vector<std::string>{});
    group.link_speed = one.optional<std::int64_t>("link_speed");
    one.finish();
    if (!groups.switches.emplace(name, std::move(group)).second) one.fail("name", "'" + name + "' is there twice");
    groups.order.push_back(name);
  }
  if (r.has("fabric")) static_cast<void>(r.raw("fabric"));  // of the same cluster, for whoever reads fabrics
  r.finish();
  if (groups.switches.empty()) r.fail("switches", "must have one at least");
  check(groups, r);
  return groups;
}

}  // namespace linkcast
