// Fat tree of two or three levels, full or tapered.
#include "models/fabrics/fat_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/machine/fabric.hpp"

namespace linkcast::fabrics {

std::int64_t TreeSize::cables() const {
  const std::int64_t above_leaves = static_cast<std::int64_t>(all_leaves()) * tops * leaf_cables;
  return above_leaves + static_cast<std::int64_t>(all_tops()) * cores * core_cables;
}

std::int64_t TreeSize::most_ways() const {
  const std::int64_t leaf = static_cast<std::int64_t>(tops) * leaf_cables * leaf_cables;
  return cores == 0 ? leaf : leaf * cores * core_cables * core_cables;
}

FatTreeFabric::FatTreeFabric(Placement placement, std::vector<FabricLinkClass> classes, TreeSize size)
    : SwitchedFabric(placement, std::move(classes), size.switches(), static_cast<int>(size.cables())), size_(size) {}

const std::vector<std::string>& FatTreeFabric::distances() const {
  static const std::vector<std::string> two_levels = {"same switch", "other switch"};
  static const std::vector<std::string> three_levels = {"same switch", "same pod", "other pod"};
  return size_.cores == 0 ? two_levels : three_levels;
}

FabricLink FatTreeFabric::switch_cable(int cable) const {
  const int above_leaf = size_.tops * size_.leaf_cables;
  if (cable < size_.all_leaves() * above_leaf) {
    const int leaf = cable / above_leaf, top = cable % above_leaf / size_.leaf_cables;
    return {leaf, size_.all_leaves() + pod(leaf) * size_.tops + top, 1};
  }
  cable -= size_.all_leaves() * above_leaf;
  const int above_top = size_.cores * size_.core_cables;
  const int top = cable / above_top, core = cable % above_top / size_.core_cables;
  const int first_core = size_.all_leaves() + size_.all_tops();
  return {size_.all_leaves() + top, first_core + top % size_.tops * size_.cores + core, 2};
}

std::string FatTreeFabric::switch_name(int number) const {
  const bool three = size_.cores > 0;
  const auto in_pod = [&](int index, int each, const std::string& what) {
    return fmt::format("pod{}/{}{}", index / each, what, index % each);
  };
  if (number < size_.all_leaves()) return three ? in_pod(number, size_.leaves, "leaf") : fmt::format("leaf{}", number);
  number -= size_.all_leaves();
  if (number < size_.all_tops())
    return three ? in_pod(number, size_.tops, "aggregation") : fmt::format("spine{}", number);
  return fmt::format("core{}", number - size_.all_tops());
}

int FatTreeFabric::ways(int from, int to) const {
  if (pod(from) == pod(to)) return size_.tops * size_.leaf_cables * size_.leaf_cables;
  return static_cast<int>(size_.most_ways());
}

void FatTreeFabric::way(int from, int to, int which, std::vector<int>& links) const {
  const auto digit = [&which](int base) {
    const int value = which % base;
    which /= base;
    return value;
  };
  const int top = digit(size_.tops);
  const bool same_pod = pod(from) == pod(to);
  const int core = same_pod ? 0 : digit(size_.cores);
  const int up_cable = digit(size_.leaf_cables);
  const int core_cable = same_pod ? 0 : digit(size_.core_cables);
  // Relative to the first choice: routes of neighbouring numbers differ on both sides of the tree.
  const int down_cable = (up_cable + digit(size_.leaf_cables)) % size_.leaf_cables;
  links.push_back(up(from, top, up_cable));
  if (!same_pod) {
    const int core_down = (core_cable + digit(size_.core_cables)) % size_.core_cables;
    links.push_back(core_up(pod(from), top, core, core_cable));
    links.push_back(core_up(pod(to), top, core, core_down) ^ 1);
  }
  links.push_back(up(to, top, down_cable) ^ 1);
}

int FatTreeFabric::turned(int number) const {
  if (number < size_.all_leaves()) return (number + size_.leaves) % size_.all_leaves();
  const int top = number - size_.all_leaves();
  return top < size_.all_tops() ? size_.all_leaves() + (top + size_.tops) % size_.all_tops() : number;
}

Turned FatTreeFabric::turned_cable(int cable) const {
  const int of_pod = size_.leaves * size_.tops * size_.leaf_cables, leaf_cables = size_.pods * of_pod;
  if (cable < leaf_cables) return {(cable + of_pod) % leaf_cables};
  const int above_pod = size_.tops * size_.cores * size_.core_cables;
  return {leaf_cables + (cable - leaf_cables + above_pod) % (size_.pods * above_pod)};
}

int FatTreeFabric::switch_distance(int from, int to) const { return pod(from) == pod(to) ? 1 : 2; }

int FatTreeFabric::up(int leaf, int top, int parallel) const {
  return link_of((leaf * size_.tops + top) * size_.leaf_cables + parallel, true);
}

int FatTreeFabric::core_up(int pod, int top, int core, int parallel) const {
  const int above_leaves = size_.all_leaves() * size_.tops * size_.leaf_cables;
  return link_of(above_leaves + ((pod * size_.tops + top) * size_.cores + core) * size_.core_cables + parallel, true);
}

int parallel_cables(ObjectReader& parameters, const std::string& key, int switches) {
  const int cables = count_of(parameters, key);
  if (cables % switches != 0)
    parameters.fail(key, fmt::format("{} cables do not spread evenly over {} switches above", cables, switches));
  return cables / switches;
}

void check_radix(const ObjectReader& parameters, int radix, std::int64_t down, std::int64_t up,
                 const std::string& which) {
  if (down + up > radix)
    parameters.fail("radix", fmt::format("{} ports are too few for a switch of the level {}: {} down and {} up", radix,
                                         which, down, up));
}

Spines spines_above(int leaves, int uplinks) {
  Spines spines{uplinks, std::max(kUsualRadix, leaves + leaves % 2)};
  while (spines.number % 2 == 0 && leaves * (2 * uplinks / spines.number) <= kUsualRadix) spines.number /= 2;
  return spines;
}

void check_tree(const ObjectReader& parameters, const TreeSize& size) {
  checked_count(parameters, "nodes", 2 * size.cables(), "links");
  checked_count(parameters, "radix", size.most_ways(), "ways of a pair");
}

}  // namespace linkcast::fabrics

namespace linkcast {
namespace {

int read_radix(ObjectReader& parameters) {
  const int radix = fabrics::count_of(parameters, "radix", 2);
  // source: M. Al-Fares et al., SIGCOMM 2008: half of the ports of a switch go up in the full tree, of which all others
  // are subsets
  if (radix % 2 != 0)
    parameters.fail("radix", "must be even: a full tree has half of the ports of a switch up, half down");
  return radix;
}

fabrics::TreeSize two_levels(ObjectReader& parameters, int radix, int endpoint_ports) {
  fabrics::TreeSize size;
  size.leaves = fabrics::count_of(parameters, "leaves");
  size.tops = fabrics::count_of(parameters, "spines");
  size.leaf_cables = fabrics::parallel_cables(parameters, "uplinks_per_leaf", size.tops);
  const std::int64_t cables = size.leaf_cables;
  fabrics::check_radix(parameters, radix, endpoint_ports, size.tops * cables, "leaf");
  fabrics::check_radix(parameters, radix, size.leaves * cables, 0, "spine");
  return size;
}

fabrics::TreeSize three_levels(ObjectReader& parameters, int radix, int endpoint_ports) {
  fabrics::TreeSize size;
  size.pods = fabrics::count_of(parameters, "pods", 2);
  size.leaves = fabrics::count_of(parameters, "leaves_per_pod");
  size.tops = fabrics::count_of(parameters, "aggregations_per_pod");
  size.leaf_cables = fabrics::parallel_cables(parameters, "uplinks_per_leaf", size.tops);
  const int cores = fabrics::count_of(parameters, "cores");
  if (cores % size.tops != 0)
    parameters.fail(
        "cores",
        fmt::format("{} core switches do not divide into one set for each of the {} aggregation switches of a pod",
                    cores, size.tops));
  size.cores = cores / size.tops;
  size.core_cables = fabrics::parallel_cables(parameters, "uplinks_per_aggregation", size.cores);
  const std::int64_t leaf_cables = size.leaf_cables, core_cables = size.core_cables;
  fabrics::check_radix(parameters, radix, endpoint_ports, size.tops * leaf_cables, "leaf");
  fabrics::check_radix(parameters, radix, size.leaves * leaf_cables, size.cores * core_cables, "aggregation");
  fabrics::check_radix(parameters, radix, size.pods * core_cables, 0, "core");
  return size;
}

class FatTree final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    const int levels = parameters.required<int>("levels");
    if (levels != 2 && levels != 3) parameters.fail("levels", "must be 2 or 3; one level is a single_switch");
    fabrics::Placement placement(parameters, nics_per_node, "endpoints_per_leaf");
    const int radix = read_radix(parameters);
    const bool two = levels == 2;
    const auto size =
        two ? two_levels(parameters, radix, placement.ports()) : three_levels(parameters, radix, placement.ports());
    fabrics::check_tree(parameters, size);
    const int nodes = placement.endpoints() / nics_per_node;
    placement.group(parameters, 1, nodes, size.all_leaves(), size.all_leaves(), two ? "leaves" : "leaves_per_pod");
    auto classes = two ? fabrics::read_link_classes(parameters, {"host", "leaf_spine"})
                       : fabrics::read_link_classes(parameters, {"host", "leaf_aggregation", "aggregation_core"});
    parameters.finish();
    return std::make_unique<fabrics::FatTreeFabric>(placement, std::move(classes), size);
  }
  /// Two levels as long as switches of the usual radix suffice.
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    const int half = fabrics::kUsualRadix / 2, down = fabrics::whole_nodes(half, nics_per_node);
    const int radix = std::max(fabrics::kUsualRadix, 2 * down), leaves = fabrics::parts_of(nodes, down / nics_per_node);
    Json keys{{"levels", 2}, {"nodes", nodes}, {"switches_per_node", 1}, {"endpoints_per_leaf", down}};
    if (leaves <= fabrics::kUsualRadix) {
      const fabrics::Spines spines = fabrics::spines_above(leaves, down);
      keys.update({{"radix", radix}, {"leaves", leaves}, {"spines", spines.number}, {"uplinks_per_leaf", down}});
      keys["links"] = {{"host", Json::object()}, {"leaf_spine", fabrics::between_switches()}};
      return keys;
    }
    const int pods = fabrics::parts_of(leaves, half);
    const fabrics::Spines cores = fabrics::spines_above(pods, half);
    keys["levels"] = 3;
    keys.update({{"radix", std::max(radix, cores.radix)},
                 {"pods", pods},
                 {"leaves_per_pod", half},
                 {"aggregations_per_pod", down},
                 {"cores", down * cores.number},
                 {"uplinks_per_leaf", down},
                 {"uplinks_per_aggregation", half}});
    keys["links"] = {{"host", Json::object()},
                     {"leaf_aggregation", fabrics::between_switches()},
                     {"aggregation_core", fabrics::between_switches()}};
    return keys;
  }
};

const bool fat_tree_registered =
    fabric_generators().add({"fat_tree", "leaves and spines, or leaves, aggregation and core switches; full or tapered",
                             "C. Leiserson, Fat-Trees, IEEE Transactions on Computers C-34(10), 1985; M. Al-Fares et "
                             "al., A Scalable, Commodity "
                             "Data Center Network Architecture, SIGCOMM 2008"},
                            [] { return std::make_unique<FatTree>(); });

}  // namespace
}  // namespace linkcast
