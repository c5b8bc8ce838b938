#pragma once
// What a replay knows of one rank: how far its CPU has come, and what its streams do.
#include <unordered_map>

#include "sim/records/trace.hpp"
#include "sim/replay/fifo.hpp"
#include "sim/replay/open_ids.hpp"
#include "sim/replay/path.hpp"

namespace linkcast::replay {

// Launches that a GPU takes before the CPU has to wait; it bounds what a replay keeps of a trace.
// source: CUDA runtime: launches block once about 1024 are pending (measured by many, in no manual)
inline constexpr int kPendingLaunches = 1024;

/// Who is matched with whom: the collectives of a group or the messages of a pair of ranks with one tag, in turn.
struct Lane {
  int index = -1;
  long turns = 0;  ///< taken by this rank
};

/// An event that the CPU has put onto a stream.
struct Issued {
  TraceEvent event;
  double ready_s = 0;  ///< the launch has reached the GPU
  int lane = -1;       ///< of a collective or message
  long turn = 0;       ///< on the lane
  CriticalPath path{};
  double released_s = -1;  ///< when the last of what it waits for ended; negative: all had before it was issued
  CriticalPath release{};  ///< at that moment
};

struct StreamState {
  Fifo<Issued> queue{};
  bool busy = false;
  Issued current{};      ///< while busy
  double began_s = 0;    ///< while busy
  double left_s = 0;     ///< compute: time it still takes at full speed
  double speed = 1;      ///< compute
  double updated_s = 0;  ///< left_s holds for this moment
  bool has_run = false;
  double free_s = 0;          ///< when the last event ended
  CriticalPath path{};        ///< at that moment
  unsigned long version = 0;  ///< timers of older versions mean nothing
};

struct RankState {
  int job = 0, local = 0;  ///< which job, and which rank of it
  int gpu = 0;
  double slow = 1;  ///< its GPU takes this many times as long to compute
  std::vector<StreamState> streams{};
  std::unordered_map<std::string, int> stream_by_name{};
  std::optional<TraceEvent> pending{};  ///< the CPU works on it, or waits
  double host_s = 0;                    ///< the CPU has come as far as this
  double turned_s = 0;                  ///< when it turned to the pending event
  CriticalPath host_path{};
  bool ended = false;                             ///< the trace has no more for this rank
  bool woken = false;                             ///< something it may have waited for has ended
  int issued = 0;                                 ///< and not yet finished
  int communicating = 0;                          ///< kernels of collectives and messages on its streams
  int computing = 0;                              ///< streams that compute
  double computed_s = 0;                          ///< time with at least one, up to the last change of it
  double computes_since_s = 0;                    ///< while computing
  int steps = 0;                                  ///< markers passed
  OpenIds open{};                                 ///< ids issued and not finished
  std::unordered_map<std::string, Lane> lanes{};  ///< by group, or peer and tag

  [[nodiscard]] double computed_until_s(double now_s) const {
    return computing > 0 ? computed_s + (now_s - computes_since_s) : computed_s;
  }
  void compute(double now_s, int more) {
    computed_s = computed_until_s(now_s);
    computes_since_s = now_s;
    computing += more;
  }
};

}  // namespace linkcast::replay
