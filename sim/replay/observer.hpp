#pragma once
#include <limits>
#include <string>
#include <vector>

#include "sim/records/trace.hpp"

namespace linkcast::replay {

/// Who a rank of a replay is.
struct ReplayRank {
  std::string trace{};  ///< its job's name; empty when there is one job
  int local = 0;        ///< which rank of it
  int gpu = 0;
};

/// Is told what a replay does, in order of time. Ranks are those of the replay: of several jobs, one after the other.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  /// Before all else.
  virtual void starts(const std::vector<ReplayRank>& /*ranks*/) {}
  /// The event begins to run on its stream; a collective or message may wait for other ranks first.
  virtual void begins(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  /// All ranks of a collective or both of a message have come.
  virtual void meets(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  virtual void ends(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  /// The rank's CPU passes a step marker.
  virtual void step(int /*rank*/, int /*step*/, double /*now_s*/) {}
  /// When it wants to look next, while anything happens. The network's clock is there then.
  [[nodiscard]] virtual double looks_at_s() const { return std::numeric_limits<double>::infinity(); }
  virtual void looks(double /*now_s*/) {}
};

}  // namespace linkcast::replay
