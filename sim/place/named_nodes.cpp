#include "sim/place/named_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "sim/base/index.hpp"

namespace linkcast::placement {
namespace {

/// Tries to lay a forest of switches onto groups of the fabric.
class Laying {
 public:
  using Where = std::map<std::string, std::vector<int>>;  ///< nodes of the fabric, by leaf switch

  Laying(const NodeGroups& groups, const FabricGroups& fabric) : groups_(groups), fabric_(fabric) {
    std::set<std::string> below;
    for (const auto& [name, group] : groups.switches) below.insert(group.switches.begin(), group.switches.end());
    for (const std::string& name : groups.order)
      if (below.count(name) == 0) roots_.push_back(name);
    for (const std::string& root : roots_) highest_ = std::max(highest_, height(root));
  }

  std::optional<Where> run() {
    levels_.clear();
    return choose_levels();
  }

 private:
  int height(const std::string& name) {
    int most = 0;
    for (const std::string& child : groups_.switches.at(name).switches) most = std::max(most, 1 + height(child));
    return heights_[name] = most;
  }

  /// Level of the fabric for each height of switch, as near as possible. Beyond the last level: anywhere.
  std::optional<Where> choose_levels() {
    if (static_cast<int>(levels_.size()) > highest_) {
      where_.clear();
      used_.clear();
      return lay_all(roots_, first_numbers(fabric_.nodes())) ? std::optional<Where>(where_) : std::nullopt;
    }
    const int first = levels_.empty() ? 0 : std::min(levels_.back() + 1, fabric_.levels());
    const int last = levels_.empty() && several_leaves() && !flat() ? fabric_.levels() - 1 : fabric_.levels();
    for (int level = first; level <= last; ++level) {
      levels_.push_back(level);
      if (auto found = choose_levels()) return found;
      levels_.pop_back();
    }
    return std::nullopt;
  }

  /// Then they must be apart.
  [[nodiscard]] bool several_leaves() const {
    return std::count_if(heights_.begin(), heights_.end(), [](const auto& one) { return one.second == 0; }) > 1;
  }
  /// The fabric knows no distances.
  [[nodiscard]] bool flat() const {
    for (int node = 0; node < fabric_.nodes(); ++node)
      if (fabric_.group(0, node) != 0) return false;
    return true;
  }

  bool lay_all(const std::vector<std::string>& switches, const std::vector<int>& nodes) {
    return std::all_of(switches.begin(), switches.end(), [&](const std::string& one) { return lay(one, nodes); });
  }
  /// In one group among these nodes that no other switch of its height has.
  bool lay(const std::string& name, const std::vector<int>& nodes) {
    const int height = heights_.at(name), level = levels_[static_cast<std::size_t>(height)];
    const NodeGroup& group = groups_.switches.at(name);
    for (const auto& [number, members] : by_group(level, nodes)) {
      if (used_.count({height, number}) > 0) continue;
      const auto before_used = used_;
      const auto before_where = where_;
      if (level < fabric_.levels()) used_.insert({height, number});
      if (group.nodes.empty() ? lay_all(group.switches, members) : take(name, group.nodes.size(), members)) return true;
      used_ = before_used;
      where_ = before_where;
    }
    return false;
  }
  bool take(const std::string& leaf, std::size_t count, const std::vector<int>& members) {
    std::set<int> taken;
    for (const auto& [other, nodes] : where_) taken.insert(nodes.begin(), nodes.end());
    std::vector<int> nodes;
    for (const int node : members)
      if (nodes.size() < count && taken.count(node) == 0) nodes.push_back(node);
    if (nodes.size() < count) return false;
    where_[leaf] = nodes;
    return true;
  }
  [[nodiscard]] std::map<int, std::vector<int>> by_group(int level, const std::vector<int>& nodes) const {
    std::map<int, std::vector<int>> members;
    for (const int node : nodes) members[level < fabric_.levels() ? fabric_.group(level, node) : 0].push_back(node);
    return members;
  }

  const NodeGroups& groups_;
  const FabricGroups& fabric_;
  std::vector<std::string> roots_;
  std::map<std::string, int> heights_;
  int highest_ = 0;
  std::vector<int> levels_;             ///< by height
  std::set<std::pair<int, int>> used_;  ///< groups, by height of who has them
  Where where_;
};

std::string sizes_text(const NodeGroups& groups, const FabricGroups& fabric) {
  std::size_t leaves = 0, most = 0;
  for (const auto& [name, group] : groups.switches) {
    if (group.nodes.empty()) continue;
    ++leaves;
    most = std::max(most, group.nodes.size());
  }
  std::string text =
      fmt::format("{} leaf switches of up to {} nodes do not fit onto the fabric, whose groups are", leaves, most);
  for (int level = 0; level < fabric.levels(); ++level) {
    std::map<int, int> sizes;
    for (int node = 0; node < fabric.nodes(); ++node) ++sizes[fabric.group(level, node)];
    text += fmt::format("{}{} of {}", level == 0 ? " " : ", ", sizes.size(), sizes.begin()->second);
  }
  return text + " nodes";
}

}  // namespace

NamedNodes::NamedNodes(const NodeGroups& groups, const FabricGroups& fabric, const std::string& file,
                       const std::string& place)
    : names_(static_cast<std::size_t>(fabric.nodes())), leaves_(names_.size()) {
  const auto where = Laying(groups, fabric).run();
  if (!where) throw InputError(file, place, sizes_text(groups, fabric));
  for (const auto& [leaf, nodes] : *where)
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string& name = groups.switches.at(leaf).nodes[i];
      names_[static_cast<std::size_t>(nodes[i])] = name;
      leaves_[static_cast<std::size_t>(nodes[i])] = leaf;
      node_of_[name] = nodes[i];
    }
}

int NamedNodes::node(const std::string& name) const {
  const auto at = node_of_.find(name);
  return at == node_of_.end() ? -1 : at->second;
}

}  // namespace linkcast::placement
