#pragma once
// Small fabrics with known closed forms.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/fabric.hpp"

namespace linkcast::test {

/// @param links  names of the classes, each with the same rate
inline std::string links_text(const std::vector<std::string>& links) {
  std::string text = R"("links": {)";
  for (std::size_t i = 0; i < links.size(); ++i)
    text += (i > 0 ? ", " : "") + ("\"" + links[i]) +
            R"(": {"cable": "slingshot", "bandwidth": "25 GB/s", "latency": "300 ns", "source": "test"})";
  return text + "}";
}

/// @param parameters  "\"nodes\": 4, ..." without braces
inline std::unique_ptr<Fabric> build_fabric(const std::string& generator, const std::string& parameters,
                                            const std::vector<std::string>& links, int nics = 1) {
  const Json json = parse_json("{" + parameters + ", " + links_text(links) + "}", "test");
  ObjectReader reader(json, "test", "/fabric");
  return fabric_generators().get(generator).build(reader, nics);
}

/// Key and value pairs as text.
inline std::string keys(const std::vector<std::pair<std::string, int>>& values) {
  std::string text;
  for (const auto& [key, value] : values) text += (text.empty() ? "\"" : ", \"") + key + "\": " + std::to_string(value);
  return text;
}

struct DragonflyOf {
  int groups, switches, endpoints, global_links;  ///< endpoints a switch
  int nics = 1, switches_per_node = 1;
};

inline std::unique_ptr<Fabric> dragonfly(const DragonflyOf& d) {
  const int nodes_per_group = d.switches * d.endpoints / d.nics;
  const int ports = ((d.groups - 1) * d.global_links + d.switches - 1) / d.switches;
  return build_fabric("dragonfly",
                      keys({{"nodes", d.groups * nodes_per_group},
                            {"switches_per_node", d.switches_per_node},
                            {"endpoints_per_switch", d.endpoints},
                            {"groups", d.groups},
                            {"switches_per_group", d.switches},
                            {"global_links", d.global_links},
                            {"nodes_per_group", nodes_per_group},
                            {"global_ports_per_switch", ports},
                            {"radix", d.endpoints + d.switches - 1 + ports}}),
                      {"host", "local", "global"}, d.nics);
}

struct DragonflyPlusOf {
  int groups, leaves, spines, endpoints, global_links;  ///< endpoints a leaf
};

inline std::unique_ptr<Fabric> dragonfly_plus(const DragonflyPlusOf& d) {
  const int ports = ((d.groups - 1) * d.global_links + d.spines - 1) / d.spines;
  return build_fabric("dragonfly_plus",
                      keys({{"nodes", d.groups * d.leaves * d.endpoints},
                            {"switches_per_node", 1},
                            {"endpoints_per_leaf", d.endpoints},
                            {"groups", d.groups},
                            {"leaves_per_group", d.leaves},
                            {"spines_per_group", d.spines},
                            {"global_links", d.global_links},
                            {"nodes_per_group", d.leaves * d.endpoints},
                            {"global_ports_per_spine", ports},
                            {"radix", std::max(d.endpoints + d.spines, d.leaves + ports)}}),
                      {"host", "local", "global"});
}

struct TwoLevelsOf {
  int leaves, spines, endpoints, uplinks;
};

inline std::unique_ptr<Fabric> fat_tree(const TwoLevelsOf& t) {
  return build_fabric("fat_tree",
                      keys({{"levels", 2},
                            {"nodes", t.leaves * t.endpoints},
                            {"switches_per_node", 1},
                            {"endpoints_per_leaf", t.endpoints},
                            {"radix", 128},
                            {"leaves", t.leaves},
                            {"spines", t.spines},
                            {"uplinks_per_leaf", t.uplinks}}),
                      {"host", "leaf_spine"});
}

struct ThreeLevelsOf {
  int pods, leaves, tops, cores, endpoints, leaf_uplinks, top_uplinks;
};

inline std::unique_ptr<Fabric> fat_tree(const ThreeLevelsOf& t) {
  return build_fabric("fat_tree",
                      keys({{"levels", 3},
                            {"nodes", t.pods * t.leaves * t.endpoints},
                            {"switches_per_node", 1},
                            {"endpoints_per_leaf", t.endpoints},
                            {"radix", 128},
                            {"pods", t.pods},
                            {"leaves_per_pod", t.leaves},
                            {"aggregations_per_pod", t.tops},
                            {"uplinks_per_leaf", t.leaf_uplinks},
                            {"cores", t.cores},
                            {"uplinks_per_aggregation", t.top_uplinks}}),
                      {"host", "leaf_aggregation", "aggregation_core"});
}

inline std::unique_ptr<Fabric> rail_optimized(int units, int nodes_per_unit, int nics, int spines, int uplinks) {
  return build_fabric("rail_optimized",
                      keys({{"nodes", units * nodes_per_unit},
                            {"nodes_per_unit", nodes_per_unit},
                            {"units", units},
                            {"radix", 128},
                            {"spines", spines},
                            {"uplinks_per_leaf", uplinks}}),
                      {"host", "leaf_spine"}, nics);
}

inline std::unique_ptr<Fabric> torus(const std::vector<int>& dimensions) {
  std::string list;
  for (const int size : dimensions) list += (list.empty() ? "" : ", ") + std::to_string(size);
  return build_fabric("torus", "\"dimensions\": [" + list + "]", {"torus"});
}

inline std::unique_ptr<Fabric> hyperx(const std::vector<int>& dimensions, int endpoints) {
  std::string list;
  int switches = 1, ports = endpoints;
  for (const int size : dimensions) {
    list += (list.empty() ? "" : ", ") + std::to_string(size);
    switches *= size;
    ports += size - 1;
  }
  return build_fabric("hyperx",
                      keys({{"nodes", switches * endpoints},
                            {"switches_per_node", 1},
                            {"endpoints_per_switch", endpoints},
                            {"radix", ports}}) +
                          ", \"dimensions\": [" + list + "]",
                      {"host", "hyperx"});
}

inline std::unique_ptr<Fabric> single_switch(int nodes, int nics = 1) {
  return build_fabric("single_switch", keys({{"nodes", nodes}, {"radix", nodes * nics}}), {"host"}, nics);
}

struct NamedFabric {
  std::string name;
  std::unique_ptr<Fabric> fabric;
};

/// One of each rule in several sizes, small enough to look at every pair.
inline std::vector<NamedFabric> small_fabrics() {
  std::vector<NamedFabric> list;
  list.push_back({"single_switch 5", single_switch(5)});
  list.push_back({"single_switch 3 x 2", single_switch(3, 2)});
  list.push_back({"fat_tree 2 levels, full", fat_tree(TwoLevelsOf{6, 3, 3, 3})});
  list.push_back({"fat_tree 2 levels, tapered, 2 parallel", fat_tree(TwoLevelsOf{4, 2, 8, 4})});
  list.push_back({"fat_tree 3 levels, k = 4", fat_tree(ThreeLevelsOf{4, 2, 2, 4, 2, 2, 2})});
  list.push_back({"fat_tree 3 levels, tapered, parallel", fat_tree(ThreeLevelsOf{3, 3, 2, 4, 4, 4, 4})});
  list.push_back({"dragonfly p 2 a 4 h 2", dragonfly({9, 4, 2, 1})});
  list.push_back({"dragonfly 5 groups, as many cables as switches", dragonfly({5, 4, 2, 4})});
  list.push_back({"dragonfly 3 groups, more cables than switches", dragonfly({3, 3, 2, 7})});
  list.push_back({"dragonfly 2 groups", dragonfly({2, 5, 2, 3})});
  list.push_back({"dragonfly 4 NICs at 2 switches", dragonfly({4, 4, 4, 2, 4, 2})});
  list.push_back({"dragonfly_plus 5 groups", dragonfly_plus({5, 3, 4, 2, 4})});
  list.push_back({"dragonfly_plus 4 groups, few cables", dragonfly_plus({4, 4, 3, 2, 2})});
  list.push_back({"dragonfly_plus 2 groups", dragonfly_plus({2, 2, 2, 2, 5})});
  list.push_back({"torus 4 x 2", torus({4, 2})});
  list.push_back({"torus 5", torus({5})});
  list.push_back({"torus 3 x 4 x 2", torus({3, 4, 2})});
  list.push_back({"torus 2 x 2 x 2 x 3", torus({2, 2, 2, 3})});
  list.push_back({"hyperx 4", hyperx({4}, 2)});
  list.push_back({"hyperx 4 x 3", hyperx({4, 3}, 2)});
  list.push_back({"hyperx 2 x 3 x 4", hyperx({2, 3, 4}, 2)});
  list.push_back({"rail_optimized 2 x 3 x 4", rail_optimized(2, 3, 4, 2, 4)});
  return list;
}

}  // namespace linkcast::test
