#pragma once
// Runs traces on a machine: the CPU of each rank issues, streams run what was issued, the network does the rest.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

#include "sim/engine/event_source.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/queues.hpp"
#include "sim/replay/stream_set.hpp"
#include "sim/replay/summary.hpp"
#include "sim/replay/trace_feed.hpp"

namespace linkcast::replay {

// Launches that a GPU takes before the CPU has to wait; it bounds what a replay keeps of a trace.
// source: CUDA runtime: launches block once about 1024 are pending (measured by many, in no manual)
inline constexpr int kPendingLaunches = 1024;

/// An event that the CPU has put onto a stream.
struct Issued {
  FedEvent* event = nullptr;
  double ready_s = 0;  ///< the launch has reached the GPU
};

/// One line, of each of its queue's first event alone.
struct alignas(kCacheLine) StreamState {
  static constexpr double kBefore = -1;
  static constexpr int kNone = -1;

  Fifo<Issued> queue{};
  unsigned version = 0;  ///< timers of older versions mean nothing
  bool busy = false, has_run = false;
  bool blocked = false;  ///< the first of its queue waits for an event that has not ended
  union {
    FedEvent* current = nullptr;  ///< while busy
    int next_blocked;             ///< while blocked: another stream that waits for the same event, or kNone
  };
  double since_s = 0;  ///< when the last event ended; while it computes: left_s holds for this moment
  double speed = 1;    ///< compute
  union {
    double left_s;                ///< compute: time it still takes at full speed
    double released_s = kBefore;  ///< while not busy: when the last of what the first of its queue waits for ended;
                                  ///< kBefore: all had before it was the first
  };
};
static_assert(sizeof(StreamState) == kCacheLine);

/// What most events look at is in two lines.
struct alignas(kCacheLine) RankState {
  FedEvent* pending = nullptr;  ///< the CPU works on it, or waits
  double host_s = 0;            ///< the CPU has come as far as this
  double turned_s = 0;          ///< when it turned to the pending event
  std::vector<StreamState> streams{};
  StreamSet ready{};            ///< streams that have something to run, run nothing and are not blocked
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
  int steps = 0;        ///< markers passed
  NumberMap blocked{};  ///< the first stream that is blocked by an id, by this id

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
  CriticalPath path{};         ///< when the last event ended; while busy: when it began
  CriticalPath release{};      ///< of released_s
  double began_s = 0;          ///< while busy
  Fifo<CriticalPath> queue{};  ///< when each was issued
};
struct RankPath {
  CriticalPath host{};
  std::vector<StreamPath> streams{};
};

/// One application: its trace, and the GPU of each of its ranks.
struct ReplayJob {
  std::shared_ptr<TraceFeed> feed;
  std::vector<int> gpus;
  std::optional<double> host_scale{};  ///< instead of the trace's own
  bool nvls = true;                    ///< false: its collectives are without multicast by NVSwitch
  std::string library{};               ///< that runs its collectives; empty: the network's
  bool as_recorded = false;            ///< CPU times with what recording added to them, or of a slow host if longer
  double recording_s = 0;              ///< sum of that over all events, while the replay runs
  bool of_recorded_host = false;       ///< it has CPU times that were recorded, while the replay runs
  int run = 0;                         ///< which of those that take the feed's events
};

/// The rules, in short. Events of a rank are issued in order, each host_s of CPU time after the one before; those of a
/// stream run in order. An event starts when it was issued, its stream is free and all it waits for has ended. A
/// collective or message starts on the network when all its ranks have started it; until it ends it occupies their
/// streams and slows compute on their other streams down, which slows it down.
class Replay final : public EventSource {
 public:
  Replay(std::vector<ReplayJob> jobs, ReplayNetwork& network, std::vector<ReplayObserver*> observers);

  /// To the end. @throws InputError  wrong trace, ranks that wait for each other for ever, or a message never received
  void run();
  /// It is not asked for its critical path, and need not know it.
  void without_path() { tracks_path_ = false; }
  /// The same in pieces: at first; then advance() while there is a next event; at last.
  void begin();
  void finish();

  [[nodiscard]] double now_s() const override { return now_s_; }
  double next_event_s() override;
  void advance() override;

  [[nodiscard]] const std::vector<RankState>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<ReplayJob>& jobs() const { return jobs_; }
  [[nodiscard]] long events() const { return events_; }
  /// Events that were taken from the traces so far.
  [[nodiscard]] long fetched() const { return fetched_; }
  /// When the last event ended, so far.
  [[nodiscard]] double last_end_s() const { return last_end_s_; }
  /// Whether anything was asked of the network.
  [[nodiscard]] bool used_network() const { return operations_ > 0; }
  /// Duration of each step of one job: from its last rank's marker to the next.
  [[nodiscard]] std::vector<double> steps(std::size_t job) const;
  /// Until the last event's end.
  [[nodiscard]] const CriticalPath& critical_path() const { return last_path_; }

 private:
  struct Place {
    int rank = 0, stream = 0;
  };
  /// A collective, message or copy: who takes part, and whether it runs.
  struct Meeting {
    std::vector<Place> places{};
    CriticalPath path{};               ///< of the last that it waited for
    double size_B = 0;                 ///< of a message as sent, where its send has come
    double began_s = 0;                ///< while running
    std::vector<double> computed_s{};  ///< of each place's rank when it began, where computing slows it
    int job = 0, lane = NameTable::kNone;
    std::uint32_t turn = 0;
    NetworkOp::Kind kind = NetworkOp::Kind::kCollective;
    int op = NameTable::kNone;  ///< of a collective: number in the feed
    int from = 0, to = 0;       ///< GPUs of a message or copy
    bool running = false, moved = false;
  };
  /// Meetings of one lane that are open, by turn; and what network operations its last ones were.
  struct OpenTurns {
    static constexpr int kNobodyYet = -1, kEnded = -2;
    static constexpr std::size_t kMostKnown = 8;  // source: ours, those are looked through
    struct Known {
      double size_B = 0;
      int op = NameTable::kNone;
      int prepared = 0;
    };
    std::uint32_t first = 0;  ///< turn of the first place
    Fifo<int> meetings{};     ///< numbers of meetings, or one of these two
    std::vector<Known> known{};
  };
  /// What of a job all of its events ask for.
  struct JobView {
    TraceFeed* feed = nullptr;
    const TraceHeader* header = nullptr;
    double host_scale = 1, launch_s = 0, gap_s = 0, slowdown = 1;
    bool as_recorded = false;
    int run = 0, first_rank = 0;
    std::vector<OpenTurns> turns{};  ///< by lane
    std::vector<char> known_ops{};   ///< by number of the operation: whether there is such a collective
  };
  struct Timer {
    Place place{};  ///< stream -1: the CPU
    unsigned version = 0;
  };

  [[nodiscard]] RankState& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] JobView& job_of(const RankState& rank) { return views_[static_cast<std::size_t>(rank.job)]; }
  [[nodiscard]] const JobView& job_of(const RankState& rank) const {
    return views_[static_cast<std::size_t>(rank.job)];
  }
  [[nodiscard]] StreamState& stream(Place place) {
    return rank(place.rank).streams[static_cast<std::size_t>(place.stream)];
  }
  [[nodiscard]] const FedEvent& event_at(Place place) const {
    return *ranks_[static_cast<std::size_t>(place.rank)].streams[static_cast<std::size_t>(place.stream)].current;
  }
  /// Only where the critical path is asked for.
  [[nodiscard]] StreamPath& paths(Place place) {
    return paths_[static_cast<std::size_t>(place.rank)].streams[static_cast<std::size_t>(place.stream)];
  }
  [[nodiscard]] CriticalPath& host_path(int rank) { return paths_[static_cast<std::size_t>(rank)].host; }
  [[nodiscard]] CriticalPath path_of(Place place) { return tracks_path_ ? paths(place).path : CriticalPath{}; }
  void set_timer(Place place, double time_s, unsigned version) { timers_.set(time_s, {place, version}); }
  void settle();
  /// The end of something, and what led to it.
  void reached(const CriticalPath& path) {
    if (tracks_path_ && now_s_ >= last_end_s_) last_path_ = path;
    last_end_s_ = now_s_;
  }
  void expire(const Timer& timer);
  void prefetch_timers() const;
  void check_ended() const;
  void check_received(const Meeting& meeting) const;
  void move_network();
  void find_look();
  void tell_looks();

  // The CPU
  void go_on(int rank);
  bool fetch(int rank);
  bool waits(const RankState& rank) const;
  void issue(int rank);
  void pass_step(int rank, const FedEvent& event);

  // Streams
  void try_start(Place place);
  void begin(Place place);
  void begin_compute(Place place);
  void end(Place place, const CriticalPath& path);
  void set_speed(StreamState& stream, const RankState& rank) const;
  void communicate(int rank, int more);
  void release(int rank, std::int64_t id, const CriticalPath& path);

  // Collectives, messages and copies (replay_meetings.cpp)
  void come(Place place);
  int meeting_of(const RankState& rank, const FedEvent& event);
  int take_meeting();
  void give_back(int number);
  void tell_meets(Place place) const;
  void be_copy(Meeting& meeting, const RankState& at, const FedEvent& event) const;
  void join_collective(Meeting& meeting, const RankState& rank, const FedEvent& event);
  void check_op(const RankState& rank, int op);
  void join_message(Meeting& meeting, const RankState& rank, const FedEvent& event) const;
  [[nodiscard]] bool complete(const Meeting& meeting, const RankState& rank, const FedEvent& event) const;
  void start_network(int number);
  [[nodiscard]] int prepared(const Meeting& meeting);
  int prepare(const Meeting& meeting);
  void end_network(long ticket);
  [[nodiscard]] double late_s(const Meeting& meeting) const;
  void end_meeting(int number);
  [[nodiscard]] Exchange exchange_of(const Meeting& meeting);

  [[noreturn]] void fail_stuck() const;

  std::vector<ReplayJob> jobs_;
  ReplayNetwork& network_;
  std::vector<ReplayObserver*> observers_;
  std::vector<RankState> ranks_;
  std::vector<RankPath> paths_;  ///< of each; none: not asked for
  std::vector<JobView> views_;
  Timers<Timer> timers_{};
  std::deque<Meeting> meetings_;     ///< places that they take one after the other
  std::vector<int> free_meetings_;   ///< of these
  NumberMap by_ticket_{};            ///< meetings on the network
  std::multimap<double, int> late_;  ///< off the network, and not ended: compute beside them slowed them
  NetworkOp asked_{};                ///< of the network
  std::vector<int> moved_ranks_;     ///< of what has just moved
  std::vector<long> tickets_ended_;
  std::vector<int> woken_;  ///< ranks, in order
  bool tracks_path_ = true;
  double now_s_ = 0;
  double upcoming_s_ = -1;       ///< next_event_s(), negative: not known
  double network_next_s_ = 0;    ///< the network's part of it
  double moment_s_ = 0;          ///< where the network's clock belongs
  bool network_behind_ = false;  ///< and has not come to
  double look_s_ = 0;            ///< when an observer wants to look
  long events_ = 0, operations_ = 0, fetched_ = 0, begun_ = 0, finished_ = 0;
  std::vector<std::vector<double>> step_ends_s_;  ///< by job and step: the last rank's marker
  CriticalPath last_path_{};
  double last_end_s_ = 0;
};

}  // namespace linkcast::replay
