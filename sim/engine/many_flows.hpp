#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/engine/event_heap.hpp"
#include "sim/engine/flow_group.hpp"
#include "sim/engine/flow_links.hpp"
#include "sim/engine/flow_pieces.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/trunks.hpp"

namespace linkcast {

/// Warning of an answer where Solution::late_shares is not 0.
inline constexpr char kSharedLate[] =
    "many flows: rates were shared out anew at most once in 0.4 % of the time passed, which moves ends by less than 1 "
    "%";

/// Runs a Problem of many flows that wait for nothing and meet on common constraints. All flows that one constraint
/// limits have one rate and one clock of the bytes that each has moved: an end changes the rate of that clock, and
/// flows end in the order of their bytes. So n flows into one link take n log n. All rates are shared out anew only
/// where an end changes more than that; from the kExactShares-th time on not at once but at most once in kLate of the
/// time that has passed. Until then room that ends leave stays free. Every flow moves its
/// bytes and no constraint carries more than it can.
class ManyFlows {
 public:
  /// source: ours; the error against runs that share at each end is in docs/performance.md
  static constexpr double kLate = 4e-3;
  static constexpr std::size_t kExactShares = 64;
  /// source: ours, about where it becomes faster than FluidSolver
  static constexpr std::size_t kFew = 512;
  /// source: ours, about where FluidSolver takes half a second, and four times that for twice as many
  static constexpr std::size_t kMany = 1024;
  /// source: ours, a ring of four GPUs that begins by itself
  static constexpr std::size_t kFlowsAStart = 4;

  /// Whether nothing waits, all begins at kExactShares times at most (of more than kMany flows, kFlowsAStart at a time)
  /// and a connected component has more than kFew flows.
  static bool takes(const Problem& problem);
  /// @throws InvariantError  see check_problem, check_solution
  Solution run(const Problem& problem);

 private:
  static constexpr int kNone = -1;
  struct Flow {
    double left_B = 0;               // when it joined its group
    double joined = 0;               // clock of the group then
    double ends = 0;                 // clock of the group when it ends
    double moved_B = 0;              // before it joined
    int pieces = FlowPieces::kNone;  // of earlier groups, the newest
  };
  struct Rate {            // of a flow, what sharing needs
    double known_Bps = 0;  // that loads_Bps_ have
    int group = kNone;     // constraint that limits it; bound_group(): its bound
    int trunk = kNoTrunk;
  };
  struct Filling {  // of a link
    double free_Bps = 0, weight = 0, all_weight = 0;
    int rising = 0;
  };
  struct Link {
    double weight = 0, all_weight = 0;  // of all flows that are moving; when it was last added up
    int flows = 0;                      // these
    // as a group of the flows that it limits
    int members = 0;
    double clock = 0, clock_s = 0;  // bytes that each has moved since the beginning, at this time
    double level_Bps = 0;           // their rate; 0: it limits none
    double filled_Bps = 0;          // that they had when rates were shared out
    bool full = false;              // in this filling
    double highest_Bps = 0;         // that it may take before rates are shared out anew
    double group_weight = 0;
    double room_Bps = 0;                         // what others leave of the capacity
    double spare = 1;                            // how many times its load it can carry
    std::vector<std::pair<double, int>> ends{};  // heap: clock, flow; some have left the group
  };
  struct Stop {
    double level_Bps = 0;
    int link = 0;
  };

  void load(const Problem& problem);
  void load_flow(std::size_t flow);
  [[nodiscard]] double horizon_s() const;
  [[nodiscard]] double due_s(double since_s) const;
  void begin_flows();
  void end_first();
  void free_room(int number);
  void free_room_on(int link, double weight, int number);
  void move_clock(Link& link) const;
  void set_event(int group);

  void share();
  void fill();
  void begin_filling();
  double level_Bps(int link);
  void renew(int link);
  void saturate(int link, double level_Bps);
  void gather(int link, int rising);
  template <class Members>
  void add_rising(const Members& members, int rising);
  void note_growth(FlowGroup& group, double rate_Bps);
  void note_growth(int number, double rate_Bps);
  void leave(const FlowLinks::Pass& pass, double rate_Bps);
  void stop_at_bound(int number);
  void regroup(int number, int group);
  bool others_hold();
  bool is_crowded(const Use& use);
  bool choose_anew();
  void choose(std::vector<int> links);
  void find_highest();
  void lower_highest(int link);

  [[nodiscard]] int bound_group() const { return static_cast<int>(links_.size()) - 1; }
  [[nodiscard]] bool flows(int number) const { return moving_[static_cast<std::size_t>(number)]; }
  /// Whether it moves and nothing has stopped it in this filling.
  [[nodiscard]] bool rising(int number) const {
    if (!flows(number)) return false;
    const int group = rates_[static_cast<std::size_t>(number)].group;
    if (group == bound_group()) return !at_bound_[static_cast<std::size_t>(number)];
    return group == kNone || !links_[static_cast<std::size_t>(group)].full;
  }
  /// Its rate, as rates were shared out.
  [[nodiscard]] double rate_Bps(int number) const {
    const int group = rates_[static_cast<std::size_t>(number)].group;
    return group == bound_group() ? shared_.bound(static_cast<std::size_t>(number)).rate_Bps
                                  : links_[static_cast<std::size_t>(group)].filled_Bps;
  }
  [[nodiscard]] double moved_in_group_B(int number) const;
  [[nodiscard]] int limiter(int number) const;
  Solution take_solution();

  const Problem* problem_ = nullptr;
  FlowLinks shared_;  // chosen: those that are full or not far from it
  Trunks trunks_;
  double now_s_ = 0;
  double stale_s_ = 0;  // since when sharing would give other rates; infinite: never
  std::size_t shares_ = 0;
  std::size_t flowing_ = 0;
  std::vector<Flow> flows_;
  std::vector<Rate> rates_;   // per flow
  std::vector<bool> moving_;  // per flow; bits, so that those of a million flows are near
  FlowPieces pieces_;
  std::vector<Link> links_;        // per constraint; the last one: flows at their bounds, whose clock is the time
  std::vector<FlowGroup> groups_;  // per constraint
  EventHeap events_;               // of groups
  std::vector<int> active_;        // flows, some have ended
  std::vector<int> starts_;        // flows by the time at which they begin to move
  std::size_t started_ = 0;
  // of sharing
  unsigned filling_ = 0;
  int rising_ = 0;
  std::vector<bool> at_bound_;  // per flow: that stopped it
  std::vector<int> rising_members_;
  std::vector<Filling> fillings_;  // per constraint
  std::vector<Stop> stops_;
  std::vector<int> by_bound_;      // flows, the lowest bound first
  std::vector<char> tightest_;     // per constraint: shared_.tightest()
  std::vector<double> loads_Bps_;  // per constraint, with the rates that are known
  double fullest_ = 0;             // of the links that are not chosen: load a capacity
  bool chose_ = false;             // anew, in this sharing
  double growth_ = 1;              // most that a rate is of the one that is known
  std::vector<int> grown_;         // flows with more than that
  Solution solution_;
};

}  // namespace linkcast
