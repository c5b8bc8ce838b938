#pragma once
// What a replay knows of one rank: how far its CPU has come, and what its streams do.
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "sim/records/trace.hpp"
#include "sim/replay/path.hpp"

namespace linkcast {

/// An event that the CPU has put onto a stream.
struct Issued {
  TraceEvent event;
  double ready_s = 0;  ///< the launch has reached the GPU
  long turn = 0;       ///< of a collective: how many of its group this rank issued before
  CriticalPath path{};
};

struct StreamState {
  std::deque<Issued> queue{};
  bool busy = false;
  Issued current{};      ///< while busy
  double began_s = 0;    ///< while busy
  double left_s = 0;     ///< compute: time it still takes at full speed
  double speed = 1;      ///< compute
  double updated_s = 0;  ///< left_s holds for this moment
  bool has_run = false;
  double free_s = 0;          ///< when the last event ended
  CriticalPath path{};        ///< at that moment
  double released_s = 0;      ///< when the last event that others may wait for ended
  CriticalPath release{};     ///< at that moment
  unsigned long version = 0;  ///< timers of older versions mean nothing
};

struct RankState {
  int job = 0, local = 0;  ///< which job, and which rank of it
  int gpu = 0;
  std::vector<StreamState> streams{};
  std::unordered_map<std::string, int> stream_by_name{};
  std::optional<TraceEvent> pending{};  ///< the CPU works on it, or waits
  double host_s = 0;                    ///< the CPU has come as far as this
  CriticalPath host_path{};
  bool ended = false;                             ///< the trace has no more for this rank
  int issued = 0;                                 ///< and not yet finished
  int communicating = 0;                          ///< kernels of collectives and messages on its streams
  int steps = 0;                                  ///< markers passed
  std::unordered_set<std::int64_t> open{};        ///< ids issued and not finished
  std::unordered_map<std::string, long> turns{};  ///< collectives issued, by group
};

}  // namespace linkcast
