#pragma once
// Runs traces on a machine: the CPU of each rank issues, streams run what was issued, the network does the rest.
#include <queue>
#include <tuple>

#include "sim/engine/event_source.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/rank_state.hpp"
#include "sim/replay/trace_feed.hpp"

namespace linkcast::replay {

/// One application: its trace, and the GPU of each of its ranks.
struct ReplayJob {
  std::unique_ptr<TraceFeed> feed;
  std::vector<int> gpus;
  std::optional<double> host_scale{};  ///< instead of the trace's own
  bool nvls = true;                    ///< false: its collectives are without multicast by NVSwitch
  bool as_recorded = false;            ///< CPU times with what recording added to them
  double recording_s = 0;              ///< sum of that over all events, while the replay runs
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

  [[nodiscard]] double now_s() const override { return now_s_; }
  double next_event_s() override;
  void advance() override;

  [[nodiscard]] const std::vector<RankState>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<ReplayJob>& jobs() const { return jobs_; }
  [[nodiscard]] long events() const { return events_; }
  /// Whether anything was asked of the network.
  [[nodiscard]] bool used_network() const { return operations_ > 0; }
  /// Until the last event's end.
  [[nodiscard]] const CriticalPath& critical_path() const { return last_path_; }

 private:
  struct Place {
    int rank = 0, stream = 0;
  };
  /// A collective, message or copy: who takes part, and whether it runs.
  struct Meeting {
    std::vector<Place> places{};
    NetworkOp op{};
    CriticalPath path{};               ///< of the last that it waited for
    double began_s = 0;                ///< while running
    std::vector<double> computed_s{};  ///< of each place's rank when it began, where computing slows it
    bool running = false, moved = false;
  };
  using MeetingKey = std::pair<int, long>;  ///< lane, turn
  struct Timer {
    double time_s = 0;
    long order = 0;
    Place place{};  ///< stream -1: the CPU
    unsigned long version = 0;
    bool operator>(const Timer& other) const { return std::tie(time_s, order) > std::tie(other.time_s, other.order); }
  };

  [[nodiscard]] RankState& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] StreamState& stream(Place place) {
    return rank(place.rank).streams[static_cast<std::size_t>(place.stream)];
  }
  [[nodiscard]] const TraceHeader& header(const RankState& rank) const {
    return jobs_[static_cast<std::size_t>(rank.job)].feed->header();
  }
  void set_timer(Place place, double time_s, unsigned long version);
  void settle();
  /// The end of something, and what led to it.
  void reached(const CriticalPath& path) {
    if (now_s_ >= last_end_s_) last_path_ = path;
    last_end_s_ = now_s_;
  }
  void expire(const Timer& timer);
  void check_ended() const;
  [[nodiscard]] double look_s() const;

  // The CPU (replay_host.cpp)
  void go_on(int rank);
  bool fetch(int rank);
  bool waits(const RankState& rank) const;
  void issue(int rank);
  void pass_step(int rank, const TraceEvent& event);
  int stream_of(RankState& rank, const std::string& name);

  // Streams (replay_streams.cpp)
  void try_start(Place place);
  void begin(Place place);
  void begin_compute(Place place);
  void end(Place place, const CriticalPath& path);
  void set_speed(StreamState& stream, const RankState& rank);
  void communicate(int rank, int more);
  void release(RankState& rank, std::int64_t id, const CriticalPath& path) const;

  // Collectives, messages and copies (replay_meetings.cpp)
  void come(Place place);
  void take_turn(RankState& rank, Issued& issued);
  void tell_meets(Place place) const;
  [[nodiscard]] NetworkOp copy_of(const RankState& at, const TraceEvent& event) const;
  void join_collective(Meeting& meeting, const RankState& rank, const TraceEvent& event) const;
  void join_message(Meeting& meeting, const RankState& rank, const TraceEvent& event) const;
  [[nodiscard]] bool complete(const Meeting& meeting, const RankState& rank, const TraceEvent& event) const;
  void start_network(const MeetingKey& key, Meeting& meeting);
  void end_network(long ticket);
  [[nodiscard]] double late_s(const Meeting& meeting) const;
  void end_meeting(MeetingKey key);
  [[nodiscard]] Exchange exchange_of(const Meeting& meeting) const;

  [[noreturn]] void fail_stuck() const;

  std::vector<ReplayJob> jobs_;
  ReplayNetwork& network_;
  std::vector<ReplayObserver*> observers_;
  std::vector<RankState> ranks_;
  std::vector<int> first_rank_;  ///< per job
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::map<MeetingKey, Meeting> meetings_;
  std::map<long, MeetingKey> by_ticket_;
  std::map<std::string, int> lanes_;        ///< groups, and pairs of ranks with a tag, of each job
  std::multimap<double, MeetingKey> late_;  ///< off the network, and not ended: compute beside them slowed them
  std::vector<long> tickets_ended_;
  std::vector<int> woken_;  ///< ranks, in order
  double now_s_ = 0;
  long timer_order_ = 0, events_ = 0, copies_ = 0, operations_ = 0, fetched_ = 0, begun_ = 0, finished_ = 0;
  CriticalPath last_path_{};
  double last_end_s_ = 0;
};

}  // namespace linkcast::replay
