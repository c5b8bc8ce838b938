#pragma once
#include "sim/records/trace.hpp"

namespace linkcast {

/// Is told what a replay does, in order of time. Ranks are those of the replay: of several jobs, one after the other.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  /// The event begins to run on its stream; a collective or message may wait for other ranks first.
  virtual void begins(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  /// All ranks of a collective or both of a message have come.
  virtual void meets(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  virtual void ends(int /*rank*/, const TraceEvent& /*event*/, double /*now_s*/) {}
  /// The rank's CPU passes a step marker.
  virtual void step(int /*rank*/, int /*step*/, double /*now_s*/) {}
};

}  // namespace linkcast
