// A fabric as it was found: every switch, every host with the switches of its NICs, every bundle of cables between two
// switches. Routes are all those with the fewest links, counted from each switch with hosts.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

constexpr int kMostSwitches = 4096;  // tables of distances grow with its square. source: ours
constexpr int kFar = std::numeric_limits<int>::max();

/// A bundle of cables between two switches, seen from one of them.
struct Neighbour {
  int to = 0, first = 0, count = 0;  ///< cables first to first + count - 1
  bool forward = true;
};

struct ListedCable {
  int from = 0, to = 0, link_class = 0;
};

struct ListedParts {
  std::vector<std::string> switches;
  std::vector<int> switch_of, class_of;  ///< of each endpoint
  std::vector<FabricLinkClass> classes;
  std::vector<ListedCable> cables;
  std::vector<std::vector<Neighbour>> neighbours;
};

class ListedFabric final : public fabrics::SwitchedFabric {
 public:
  explicit ListedFabric(ListedParts parts)
      : SwitchedFabric(parts.switch_of, parts.classes, static_cast<int>(parts.switches.size()),
                       static_cast<int>(parts.cables.size())),
        parts_(std::move(parts)) {
    for (const int target : std::set<int>(parts_.switch_of.begin(), parts_.switch_of.end())) count_routes_to(target);
    int farthest = 0;
    for (const auto& [target, table] : to_)
      for (const int leaf : parts_.switch_of)
        if (table.distance[at(leaf)] != kFar) farthest = std::max(farthest, table.distance[at(leaf)]);
    for (int i = 1; i <= farthest; ++i)
      distances_.push_back(fmt::format("{} switch cable{} apart", i, i > 1 ? "s" : ""));
  }

  [[nodiscard]] FabricLink link(int id) const override {
    FabricLink link = SwitchedFabric::link(id);
    if (id / 2 < endpoints()) link.link_class = parts_.class_of[at(id / 2)];
    return link;
  }
  [[nodiscard]] const std::vector<std::string>& distances() const override { return distances_; }
  /// A pair of switches with hosts that no route joins; empty where there is none.
  [[nodiscard]] std::string unreachable() const {
    for (const auto& [target, table] : to_)
      for (const int leaf : parts_.switch_of)
        if (table.distance[at(leaf)] == kFar) return parts_.switches[at(leaf)] + " and " + parts_.switches[at(target)];
    return "";
  }

 protected:
  [[nodiscard]] FabricLink switch_cable(int cable) const override {
    const ListedCable& one = parts_.cables[at(cable)];
    return {one.from, one.to, one.link_class};
  }
  [[nodiscard]] std::string switch_name(int number) const override { return parts_.switches[at(number)]; }
  [[nodiscard]] int ways(int from, int to) const override { return to_.at(to).number[at(from)]; }
  void way(int from, int to, int which, std::vector<int>& links) const override {
    const Routes& table = to_.at(to);
    while (from != to)
      for (const Neighbour& next : parts_.neighbours[at(from)]) {
        if (table.distance[at(next.to)] != table.distance[at(from)] - 1) continue;
        const int beyond = table.number[at(next.to)], all = beyond * next.count;
        if (which >= all) {
          which -= all;
          continue;
        }
        links.push_back(link_of(next.first + which / beyond, next.forward));
        which %= beyond;
        from = next.to;
        break;
      }
  }
  [[nodiscard]] int switch_distance(int from, int to) const override { return to_.at(to).distance[at(from)]; }

 private:
  struct Routes {
    std::vector<int> distance, number;  ///< of each switch to the target
  };

  void count_routes_to(int target) {
    Routes table{std::vector<int>(parts_.switches.size(), kFar), std::vector<int>(parts_.switches.size(), 0)};
    table.distance[at(target)] = 0;
    table.number[at(target)] = 1;
    std::vector<int> reached{target};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const Neighbour& next : parts_.neighbours[at(reached[i])]) {
        int& distance = table.distance[at(next.to)];
        if (distance == kFar) {
          distance = table.distance[at(reached[i])] + 1;
          reached.push_back(next.to);
        }
        if (distance != table.distance[at(reached[i])] + 1) continue;
        constexpr std::int64_t kMostRoutes = 1 << 24;  // those beyond it are as good as the ones before. source: ours
        const std::int64_t more = static_cast<std::int64_t>(table.number[at(reached[i])]) * next.count;
        table.number[at(next.to)] = static_cast<int>(std::min(kMostRoutes, table.number[at(next.to)] + more));
      }
    to_.emplace(target, std::move(table));
  }

  ListedParts parts_;
  std::map<int, Routes> to_;  ///< by switch with hosts
  std::vector<std::string> distances_ = {"same switch"};
};

class Listed final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    ListedParts parts;
    const std::vector<std::string> names = link_names(parameters);
    parts.classes = fabrics::read_link_classes(parameters, names);
    std::map<std::string, int> classes, switches;
    for (const std::string& name : names) classes.emplace(name, static_cast<int>(classes.size()));
    parts.switches = parameters.required<std::vector<std::string>>("switches");
    if (parts.switches.empty() || parts.switches.size() > kMostSwitches)
      parameters.fail("switches", fmt::format("must be 1 to {}", kMostSwitches));
    for (const std::string& name : parts.switches)
      if (!switches.emplace(name, static_cast<int>(switches.size())).second)
        parameters.fail("switches", "'" + name + "' is listed twice");
    std::set<std::string> hosts;
    for (ObjectReader& host : parameters.objects("hosts"))
      read_host(host, nics_per_node, hosts, switches, classes, parts);
    if (hosts.empty()) parameters.fail("hosts", "must have one at least");
    parts.neighbours.resize(parts.switches.size());
    for (ObjectReader& cable : parameters.objects("cables")) read_cables(cable, switches, classes, parts);
    parameters.finish();
    auto fabric = std::make_unique<ListedFabric>(std::move(parts));
    if (const std::string apart = fabric->unreachable(); !apart.empty())
      parameters.fail("cables", "no route leads between " + apart);
    return fabric;
  }
  /// One switch: what was found cannot be made larger.
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    Json hosts = Json::array();
    for (int i = 0; i < nodes; ++i)
      hosts.push_back({{"name", fmt::format("node{}", i)},
                       {"class", "host"},
                       {"switches", std::vector<std::string>(at(nics_per_node), "switch0")}});
    return {{"switches", {"switch0"}},
            {"hosts", std::move(hosts)},
            {"cables", Json::array()},
            {"links", {{"host", Json::object()}}}};
  }

 private:
  /// Classes of links by whatever names the file has.
  static std::vector<std::string> link_names(ObjectReader& parameters) {
    std::vector<std::string> names;
    const Json& links = parameters.raw("links");
    if (!links.is_object()) parameters.fail("links", "must be an object");
    for (const auto& [name, unused] : links.items()) names.push_back(name);
    return names;
  }
  static int known(ObjectReader& r, const std::string& key, const std::string& name,
                   const std::map<std::string, int>& all) {
    const auto found = all.find(name);
    if (found == all.end()) r.fail(key, "'" + name + "' is not in the list");
    return found->second;
  }
  static void read_host(ObjectReader& host, int nics, std::set<std::string>& hosts,
                        const std::map<std::string, int>& switches, const std::map<std::string, int>& classes,
                        ListedParts& parts) {
    const auto name = host.required<std::string>("name");
    if (!hosts.insert(name).second) host.fail("name", "'" + name + "' is listed twice");
    const int link_class = known(host, "class", host.required<std::string>("class"), classes);
    const auto at_switches = host.required<std::vector<std::string>>("switches");
    if (static_cast<int>(at_switches.size()) != nics)
      host.fail("switches", fmt::format("{} has {} adapters here, and a node {}: key nics of the fabric says which of "
                                        "the node's it joins",
                                        name, at_switches.size(), nics));
    for (const std::string& one : at_switches) {
      parts.switch_of.push_back(known(host, "switches", one, switches));
      parts.class_of.push_back(link_class);
    }
    host.finish();
  }
  static void read_cables(ObjectReader& r, const std::map<std::string, int>& switches,
                          const std::map<std::string, int>& classes, ListedParts& parts) {
    const auto ends = r.required<std::vector<std::string>>("between");
    if (ends.size() != 2 || ends[0] == ends[1]) r.fail("between", "must be two switches");
    const int count = fabrics::count_of(r, "count");
    const int link_class = known(r, "class", r.required<std::string>("class"), classes);
    const int a = known(r, "between", ends[0], switches), b = known(r, "between", ends[1], switches);
    r.finish();
    constexpr int kMostCables = 1 << 20;  // far more than a cluster has. source: ours
    const int first = static_cast<int>(parts.cables.size());
    if (count > kMostCables - first) r.fail("count", fmt::format("more than {} cables", kMostCables));
    for (int i = 0; i < count; ++i) parts.cables.push_back({a, b, link_class});
    parts.neighbours[at(a)].push_back({b, first, count, true});
    parts.neighbours[at(b)].push_back({a, first, count, false});
  }
};

const bool listed_registered =
    fabric_generators().add({"listed", "every switch, host and cable as found, of any shape",
                             "OpenFabrics, ibnetdiscover(8): what a subnet of InfiniBand lists of itself"},
                            [] { return std::make_unique<Listed>(); });

}  // namespace
}  // namespace linkcast
