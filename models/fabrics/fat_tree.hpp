#pragma once
// Fat trees of two levels (leaves, spines) and three (leaves, aggregation switches, core).
#include "models/fabrics/switched_fabric.hpp"

namespace linkcast::fabrics {

/// A tree of two levels is one pod without a core, its spines being the `tops`.
struct TreeSize {
  int pods = 1, leaves = 0, tops = 0;  ///< leaves, and switches above them, of a pod
  int leaf_cables = 1;                 ///< parallel cables from a leaf to each switch above it
  int cores = 0;                       ///< core switches above each top; every pod's top of equal number shares them
  int core_cables = 0;                 ///< parallel cables from a top to each of its cores

  [[nodiscard]] int all_leaves() const { return pods * leaves; }
  [[nodiscard]] int all_tops() const { return pods * tops; }
  [[nodiscard]] int switches() const { return all_leaves() + all_tops() + tops * cores; }
  [[nodiscard]] std::int64_t cables() const;
  /// Ways between pods, or between leaves if there is one pod.
  [[nodiscard]] std::int64_t most_ways() const;
};

/// Minimal routes: every combination of upper switches and of parallel cables; no others exist.
class FatTreeFabric : public SwitchedFabric {
 public:
  FatTreeFabric(Placement placement, std::vector<FabricLinkClass> classes, TreeSize size);
  [[nodiscard]] const std::vector<std::string>& distances() const override;

 protected:
  [[nodiscard]] FabricLink switch_cable(int cable) const override;
  [[nodiscard]] std::string switch_name(int number) const override;
  [[nodiscard]] int ways(int from, int to) const override;
  void way(int from, int to, int which, std::vector<int>& links) const override;
  [[nodiscard]] int switch_distance(int from, int to) const override;
  /// Each pod becomes the next; cores stay.
  [[nodiscard]] int turns() const override { return size_.pods; }
  [[nodiscard]] int turned(int number) const override;
  [[nodiscard]] Turned turned_cable(int cable) const override;
  [[nodiscard]] const TreeSize& size() const { return size_; }

 private:
  [[nodiscard]] int pod(int leaf) const { return leaf / size_.leaves; }
  /// From a leaf to the top of that number in its pod.
  [[nodiscard]] int up(int leaf, int top, int parallel) const;
  /// From a top of a pod to its core of that number.
  [[nodiscard]] int core_up(int pod, int top, int core, int parallel) const;

  TreeSize size_;
};

/// Switches above leaves.
struct Spines {
  int number = 1, radix = kUsualRadix;
};
/// The fewest that take `uplinks` cables of each leaf with the usual radix; more leaves than that: a larger one.
Spines spines_above(int leaves, int uplinks);

/// Reads `key`, the number of cables up from one switch, which must spread evenly over `switches` above.
/// @return parallel cables to each
int parallel_cables(ObjectReader& parameters, const std::string& key, int switches);
/// @throws InputError  more ports in use than a switch has
void check_radix(const ObjectReader& parameters, int radix, std::int64_t down, std::int64_t up,
                 const std::string& which);
/// @throws InputError  too many links or ways to number
void check_tree(const ObjectReader& parameters, const TreeSize& size);

}  // namespace linkcast::fabrics
