#pragma once
// Keys that all generators read: counts, classes of links, and how nodes are spread over switches.
// Base of every fabric of switches: each NIC has one cable to its switch, everything else is between switches.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast::fabrics {

// Ports of a switch where nothing is said. source: NVIDIA Quantum-2 QM9700 data sheet; HPE Slingshot and most Ethernet
// switches of the time have as many
inline constexpr int kUsualRadix = 64;
// A cable between switches and the switch behind it. source: 130 ns, as NVIDIA's Quantum QM8700; assumed: 20 m at 5
// ns/m
inline Json between_switches() { return {{"latency", "230ns"}}; }
/// Whole parts of `each` that hold `all`.
inline int parts_of(int all, int each) { return (all + each - 1) / each; }
/// Ports for NICs of a switch with `ports` of them, whole nodes at each switch where that is possible.
inline int whole_nodes(int ports, int nics_per_node) { return std::max(nics_per_node, ports - ports % nics_per_node); }

/// A whole number of at least `least`. @throws InputError
int count_of(ObjectReader& parameters, const std::string& key, int least = 1);
/// The product as a count, refused at `key` where it leaves the range of an int (links are numbered by ints).
int checked_count(const ObjectReader& parameters, const std::string& key, std::int64_t count, const std::string& what);

/// "links": one object {cable, bandwidth, latency, source} for each of `names`, in that order.
std::vector<FabricLinkClass> read_link_classes(ObjectReader& parameters, const std::vector<std::string>& names);

/// Cables among groups of switches, every two of them joined by as many.
struct GroupCables {
  int groups = 0, each = 0;  ///< cables between two groups
  [[nodiscard]] std::int64_t of_a_group() const { return static_cast<std::int64_t>(groups - 1) * each; }
};
/// @throws InputError  the `switches` of a group that take such cables, `what` they are called, have too few ports
void check_global_ports(const ObjectReader& parameters, const GroupCables& cables, int switches,
                        const std::string& what, int ports_of_each);
/// @param local_cables  inside one group. @throws InputError  more links or detours than can be numbered
void check_group_numbers(const ObjectReader& parameters, const GroupCables& cables, std::int64_t local_cables);

/// Which switch a NIC hangs at. Nodes fill switches in order: `switches_per_node` neighbouring switches share a block
/// of nodes, each with equally many NICs of every node of the block.
class Placement {
 public:
  /// Reads "nodes" and `ports_key` (ports of a switch for NICs).
  /// @param switches_per_node  read as well if left out
  Placement(ObjectReader& parameters, int nics_per_node, const std::string& ports_key,
            std::optional<int> switches_per_node = std::nullopt);

  /// Says how the switches that take NICs are grouped. @throws InputError  the nodes do not fit
  /// @param switches  in a group
  /// @param stride  from the first switch of a group to that of the next one, in numbers of switches
  void group(const ObjectReader& parameters, int groups, int nodes_per_group, int switches, int stride,
             const std::string& switches_key);

  [[nodiscard]] int endpoints() const { return nodes_ * nics_; }
  [[nodiscard]] int ports() const { return ports_; }
  /// Nodes that share one block of switches, and how many such blocks of switches `switches` make.
  [[nodiscard]] int nodes_per_block() const { return ports_ / nics_per_switch_; }
  [[nodiscard]] int switches_per_node() const { return nics_ / nics_per_switch_; }
  /// Number of the switch, from 0.
  [[nodiscard]] int switch_of(int endpoint) const;

 private:
  int nodes_ = 0, nics_ = 1, nics_per_switch_ = 1, ports_ = 0;
  int nodes_per_group_ = 0, stride_ = 0;
};

/// Numbers the pairs i < j of `size` things: 0 for (0, 1), 1 for (0, 2), ...
class PairNumbers {
 public:
  explicit PairNumbers(int size) : size_(size) {}
  [[nodiscard]] int pairs() const { return size_ * (size_ - 1) / 2; }
  [[nodiscard]] int number(int i, int j) const { return i < j ? before(i) + j - i - 1 : before(j) + i - j - 1; }
  /// The smaller end first.
  [[nodiscard]] std::pair<int, int> ends(int number) const;

 private:
  /// Pairs whose smaller end is below i.
  [[nodiscard]] int before(int i) const { return i * (2 * size_ - i - 1) / 2; }
  int size_;
};

/// What a turn makes of a cable, whose ends may change places.
struct Turned {
  int cable = 0;
  bool swapped = false;
};
/// Of cables between groups, each of which becomes the next: `each` for every pair of groups, from `first` on.
Turned turned_pair(const PairNumbers& groups, int count, int cable, int first, int each);

/// Cables are numbered from 0: cable e is that of endpoint e, then those between switches. Cable c is the links 2c
/// (from its first end to its second) and 2c + 1 (back). Class 0 is "host".
class SwitchedFabric : public Fabric {
 public:
  SwitchedFabric(const Placement& placement, std::vector<FabricLinkClass> classes, int switches, int switch_cables)
      : classes_(std::move(classes)), switches_(switches), switch_cables_(switch_cables) {
    for (int endpoint = 0; endpoint < placement.endpoints(); ++endpoint)
      switch_of_.push_back(placement.switch_of(endpoint));
  }
  /// @param switch_of  of every endpoint
  SwitchedFabric(std::vector<int> switch_of, std::vector<FabricLinkClass> classes, int switches, int switch_cables)
      : switch_of_(std::move(switch_of)),
        classes_(std::move(classes)),
        switches_(switches),
        switch_cables_(switch_cables) {}

  [[nodiscard]] int endpoints() const override { return static_cast<int>(switch_of_.size()); }
  [[nodiscard]] int switches() const override { return switches_; }
  [[nodiscard]] int links() const override { return 2 * (endpoints() + switch_cables_); }
  [[nodiscard]] const std::vector<FabricLinkClass>& classes() const override { return classes_; }
  [[nodiscard]] FabricLink link(int id) const override;
  [[nodiscard]] std::string vertex_name(int vertex) const override;
  [[nodiscard]] int minimal_ways(int from, int to) const override;
  void minimal_way(int from, int to, int which, std::vector<int>& links) const override;
  [[nodiscard]] int detours(int from, int to) const override;
  void detour(int from, int to, int which, std::vector<int>& links) const override;
  [[nodiscard]] int distance(int from, int to) const override;
  [[nodiscard]] bool ways_of_switches() const final { return true; }
  [[nodiscard]] int turned_switch(int vertex) const final { return endpoints() + turned(vertex - endpoints()); }
  [[nodiscard]] int turned_link(int id) const final {
    const Turned cable = turned_cable(id / 2 - endpoints());
    return 2 * (endpoints() + cable.cable) + (id % 2 ^ (cable.swapped ? 1 : 0));
  }

 protected:
  // All of these speak of switches by number, from 0, and of cables between switches by number, from 0.
  [[nodiscard]] virtual FabricLink switch_cable(int cable) const = 0;
  [[nodiscard]] virtual std::string switch_name(int number) const = 0;
  /// `from` and `to` differ.
  [[nodiscard]] virtual int ways(int from, int to) const = 0;
  virtual void way(int from, int to, int which, std::vector<int>& links) const = 0;
  [[nodiscard]] virtual int far_ways(int /*from*/, int /*to*/) const { return 0; }
  virtual void far_way(int /*from*/, int /*to*/, int /*which*/, std::vector<int>& /*links*/) const {}
  /// Index into distances() of two different switches; 0 is the same switch.
  [[nodiscard]] virtual int switch_distance(int from, int to) const = 0;

  /// What a turn makes of a switch and of a cable; see Fabric::turns().
  [[nodiscard]] virtual int turned(int number) const { return number; }
  [[nodiscard]] virtual Turned turned_cable(int cable) const { return {cable}; }

  /// The link of a cable between switches, forward from its first end.
  [[nodiscard]] int link_of(int cable, bool forward) const { return 2 * (endpoints() + cable) + (forward ? 0 : 1); }

 private:
  [[nodiscard]] int switch_of(int endpoint) const { return switch_of_[at(endpoint)]; }

  std::vector<int> switch_of_;  ///< per endpoint
  std::vector<FabricLinkClass> classes_;
  int switches_, switch_cables_;
};

}  // namespace linkcast::fabrics
