#pragma once
// All messages and links of an alltoall over many nodes, those that are interchangeable in plain sight listed once.
#include <cstddef>
#include <vector>

#include "sim/forecast/message_ways.hpp"
#include "sim/forecast/reduced_alltoall.hpp"
#include "sim/forecast/switch_pairs.hpp"

namespace linkcast {

/// Nodes whose NICs hang on the same switches are twins: two of them can be swapped and nothing changes. Messages are
/// listed by the kinds of nodes and the members of their ends, links of nodes by kind, links between switches each.
class AlltoallParts {
 public:
  struct Kind {
    int first = 0;                ///< node
    double count = 0;             ///< of nodes
    std::vector<int> switches{};  ///< per member
  };
  /// A link or a limit of a node, and how much of it a byte of payload takes.
  struct Part {
    int link = 0;  ///< index into the links of all parts
    double weight = 0;
  };

  AlltoallParts(const Cluster& cluster, const UniformTraffic& traffic);

  [[nodiscard]] const SwitchPairs& pairs() const { return pairs_; }
  [[nodiscard]] int kinds() const { return static_cast<int>(kinds_.size()); }
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] const Kind& kind(int number) const { return kinds_[static_cast<std::size_t>(number)]; }

  /// Between nodes: from member i of a node of kind a to member j of one of kind b. Within: of one node.
  struct Message {
    int a = 0, i = 0, b = 0, j = 0;
    bool inside = false;
  };
  [[nodiscard]] std::size_t message_count() const;
  [[nodiscard]] Message message(std::size_t index) const;
  [[nodiscard]] std::size_t between(int a, int i, int b, int j) const;
  [[nodiscard]] std::size_t inside(int a, int i, int j) const;
  /// How many messages there are of this sort; may be 0.
  [[nodiscard]] double count(const Message& message) const;
  /// Nodes of kind b that a node of kind a sends to.
  [[nodiscard]] double peers(int a, int b) const { return kind(b).count - (a == b ? 1 : 0); }

  [[nodiscard]] std::size_t link_count() const;
  [[nodiscard]] int key(std::size_t link) const;
  /// How many links there are of this sort.
  [[nodiscard]] double copies(std::size_t link) const;

  /// What a message takes in its nodes, ports included; links between switches are those of pairs().
  [[nodiscard]] const std::vector<NodeWay>& out() const { return ways_.out; }
  [[nodiscard]] const std::vector<NodeWay>& in() const { return ways_.in; }
  [[nodiscard]] const NodeWay& inside_way(int i, int j) const {
    return ways_.inside[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  /// Index of limit number `constraint` of a node of a kind; ports follow the node's own.
  [[nodiscard]] std::size_t of_node(int a, int constraint) const {
    return static_cast<std::size_t>(a) * per_node_ + static_cast<std::size_t>(constraint);
  }
  /// Index of a link between switches.
  [[nodiscard]] std::size_t of_fabric(int link) const {
    return kinds_.size() * per_node_ + static_cast<std::size_t>(link);
  }
  [[nodiscard]] const UniformTraffic& traffic() const { return *traffic_; }
  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }

 private:
  static std::vector<int> endpoints(const Cluster& cluster, const UniformTraffic& traffic);
  void find_kinds();
  [[nodiscard]] SwitchPairs::Traffic traffic_of_switches() const;

  const Cluster* cluster_;
  const UniformTraffic* traffic_;
  int members_;
  std::size_t constraints_, per_node_;
  SwitchPairs pairs_;
  MessageWays ways_;
  std::vector<Kind> kinds_;
};

}  // namespace linkcast
