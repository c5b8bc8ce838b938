// Dragonfly+: groups that are two-level fat trees, with every two groups joined between their spines.
#include <fmt/format.h>

#include <algorithm>

#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

struct DragonflyPlusSize {
  int groups = 0, leaves = 0, spines = 0;  ///< leaves and spines of a group
  int global_links = 0;                    ///< cables between two groups
  [[nodiscard]] int stride() const { return leaves + spines; }
};

/// Cables between two groups are dealt out to the spines of each as in a dragonfly to its switches.
class DragonflyPlusFabric final : public fabrics::SwitchedFabric {
 public:
  DragonflyPlusFabric(fabrics::Placement placement, std::vector<FabricLinkClass> classes, DragonflyPlusSize size)
      : SwitchedFabric(placement, std::move(classes), size.groups * size.stride(), cables(size)),
        size_(size),
        of_groups_(size.groups) {}

  static int cables(DragonflyPlusSize size) {
    return size.groups * size.leaves * size.spines + size.groups * (size.groups - 1) / 2 * size.global_links;
  }

  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> names = {"same switch", "same group", "other group"};
    return names;
  }

 protected:
  [[nodiscard]] FabricLink switch_cable(int cable) const override {
    const int local = size_.groups * size_.leaves * size_.spines;
    if (cable < local) {
      const int first = cable / (size_.leaves * size_.spines) * size_.stride();
      const int inside = cable % (size_.leaves * size_.spines);
      return {first + inside / size_.spines, first + size_.leaves + inside % size_.spines, 1};
    }
    const auto [a, b] = of_groups_.ends((cable - local) / size_.global_links);
    const int which = (cable - local) % size_.global_links;
    return {spine(a, gateway(a, b, which)), spine(b, gateway(b, a, which)), 2};
  }

  /// Each group becomes the next, as in a dragonfly.
  [[nodiscard]] int turns() const override { return size_.groups; }
  [[nodiscard]] int turned(int number) const override {
    return (number + size_.stride()) % (size_.groups * size_.stride());
  }
  [[nodiscard]] fabrics::Turned turned_cable(int cable) const override {
    const int local = size_.groups * size_.leaves * size_.spines;
    if (cable < local) return {(cable + size_.leaves * size_.spines) % local};
    return fabrics::turned_pair(of_groups_, size_.groups, cable, local, size_.global_links);
  }

  [[nodiscard]] std::string switch_name(int number) const override {
    const int inside = number % size_.stride();
    return fmt::format(
        "group{}{}", group(number),
        inside < size_.leaves ? fmt::format("/leaf{}", inside) : fmt::format("/spine{}", inside - size_.leaves));
  }

  // Only leaves have endpoints, so `from` and `to` are leaves.
  [[nodiscard]] int ways(int from, int to) const override {
    return group(from) == group(to) ? size_.spines : size_.global_links;
  }

  void way(int from, int to, int which, std::vector<int>& links) const override {
    const int a = group(from), b = group(to);
    links.push_back(up(from, a == b ? which : gateway(a, b, which)));
    if (a != b) links.push_back(global_link(a, b, which));
    links.push_back(up(to, a == b ? which : gateway(b, a, which)) ^ 1);
  }

  [[nodiscard]] int far_ways(int from, int to) const override {
    return group(from) == group(to) ? 0 : (size_.groups - 2) * size_.global_links * size_.global_links;
  }

  /// Over another group: from the spine at which the way enters to the one at which it leaves over a leaf, if they
  /// differ.
  void far_way(int from, int to, int which, std::vector<int>& links) const override {
    const int a = group(from), b = group(to);
    int via = which % (size_.groups - 2);
    if (via >= std::min(a, b)) ++via;
    if (via >= std::max(a, b)) ++via;
    const int pair = which / (size_.groups - 2);
    const int first = pair % size_.global_links, second = (first + pair / size_.global_links) % size_.global_links;
    links.push_back(up(from, gateway(a, via, first)));
    links.push_back(global_link(a, via, first));
    const int enters = gateway(via, a, first), leaves = gateway(via, b, second);
    if (enters != leaves) {
      const int leaf = via * size_.stride() + (first + second) % size_.leaves;  // each spine meets each leaf alike
      links.push_back(up(leaf, enters) ^ 1);
      links.push_back(up(leaf, leaves));
    }
    links.push_back(global_link(via, b, second));
    links.push_back(up(to, gateway(b, via, second)) ^ 1);
  }

  [[nodiscard]] int switch_distance(int from, int to) const override { return group(from) == group(to) ? 1 : 2; }

 private:
  [[nodiscard]] int group(int number) const { return number / size_.stride(); }
  [[nodiscard]] int spine(int group, int number) const { return group * size_.stride() + size_.leaves + number; }
  /// The spine of group `here`, counted from 0, at which a cable to group `there` ends.
  [[nodiscard]] int gateway(int here, int there, int which) const {
    const int position = (there - here - 1 + size_.groups) % size_.groups;
    return (position * size_.global_links + which) % size_.spines;
  }
  /// From a leaf to a spine of its group.
  [[nodiscard]] int up(int leaf, int spine) const {
    const int number = group(leaf) * size_.leaves + leaf % size_.stride();
    return link_of(number * size_.spines + spine, true);
  }
  [[nodiscard]] int global_link(int a, int b, int which) const {
    const int cable = of_groups_.number(a, b) * size_.global_links + which;
    return link_of(size_.groups * size_.leaves * size_.spines + cable, a < b);
  }

  DragonflyPlusSize size_;
  fabrics::PairNumbers of_groups_;
};

/// @throws InputError  the switches have too few ports for the cables asked for
void check_ports(const ObjectReader& parameters, const DragonflyPlusSize& size, int endpoint_ports, int global_ports,
                 int radix) {
  const fabrics::GroupCables global{size.groups, size.global_links};
  fabrics::check_global_ports(parameters, global, size.spines, "spines", global_ports);
  if (size.leaves + static_cast<std::int64_t>(global_ports) > radix)
    parameters.fail("radix", fmt::format("{} ports of a spine are too few: {} to leaves and {} to other groups", radix,
                                         size.leaves, global_ports));
  if (static_cast<std::int64_t>(size.spines) + endpoint_ports > radix)
    parameters.fail("radix", fmt::format("{} ports of a leaf are too few: {} to spines and {} for endpoints", radix,
                                         size.spines, endpoint_ports));
  fabrics::check_group_numbers(parameters, global, static_cast<std::int64_t>(size.leaves) * size.spines);
}

/// Two endpoints share a port, split in halves, where their cables are at most half as fast as those to the spines.
// source: SC24, section II-B: a port of 200 Gb/s can be configured as two of 100 Gb/s
int leaf_ports(int endpoints, const std::vector<FabricLinkClass>& classes) {
  return 2 * classes[0].bandwidth.si <= classes[1].bandwidth.si ? (endpoints + 1) / 2 : endpoints;
}

class DragonflyPlus final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    fabrics::Placement placement(parameters, nics_per_node, "endpoints_per_leaf");
    DragonflyPlusSize size;
    size.groups = fabrics::count_of(parameters, "groups", 2);
    size.leaves = fabrics::count_of(parameters, "leaves_per_group");
    size.spines = fabrics::count_of(parameters, "spines_per_group");
    size.global_links = fabrics::count_of(parameters, "global_links");
    const int nodes_per_group = fabrics::count_of(parameters, "nodes_per_group");
    const int global_ports = fabrics::count_of(parameters, "global_ports_per_spine");
    const int radix = fabrics::count_of(parameters, "radix");
    auto classes = fabrics::read_link_classes(parameters, {"host", "local", "global"});
    check_ports(parameters, size, leaf_ports(placement.ports(), classes), global_ports, radix);
    placement.group(parameters, size.groups, nodes_per_group, size.leaves, size.stride(), "leaves_per_group");
    parameters.finish();
    return std::make_unique<DragonflyPlusFabric>(placement, std::move(classes), size);
  }
  /// As many NICs at a leaf as leaves, spines, and cables of a spine to other groups.
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    int ports = nics_per_node;
    const auto per_group = [&] { return ports * ports / nics_per_node; };
    while (static_cast<std::int64_t>(per_group()) * (ports * ports + 1) < nodes) ports += nics_per_node;
    const int groups = std::max(2, fabrics::parts_of(nodes, per_group()));
    return {
        {"nodes", nodes},
        {"groups", groups},
        {"nodes_per_group", per_group()},
        {"leaves_per_group", ports},
        {"spines_per_group", ports},
        {"switches_per_node", 1},
        {"endpoints_per_leaf", ports},
        {"global_links", ports * ports / (groups - 1)},
        {"global_ports_per_spine", ports},
        {"radix", std::max(fabrics::kUsualRadix, 2 * ports)},
        {"links",
         {{"host", Json::object()}, {"local", fabrics::between_switches()}, {"global", fabrics::between_switches()}}}};
  }
};

const bool dragonfly_plus_registered = fabric_generators().add(
    {"dragonfly_plus", "groups of leaves and spines, the spines all to all among the groups",
     "A. Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB 2017; D. De Sensi et al., "
     "Exploring GPU-to-GPU Communication, SC24, section II-B"},
    [] { return std::make_unique<DragonflyPlus>(); });

}  // namespace
}  // namespace linkcast
