#pragma once
// Which attempts the search makes, in which order, and when it is content: rings, trees, and what is used of both.
#include <map>
#include <tuple>

#include "models/libraries/graph/channel_search.hpp"

namespace linkcast::graph {

struct ChannelPlan {
  ChannelSet rings, trees;  ///< as found
  int channels = 0;         ///< of each that are used: the lesser number of both
  int copies = 1;           ///< blocks that run each channel
};

/// @source  models/libraries/SOURCES.md, "Graph era: search"
class Planner {
 public:
  Planner(const NodeModel& model, const PathTable& paths, const SearchTraits& traits);
  [[nodiscard]] ChannelPlan plan();

 private:
  [[nodiscard]] ChannelSet search(Pattern pattern, int least, int most);
  void find(ChannelSet& best);
  bool try_speed(ChannelSet wanted, ChannelSet& best);
  bool try_nic_classes(ChannelSet wanted, ChannelSet& best);
  bool try_classes(ChannelSet wanted, ChannelSet& best);
  bool try_orders(ChannelSet wanted, ChannelSet& best);
  bool attempt(const ChannelSet& wanted, ChannelSet& best, long budget);
  void split_wide(ChannelSet& set) const;
  void raise(ChannelSet& best);
  [[nodiscard]] long budget_of(const ChannelSet& wanted) const;
  [[nodiscard]] std::size_t first_speed(double most) const;
  [[nodiscard]] const std::vector<double>& speeds() const { return *speeds_; }

  const NodeModel& model_;
  const PathTable& paths_;
  const SearchTraits& traits_;
  ChannelSearch search_;
  const std::vector<double>* speeds_;
  double widest_ = 0;  ///< GB/s of a path: to a NIC between nodes, else between members
  double enough_ = 0;  ///< bandwidth at which the search stops, GB/s
  long budget_ = 0;    ///< for all attempts
  long left_ = 0;      ///< of the budget of the last attempt
  /// What was left of attempts that allowed the same paths: to repeat one finds nothing better.
  using Attempt = std::tuple<double, double, Pattern, bool, bool, int, PathClass, PathClass>;
  std::map<Attempt, long> made_;
};

/// Into how many equal channels each of `channels` at `speed` GB/s is split: 1 or 2.
int split_factor(const SearchTraits& traits, int sm, int channels, double speed);

}  // namespace linkcast::graph
