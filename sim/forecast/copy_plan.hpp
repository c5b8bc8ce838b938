#pragma once
// Copies of a request as activities of one problem, those inside nodes and the messages between them alike.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/forecast/copy_request.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/cluster_problem.hpp"

namespace linkcast::copy {

/// What one copy of the request became: one of both.
struct PlannedCopy {
  std::optional<activities::PlannedTransfer> inside{};  ///< its links and activities are those of its node
  std::optional<activities::PlannedMessage> between{};
  int node = 0;            ///< that it leaves
  int main = 0;            ///< activity of the problem that moves most bytes, of a message that crosses the network
  int last = 0;            ///< whose end is that of the copy
  int first = 0, end = 0;  ///< its activities in the problem: from first to before end

  [[nodiscard]] const std::string& transport() const { return inside ? inside->transport : between->transport; }
  [[nodiscard]] double latency_s() const { return inside ? inside->latency_s : between->latency_s; }
  /// Device of its node whose copy engine takes this copy in turn with others; -1: none.
  [[nodiscard]] int executor() const { return inside ? inside->executor : -1; }
};

class CopyPlan {
 public:
  /// @param order  in which the copies queue at their engines: every number of a copy once
  /// @throws InputError  no transport joins two ends, or none was measured
  CopyPlan(const Cluster& machine, const CopyRequest& request, const std::vector<std::size_t>& order);

  /// In the order of the request.
  [[nodiscard]] const std::vector<PlannedCopy>& copies() const { return copies_; }
  [[nodiscard]] const Problem& problem() { return problem_.problem(); }
  [[nodiscard]] activities::ClusterProblem& cluster_problem() { return problem_; }
  /// Keys in the cluster of the links of a copy, in order.
  [[nodiscard]] std::vector<int> links_of(const PlannedCopy& copy) const;

 private:
  PlannedCopy add(const CopyRequest& request, const Copy& copy);
  PlannedCopy add_inside(const activities::Transfer& transfer, int node);
  /// The host's work on each copy, one behind the other.
  void issue(const CopyRequest& request);

  activities::ClusterProblem problem_;
  std::map<int, activities::ProblemBuilder> nodes_{};  ///< by number of the node: what was planned in it so far
  std::map<int, std::vector<int>> number_{};           ///< in the problem, of each activity of a node
  std::vector<PlannedCopy> copies_;
  std::map<std::pair<int, int>, double> bidirectional_;  ///< node, device -> bytes copied over the host both ways
  std::vector<int> issues_{};                            ///< activities of the host, by copy; empty: it takes no time
  int issue_ = -1;                                       ///< of the copy that is being added
};

}  // namespace linkcast::copy
