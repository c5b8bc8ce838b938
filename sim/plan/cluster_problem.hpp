#pragma once
// From ways inside and between the nodes of a cluster to activities of the engine. Only constraints that some activity
// uses are in the Problem, so that its size follows the job and not the machine.
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/key_table.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::activities {

/// Bytes of all activities on each constraint.
void add_loads(const Problem& problem, std::vector<double>& loads_B);

class ClusterProblem {
 public:
  /// Routed as the fabric routes; where that is adaptively, for the traffic of all activities together.
  /// @param most_ways  of each kind between two NICs, where there are more
  explicit ClusterProblem(const Cluster& cluster, int most_ways = std::numeric_limits<int>::max())
      : cluster_(&cluster), node_(cluster.node()), most_ways_(most_ways) {}

  /// Inside a node, whatever the node's number.
  [[nodiscard]] const ProblemBuilder& in_node() const { return node_; }
  /// An activity made for a node: its uses are of the node's constraints.
  /// @param idle  part of the uses during which no byte crosses a wire, as wire_bound_s() counts. @returns its index
  int add_in_node(int node, Activity activity, const std::vector<Use>& idle = {});

  /// All constraints of a node become some of the Problem now, in their own order: of limits that are equally tight the
  /// solvers name the lower one, which is then the same whatever else is in the problem.
  void include_node(int node);
  /// Likewise those alone that an activity of the node uses, where no other activity follows.
  void include_used(int node, std::vector<Use> uses);
  /// What follows belongs to the next activity until add() is called.
  /// @param weight  bytes on these links per byte of the activity
  void pass_node(int node, const std::vector<int>& links, MoveBy by, double weight = 1);
  /// Host memory of a node that these links are copied to or from.
  void pass_host_memory(int node, const std::vector<int>& links, double bytes);
  /// Constraints of a node, as consumed per byte of the activity.
  /// @param wire_share  part of it that crosses the wires, as wire_bound_s() counts: the rest is not attained
  void pass_constraints(int node, const std::vector<Use>& uses, double wire_share = 1);
  /// From one GPU to one of another node, over the fabric between their NICs.
  void pass_network(const NetworkEnd& from, const NetworkEnd& to, double weight = 1);
  /// From NIC to NIC, the fabric alone.
  void pass_fabric(int from_endpoint, int to_endpoint, double weight = 1);
  /// The engines of the cards at both ends, where they have one.
  void pass_engines(int from_endpoint, int to_endpoint, double weight = 1);
  /// Receiving of the card that a message leaves by, of which its start takes a part.
  void start_in_engine(int from_endpoint, double weight);
  /// These links of the fabric, whatever its routing would take.
  void pass_way(const std::vector<int>& fabric_links, double weight = 1);
  /// Adaptively routed messages between the same two switches get one trunk of the Problem, over all routes. Set before
  /// any activity is added; each passes the fabric once.
  void share_trunks() { shares_ = true; }
  /// Remembers from now on what each pass_fabric() takes.
  void keep_crossings() { keeps_ = true; }
  /// From now on adaptive_crossings() has them: set before any activity is added.
  void keep_adaptive_crossings() { keeps_adaptive_ = true; }
  /// Complete once problem() was asked for; empty where the fabric routes otherwise.
  [[nodiscard]] const std::vector<FabricCrossing>& adaptive_crossings() const { return adaptive_; }
  struct Crossed {
    int activity = 0, from = 0, to = 0;  ///< endpoints of the fabric
    double weight = 0;
    std::vector<Use> uses{};  ///< that it added to the activity
  };
  /// Complete once problem() was asked for.
  [[nodiscard]] const std::vector<Crossed>& crossed() const { return crossed_; }
  /// Lowest rate that one byte per second of the next activity meets so far, bytes/s.
  [[nodiscard]] double lone_rate() const;
  /// Queues are numbered over all nodes: those of node n follow those of the nodes before it.
  /// @returns index of the activity
  int add(Activity activity);

  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
  /// Settles the ways of adaptive routing for the traffic added since the last time: what comes later is not there yet.
  void settle();
  /// All activities, the last of them settled.
  [[nodiscard]] const Problem& problem();
  /// Of an activity, whether its ways are settled or not.
  [[nodiscard]] double delay_s(int activity) const {
    return problem_.activities[static_cast<std::size_t>(activity)].delay_s;
  }
  /// Lower bound of the time of all activities, in any order, seconds: each link carries its bytes at its nominal rate.
  /// Between switches that hash (ecmp) bytes that collide count as spread over all their shortest routes: with another
  /// hash they need not collide.
  [[nodiscard]] double wire_bound_s();
  /// The same at the rates that links attain: the time of the bytes where nothing but links limits.
  [[nodiscard]] double links_bound_s();
  /// Key of constraint i of the Problem in the cluster.
  [[nodiscard]] int key(int constraint) const { return keys_[static_cast<std::size_t>(constraint)]; }

 private:
  [[nodiscard]] std::vector<double> loads_B();
  int trunk_of(const FabricCrossing& crossing, double detoured, int choices);
  void use(int key, double weight) { take(number(key), weight); }
  void take(int constraint, double weight);
  /// Number of the first constraint of a node that is all in the Problem. @returns  -1: it is not
  [[nodiscard]] int first_of(int node) const {
    return node < static_cast<int>(first_.size()) ? first_[static_cast<std::size_t>(node)] : -1;
  }
  int number(int key);
  void add_uses(int activity, const std::function<void()>& pass);
  [[nodiscard]] double spread_bound_s() const;

  const Cluster* cluster_;
  ProblemBuilder node_;
  int most_ways_;
  Problem problem_;
  std::vector<int> keys_;                   ///< per constraint of the Problem
  std::vector<int> first_;                  ///< per node: number of its first constraint where all are included, or -1
  KeyTable<int> number_{-1};                ///< key -> constraint of the Problem, of the others
  std::vector<Use> uses_;                   ///< of the next activity
  std::vector<Use> idle_;                   ///< part of them that crosses no wire
  std::unordered_map<int, double> idle_B_;  ///< per constraint of the Problem: the same of all activities added
  std::vector<int> place_;                  ///< per constraint of the Problem: index in uses_, -1 if not used yet
  std::vector<WeightedLink> way_;           ///< kept for its memory
  std::vector<int> whole_;                  ///< likewise
  std::vector<FabricCrossing> crossings_;   ///< whose links are not in the activities yet
  std::vector<FabricCrossing> adaptive_;    ///< whose links are, where they are kept
  std::vector<FabricCrossing> hashed_;      ///< that take one of several routes by a hash
  std::vector<Crossed> crossed_;
  bool shares_ = false;
  std::map<std::tuple<int, int, double>, int> trunk_of_;  ///< by the switches at both ends and the weight
  bool keeps_adaptive_ = false;
  bool keeps_ = false, within_ = false;                         ///< crossings are kept; uses belong to the last one
  double port_rate_ = std::numeric_limits<double>::infinity();  ///< of the next activity's crossings, bytes/s
};

}  // namespace linkcast::activities
