#pragma once
// What the generators read alike: counts, classes of links, and how nodes are spread over switches.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast::fabrics {

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

}  // namespace linkcast::fabrics
