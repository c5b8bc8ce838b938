// Dragonfly: groups in which every two switches share a cable, and every two groups share some.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

struct DragonflySize {
  int groups = 0, switches = 0;  ///< switches of a group
  int global_links = 0;          ///< cables between two groups
};

/// Cables between the same two groups are dealt out to the switches of each group one after the other, going through
/// the other groups in the order of their numbers from the next one on: every switch has the same number, give or
/// take 1.
class DragonflyFabric final : public fabrics::SwitchedFabric {
 public:
  DragonflyFabric(fabrics::Placement placement, std::vector<FabricLinkClass> classes, DragonflySize size)
      : SwitchedFabric(placement, std::move(classes), size.groups * size.switches, cables(size)),
        size_(size),
        in_group_(size.switches),
        of_groups_(size.groups) {}

  static int cables(DragonflySize size) {
    return size.groups * (size.switches * (size.switches - 1) / 2) +
           size.groups * (size.groups - 1) / 2 * size.global_links;
  }

  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> names = {"same switch", "same group", "other group"};
    return names;
  }

 protected:
  [[nodiscard]] FabricLink switch_cable(int cable) const override {
    const int local = size_.groups * in_group_.pairs();
    if (cable < local) {
      const int first = cable / in_group_.pairs() * size_.switches;
      const auto [i, j] = in_group_.ends(cable % in_group_.pairs());
      return {first + i, first + j, 1};
    }
    const auto [a, b] = of_groups_.ends((cable - local) / size_.global_links);
    const int which = (cable - local) % size_.global_links;
    return {a * size_.switches + gateway(a, b, which), b * size_.switches + gateway(b, a, which), 2};
  }

  /// Each group becomes the next: cables are dealt out by the distance of groups alone.
  [[nodiscard]] int turns() const override { return size_.groups; }
  [[nodiscard]] int turned(int number) const override {
    return (number + size_.switches) % (size_.groups * size_.switches);
  }
  [[nodiscard]] fabrics::Turned turned_cable(int cable) const override {
    const int local = size_.groups * in_group_.pairs();
    if (cable < local) return {(cable + in_group_.pairs()) % local};
    return fabrics::turned_pair(of_groups_, size_.groups, cable, local, size_.global_links);
  }

  [[nodiscard]] std::string switch_name(int number) const override {
    return fmt::format("group{}/switch{}", number / size_.switches, number % size_.switches);
  }

  [[nodiscard]] int ways(int from, int to) const override {
    return group(from) == group(to) ? 1 : shortest(from, to).count(size_);
  }

  void way(int from, int to, int which, std::vector<int>& links) const override {
    if (group(from) == group(to))
      links.push_back(local_link(from, to));
    else
      over_cable(from, to, shortest(from, to).cable(which, size_), links);
  }

  [[nodiscard]] int far_ways(int from, int to) const override {
    if (group(from) == group(to)) return size_.switches - 2;
    return size_.global_links - ways(from, to) + (size_.groups - 2) * size_.global_links * size_.global_links;
  }

  /// In a group: over another switch. Between groups: first over the cables between the two that make a longer way,
  /// then over another group.
  void far_way(int from, int to, int which, std::vector<int>& links) const override {
    if (group(from) == group(to)) {
      const int first = group(from) * size_.switches;
      const int via = first + skipping(which, from - first, to - first);
      links.push_back(local_link(from, via));
      links.push_back(local_link(via, to));
      return;
    }
    const int others = size_.global_links - ways(from, to);
    if (which < others) {
      over_cable(from, to, shortest(from, to).other_cable(which, size_), links);
      return;
    }
    which -= others;
    const int via = skipping(which % (size_.groups - 2), group(from), group(to));
    const int pair = which / (size_.groups - 2);
    const int first = pair % size_.global_links, second = (first + pair / size_.global_links) % size_.global_links;
    const int middle = via * size_.switches + gateway(via, group(from), first);
    over_cable(from, middle, first, links);
    over_cable(middle, to, second, links);
  }

  [[nodiscard]] int switch_distance(int from, int to) const override { return group(from) == group(to) ? 1 : 2; }

 private:
  /// Which cables between two groups make the shortest way: those at the first switch are every size.switches-th from
  /// `out` on, those at the last every size.switches-th from `in` on; a cable at both spares two hops, at one spares
  /// one.
  struct Cables {
    int out, in;
    static int from(int first, const DragonflySize& size) {
      return first < size.global_links ? (size.global_links - 1 - first) / size.switches + 1 : 0;
    }
    [[nodiscard]] int count(const DragonflySize& size) const {
      const int all = out == in ? from(out, size) : from(out, size) + from(in, size);
      return all > 0 ? all : size.global_links;
    }
    [[nodiscard]] int cable(int which, const DragonflySize& size) const {
      const int outgoing = from(out, size);
      if (which < outgoing) return out + which * size.switches;
      if (out != in && which - outgoing < from(in, size)) return in + (which - outgoing) * size.switches;
      return which;  // no cable is at either switch, so any is as good
    }
    [[nodiscard]] int other_cable(int which, const DragonflySize& size) const {
      int cable = 0;
      while (cable % size.switches == out || cable % size.switches == in || which-- > 0) ++cable;
      return cable;
    }
  };

  [[nodiscard]] Cables shortest(int from, int to) const {
    const int a = group(from), b = group(to);
    const auto first = [&](int here, int there, int at) {
      const int shift = position(here, there) * size_.global_links % size_.switches;
      return (at - shift + size_.switches) % size_.switches;
    };
    return {first(a, b, from % size_.switches), first(b, a, to % size_.switches)};
  }

  [[nodiscard]] int group(int number) const { return number / size_.switches; }
  /// Place of group `there` in the order in which group `here` deals out its cables.
  [[nodiscard]] int position(int here, int there) const { return (there - here - 1 + size_.groups) % size_.groups; }
  /// The switch of group `here`, counted in its group, at which a cable to group `there` ends.
  [[nodiscard]] int gateway(int here, int there, int which) const {
    return (position(here, there) * size_.global_links + which) % size_.switches;
  }
  /// The which-th number that is neither a nor b.
  static int skipping(int which, int a, int b) {
    if (a > b) std::swap(a, b);
    if (which >= a) ++which;
    if (which >= b) ++which;
    return which;
  }
  [[nodiscard]] int local_link(int from, int to) const {
    const int pair = in_group_.number(from % size_.switches, to % size_.switches);
    return link_of(group(from) * in_group_.pairs() + pair, from < to);
  }
  void over_cable(int from, int to, int which, std::vector<int>& links) const {
    const int a = group(from), b = group(to);
    const int out = a * size_.switches + gateway(a, b, which), in = b * size_.switches + gateway(b, a, which);
    if (from != out) links.push_back(local_link(from, out));
    const int cable = of_groups_.number(a, b) * size_.global_links + which;
    links.push_back(link_of(size_.groups * in_group_.pairs() + cable, a < b));
    if (in != to) links.push_back(local_link(in, to));
  }

  DragonflySize size_;
  fabrics::PairNumbers in_group_, of_groups_;
};

/// @throws InputError  the switches have too few ports for the cables asked for
void check_ports(const ObjectReader& parameters, const DragonflySize& size, int endpoint_ports, int global_ports,
                 int radix) {
  const fabrics::GroupCables global{size.groups, size.global_links};
  fabrics::check_global_ports(parameters, global, size.switches, "switches", global_ports);
  const std::int64_t ports = static_cast<std::int64_t>(endpoint_ports) + size.switches - 1 + global_ports;
  if (ports > radix)
    parameters.fail(
        "radix", fmt::format("{} ports are too few: {} to endpoints, {} inside the group and {} to other groups", radix,
                             endpoint_ports, size.switches - 1, global_ports));
  fabrics::check_group_numbers(parameters, global, static_cast<std::int64_t>(size.switches) * (size.switches - 1) / 2);
}

class Dragonfly final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    fabrics::Placement placement(parameters, nics_per_node, "endpoints_per_switch");
    DragonflySize size;
    size.groups = fabrics::count_of(parameters, "groups", 2);
    size.switches = fabrics::count_of(parameters, "switches_per_group");
    size.global_links = fabrics::count_of(parameters, "global_links");
    const int nodes_per_group = fabrics::count_of(parameters, "nodes_per_group");
    const int global_ports = fabrics::count_of(parameters, "global_ports_per_switch");
    const int radix = fabrics::count_of(parameters, "radix");
    check_ports(parameters, size, placement.ports(), global_ports, radix);
    placement.group(parameters, size.groups, nodes_per_group, size.switches, size.switches, "switches_per_group");
    auto classes = fabrics::read_link_classes(parameters, {"host", "local", "global"});
    parameters.finish();
    return std::make_unique<DragonflyFabric>(placement, std::move(classes), size);
  }
  /// The balanced one: half as many cables to other groups as switches in a group, as many as NICs at a switch.
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    int ports = nics_per_node;
    const auto per_group = [&] { return 2 * ports * ports / nics_per_node; };
    while (static_cast<std::int64_t>(per_group()) * (2 * ports * ports + 1) < nodes) ports += nics_per_node;
    const int groups = std::max(2, fabrics::parts_of(nodes, per_group()));
    return {
        {"nodes", nodes},
        {"groups", groups},
        {"nodes_per_group", per_group()},
        {"switches_per_group", 2 * ports},
        {"switches_per_node", 1},
        {"endpoints_per_switch", ports},
        {"global_links", 2 * ports * ports / (groups - 1)},
        {"global_ports_per_switch", ports},
        {"radix", std::max(fabrics::kUsualRadix, 4 * ports - 1)},
        {"links",
         {{"host", Json::object()}, {"local", fabrics::between_switches()}, {"global", fabrics::between_switches()}}}};
  }
};

const bool dragonfly_registered = fabric_generators().add(
    {"dragonfly", "groups of switches, all to all inside a group and among the groups",
     "J. Kim et al., Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008; D. De Sensi et al., An In-Depth "
     "Analysis of the Slingshot Interconnect, SC20"},
    [] { return std::make_unique<Dragonfly>(); });

}  // namespace
}  // namespace linkcast
