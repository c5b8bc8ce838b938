#pragma once
// One attempt of the search: as many channels of one speed as fit, depth first, within a budget of hops tried.
#include <array>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>
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
  double network_speed = 0;                ///< the same between members and NICs
  PathClass path_class = PathClass::kSys;  ///< worst that a hop may have
  PathClass nic_class = PathClass::kPix;   ///< worst that a way to or from a NIC may have
  bool same_order = true;                  ///< all channels run in one order
  bool crosses = false;                    ///< rings may leave by another NIC than they came in by
  int min_channels = 1, max_channels = 1;
  int channels = 0;
  bool found = true;                   ///< false: the search found nothing, this one is in the order of the members
  int hops = 0;                        ///< links passed, over all channels
  std::vector<int> orders;             ///< members, channel after channel
  std::vector<int> nics_in, nics_out;  ///< by channel; empty on one node

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
    int reverse_part = 1;  ///< the reverse link is charged 1 / this
  };

  struct Pair {  ///< the path of two members: a range of charges_, and what take() asks first
    std::size_t begin = 0, end = 0;
    bool allowed = false;  ///< a path of a class that the set wanted may have
  };

  struct Cost {  ///< of one channel on a link, in thousandths of GB/s
    std::int64_t needed = 0, taken = 0;
  };

  struct Price {  ///< of one channel on a path
    Cost plain, overhead;
  };
  struct State {  ///< a number for all that the channels that follow depend on
    std::uint64_t low = 0, high = 0;
    bool operator==(const State&) const = default;
  };
  struct StateHash {
    std::size_t operator()(const State& state) const { return state.low; }
  };
  enum PriceOf : std::size_t { kInside, kBetween, kHalf };  ///< kHalf: of a tree's two first members to their NIC

  [[nodiscard]] Pair charged(const Path& path, bool from_gpu);
  [[nodiscard]] Price price(double speed) const;
  void start_pricing();
  void rank_neighbours();
  void rank_towards_nics();
  [[nodiscard]] std::tuple<double, std::size_t> inside_rank(int gpu, int other) const;
  [[nodiscard]] const std::vector<int>& next_ones(int gpu, int step, int leave) const;
  void allow();
  void rank_nics();
  [[nodiscard]] const Pair& pair(int from, int to) const {
    return pairs_[static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to)];
  }
  bool take(const Pair& path, PriceOf of);
  void give_back(const Pair& path, PriceOf of);
  void give_back_charges(std::size_t begin, std::size_t end, const Price& price);
  void next_channel();
  void try_channel();
  [[nodiscard]] State state() const;
  void enter_by_nics();
  void enter_by(int nic);
  void enter_at(int nic, int gpu, Order order);
  [[nodiscard]] std::pair<int, int> slot(int gpu) const;
  [[nodiscard]] bool pci_used_up(int gpu) const;
  void leave_by_nics(int gpu, int step, Order order);
  [[nodiscard]] bool in_pairs() const;
  [[nodiscard]] bool may_leave_by(int nic, int step) const;
  void start(int gpu, Order order);
  /// @param leave  step whose member talks to a NIC, if it is still to come
  void place(int gpu, int step, Order order, int leave);
  void go_on(int gpu, int step, Order order, int leave);
  void go_to_next(int gpu, int step, Order order, int leave);
  void finish_channel();
  [[nodiscard]] bool better() const;

  const NodeModel& model_;
  const PathTable& paths_;
  int gpus_, nics_;
  double intel_overhead_;
  std::vector<Pair> pairs_;
  std::vector<Charge> charges_;
  std::vector<std::int64_t> capacity_, free_;  ///< by link, thousandths of GB/s
  std::array<Price, 3> prices_;                ///< by PriceOf
  std::vector<Pair> to_nic_, from_nic_;        ///< by member and NIC
  std::vector<std::pair<int, int>> slots_;     ///< by member, see slot()
  std::vector<int> entries_;                   ///< NICs, in the order in which channels take them
  std::vector<std::vector<int>> exits_;        ///< the same by member
  std::vector<std::vector<int>> neighbours_;   ///< by member, best first
  struct Towards {
    std::vector<int> last, before;  ///< the last hop to the member that talks to the NIC, and those before it
  };
  std::vector<Towards> towards_;  ///< by NIC and member
  ChannelSet now_;
  ChannelSet* best_ = nullptr;
  long budget_ = 0;
  std::unordered_map<State, long, StateHash> spent_;  ///< of the budget, on all that can follow
  std::vector<std::uint64_t> in_channel_;             ///< by member, a bit a channel
};

}  // namespace linkcast::graph
