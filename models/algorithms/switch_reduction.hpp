#pragma once
// Algorithms by switches between nodes that reduce (CollNet, SHARP).
#include <string>
#include <utility>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast {

/// Each channel's head sends its node's sum up to the switches of the fabric once and gets the result once. What a
/// switch passes on goes, as far as our links tell, to the next node in order. An algorithm says what happens inside a
/// node.
/// @source  NVIDIA, Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): switches reduce on the way up
class SwitchReduction : public Algorithm {
 public:
  /// @param name  of the algorithm in the library's table. @param rows  live as long as the program
  SwitchReduction(std::string name, const collective::LatencyRows& rows) : name_(std::move(name)), rows_(rows) {}

  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.reducing_fabric = true}; }
  /// Rates of a ring's blocks, all steps as the library's table of the algorithm says, or its rows.
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override;
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override;
  /// To the farthest node and back: once through the switches.
  [[nodiscard]] double first_byte_s(const collective::CollectiveJob& job,
                                    const activities::HopDelay& delay_s) const override;
  [[nodiscard]] double unmeasured_spread(const collective::CollectiveJob& job) const override;
  [[nodiscard]] std::vector<std::string> warnings(const collective::CollectiveJob& job,
                                                  const collective::CollectivePlan& plan) const override;
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override { return rows_.own(); }

 protected:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const collective::LatencyRows& rows() const { return rows_; }

 private:
  /// Consumption of a node where the GPUs' data become one sum at the head of a channel, and the result comes back.
  virtual std::vector<Use> sum_in_node(const collective::CollectiveJob& job, const collective::CollectiveCost& cost,
                                       const Channel& chain, activities::ChannelRoute& route) const = 0;

  /// Those of a node that are not in the base.
  [[nodiscard]] virtual collective::Hops hops(const collective::CollectiveJob& job,
                                              const collective::CollectivePlan& plan) const;

  std::string name_;
  const collective::LatencyRows& rows_;
};

/// Rates of a ring's blocks; all steps as the library's table of an algorithm says, or its rows.
collective::CollectiveCost table_cost(const collective::CostRequest& request, const std::string& algorithm,
                                      const collective::LatencyRows& rows);

/// The GPU of a channel that talks to switches or to other nodes' GPUs of the same number, and the fabric's end there.
ClusterGpu entry_of(int node, const Channel& channel);
int card_of(const Cluster& cluster, int node, const Channel& channel);

}  // namespace linkcast
