#pragma once
// What a replay knows of one rank: how far its CPU has come, and what its streams do.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/replay/fed_event.hpp"
#include "sim/replay/fifo.hpp"
#include "sim/replay/open_ids.hpp"
#include "sim/replay/path.hpp"

namespace linkcast::replay {

// Launches that a GPU takes before the CPU has to wait; it bounds what a replay keeps of a trace.
// source: CUDA runtime: launches block once about 1024 are pending (measured by many, in no manual)
inline constexpr int kPendingLaunches = 1024;

/// An event that the CPU has put onto a stream.
struct Issued {
  FedEvent* event = nullptr;
  double ready_s = 0;      ///< the launch has reached the GPU
  double released_s = -1;  ///< when the last of what it waits for ended; negative: all had before it was issued
};

struct alignas(kCacheLine) StreamState {
  Fifo<Issued> queue{};
  unsigned version = 0;  ///< timers of older versions mean nothing
  bool busy = false, has_run = false;
  FedEvent* current = nullptr;  ///< while busy
  double since_s = 0;           ///< when the last event ended; while it computes: left_s holds for this moment
  double left_s = 0;            ///< compute: time it still takes at full speed
  double speed = 1;             ///< compute
};

/// A set of a rank's streams. Of the later ones it knows only whether there may be one: whoever goes through it looks.
class StreamSet {
 public:
  void add(std::size_t stream) { bits_ |= bit(stream); }
  void remove(std::size_t stream) {
    if (stream < kLater) bits_ &= ~bit(stream);
  }
  /// In ascending order. @param count  of all streams
  template <class Do>
  void each(std::size_t count, const Do& act) const {
    for (std::uint64_t left = bits_; left != 0; left &= left - 1) {
      const auto first = static_cast<std::size_t>(std::countr_zero(left));
      act(first);
      for (std::size_t stream = kLater + 1; first == kLater && stream < count; ++stream) act(stream);
    }
  }

 private:
  static constexpr std::size_t kLater = 63;
  static std::uint64_t bit(std::size_t stream) { return std::uint64_t{1} << std::min(stream, kLater); }
  std::uint64_t bits_ = 0;
};

/// What most events look at is in two lines.
struct alignas(kCacheLine) RankState {
  FedEvent* pending = nullptr;  ///< the CPU works on it, or waits
  double host_s = 0;            ///< the CPU has come as far as this
  double turned_s = 0;          ///< when it turned to the pending event
  std::vector<StreamState> streams{};
  StreamSet ready{};            ///< streams that have something to run and run nothing
  int issued = 0;               ///< and not yet finished
  bool ended = false;           ///< the trace has no more for this rank
  bool woken = false;           ///< something it may have waited for has ended
  bool syncs = false;           ///< the pending event is a sync
  OpenIds open{};               ///< ids issued and not finished
  StreamSet compute_on{};       ///< streams that compute
  double computed_s = 0;        ///< time with at least one, up to the last change of it
  double computes_since_s = 0;  ///< while computing
  double slow = 1;              ///< its GPU takes this many times as long to compute
  int job = 0;
  short communicating = 0;  ///< kernels of collectives and messages on its streams
  short computing = 0;      ///< streams that compute; both are of what was issued
  int local = 0;            ///< which rank of the job
  int gpu = 0;
  int steps = 0;  ///< markers passed

  [[nodiscard]] double computed_until_s(double now_s) const {
    return computing > 0 ? computed_s + (now_s - computes_since_s) : computed_s;
  }
  void compute(double now_s, int more) {
    computed_s = computed_until_s(now_s);
    computes_since_s = now_s;
    computing = static_cast<short>(computing + more);
  }
  /// That it will be looked at soon.
  void prefetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(&open);
  }
  void prefetch(int stream) const {
    if (static_cast<std::size_t>(stream) < streams.size())
      __builtin_prefetch(&streams[static_cast<std::size_t>(stream)]);
  }
};

/// What led to where a rank is; of a run that is asked for its critical path.
struct StreamPath {
  struct Waiting {
    CriticalPath issued{};
    CriticalPath release{};  ///< when the last of what it waits for ended
  };
  CriticalPath path{};  ///< when the last event ended; while busy: when it began
  double began_s = 0;   ///< while busy
  Fifo<Waiting> queue{};
};
struct RankPath {
  CriticalPath host{};
  std::vector<StreamPath> streams{};
};

}  // namespace linkcast::replay
