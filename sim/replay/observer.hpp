#pragma once
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/replay/fed_event.hpp"

namespace linkcast::replay {

class TraceFeed;

/// Who a rank of a replay is.
struct ReplayRank {
  std::string trace{};  ///< its job's name; empty when there is one job
  int local = 0;        ///< which rank of it
  int gpu = 0;
  const TraceFeed* feed = nullptr;  ///< knows names that events have as numbers
};

/// A collective or message that has crossed the network.
struct Exchange {
  static constexpr int kMessage = -1;
  int op = kMessage;                      ///< of a collective: number in the feed of its ranks
  std::span<const int> ranks{};           ///< of the replay; of a message sent eagerly the sender alone
  double size_B = 0;                      ///< as the trace says
  double began_s = 0, ended_s = 0;        ///< from when all had come
  std::optional<double> recorded_s = {};  ///< the same in the recording: the last to come waited for none
};

/// How long the CPU was at an event.
struct IssueTimes {
  double began_s = 0;  ///< it turned to the event
  double ready_s = 0;  ///< its own work was done
  double ended_s = 0;  ///< it had waited for what it had to wait for
};

/// Is told what a replay does, in order of time. Ranks are those of the replay: of several jobs, one after the other.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  /// Whether it looks at names: then it gets events with what was read.
  [[nodiscard]] virtual bool reads_whole() const { return false; }

  /// Before all else.
  virtual void starts(const std::vector<ReplayRank>& /*ranks*/) {}
  /// The CPU has put the event onto its stream, or passed a sync.
  virtual void issues(int /*rank*/, const FedEvent& /*event*/, const IssueTimes& /*times*/) {}
  /// The event begins to run on its stream; a collective or message may wait for other ranks first.
  virtual void begins(int /*rank*/, const FedEvent& /*event*/, double /*now_s*/) {}
  /// All ranks of a collective or both of a message have come.
  virtual void meets(int /*rank*/, const FedEvent& /*event*/, double /*now_s*/) {}
  virtual void ends(int /*rank*/, const FedEvent& /*event*/, double /*now_s*/) {}
  /// After the ends of its events.
  virtual void moved(const Exchange& /*exchange*/) {}
  /// A step marker is passed. @param event  the marker. @param step  from 0 on
  virtual void step(int /*rank*/, const FedEvent& /*event*/, int /*step*/, double /*now_s*/) {}
  /// When it wants to look next, while anything happens: as it said at first until it has looked. The network's clock
  /// is there then.
  [[nodiscard]] virtual double looks_at_s() const { return std::numeric_limits<double>::infinity(); }
  virtual void looks(double /*now_s*/) {}
};

}  // namespace linkcast::replay
