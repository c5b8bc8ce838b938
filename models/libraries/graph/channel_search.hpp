#pragma once
// One attempt of the search: as many channels of one speed as fit, depth first, within a budget of hops tried.
#include <array>
#include <cstdint>
#include <vector>

#include "models/libraries/graph/paths.hpp"

namespace linkcast::graph {

enum class Pattern {
  kRing,      ///< closed
  kTree,      ///< inside a node a chain; between nodes it branches at its first two members
  kPlainTree  ///< the same chain; between nodes it branches at its first member only
};

/// Channels of one pattern, all of one speed: what is searched and what was found.
struct ChannelSet {
  Pattern pattern = Pattern::kRing;
  double speed = 0;                        ///< GB/s a channel
  PathClass path_class = PathClass::kSys;  ///< worst that a hop may have
  bool same_order = true;                  ///< all channels run in one order
  int min_channels = 1, max_channels = 1;
  int channels = 0;
  int hops = 0;             ///< links passed, over all channels
  std::vector<int> orders;  ///< members, channel after channel

  [[nodiscard]] double bandwidth() const { return channels * speed; }
};

/// @source  models/libraries/SOURCES.md, "Graph era: search"
class ChannelSearch {
 public:
  /// @param intel_overhead  PCIe bandwidth that peer traffic through an Intel CPU takes, per byte
  ChannelSearch(const NodeModel& model, const PathTable& paths, double intel_overhead);

  static constexpr long kComplete = -1;  ///< as many channels as allowed were found

  /// Fills wanted.max_channels channels if it can. `best` is replaced by every better set on the way.
  /// @returns what is left of the budget; 0: it ran out
  long run(const ChannelSet& wanted, ChannelSet& best, long budget);

 private:
  /// How the next member of a channel is chosen.
  enum class Order { kIndex, kAsBefore, kFree };

  struct Charge {  ///< of one link of a path
    int link = 0, reverse = -1;
    bool through_intel_cpu = false;
  };

  struct Pair {  ///< the path of two members: a range of charges_, and what take() asks first
    std::size_t begin = 0, end = 0;
    bool allowed = false;  ///< a path of a class that the set wanted may have
  };

  struct Cost {  ///< of one channel on a link, in thousandths of GB/s
    std::int64_t needed = 0, taken = 0;
  };

  void price(double speed);
  void rank_neighbours();
  void allow(PathClass worst);
  [[nodiscard]] const Pair& pair(int from, int to) const {
    return pairs_[static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to)];
  }
  bool take(int from, int to);
  void give_back(int from, int to);
  void give_back_charges(std::size_t begin, std::size_t end);
  void next_channel();
  void start(int gpu, Order order);
  void place(int gpu, int step, Order order);
  void go_on(int gpu, int step, Order order);
  void finish_channel();
  [[nodiscard]] bool better() const;

  const NodeModel& model_;
  const PathTable& paths_;
  int gpus_;
  double intel_overhead_;
  std::vector<Pair> pairs_;
  std::vector<Charge> charges_;
  std::vector<std::int64_t> capacity_, free_;  ///< by link, thousandths of GB/s
  Cost plain_, overhead_;
  std::vector<std::vector<int>> neighbours_;  ///< by member, best first
  ChannelSet now_;
  ChannelSet* best_ = nullptr;
  long budget_ = 0;
  std::vector<std::uint64_t> in_channel_;  ///< by member, a bit a channel
};

}  // namespace linkcast::graph
