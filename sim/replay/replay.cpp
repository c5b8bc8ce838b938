#include "sim/replay/replay.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/index.hpp"
#include "sim/work/stop.hpp"

namespace linkcast::replay {

Replay::Replay(std::vector<ReplayJob> jobs, ReplayNetwork& network, std::vector<ReplayObserver*> observers)
    : jobs_(std::move(jobs)), network_(network), observers_(std::move(observers)) {
  const bool whole = std::any_of(observers_.begin(), observers_.end(),
                                 [](const ReplayObserver* observer) { return observer->reads_whole(); });
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    TraceFeed& feed = *jobs_[job].feed;
    if (whole) feed.keep_whole();
    const TraceHeader& header = feed.header();
    views_.push_back({&feed, &header, jobs_[job].host_scale.value_or(header.host_scale), header.launch_s, header.gap_s,
                      header.slowdown, jobs_[job].as_recorded, jobs_[job].run, static_cast<int>(ranks_.size())});
    for (int local = 0; local < feed.ranks(); ++local) {
      RankState rank;
      rank.job = static_cast<int>(job);
      rank.local = local;
      rank.gpu = jobs_[job].gpus.at(static_cast<std::size_t>(local));
      rank.slow = network_.slow(rank.gpu);
      ranks_.push_back(std::move(rank));
    }
  }
}

void Replay::run() {
  begin();
  run_events(*this);
  finish();
}

void Replay::begin() {
  std::vector<ReplayRank> who;
  for (const RankState& rank : ranks_)
    who.push_back({jobs_.size() > 1 ? job_of(rank).header->name : "", rank.local, rank.gpu, job_of(rank).feed});
  if (tracks_path_) paths_.resize(ranks_.size());
  for (ReplayObserver* observer : observers_) observer->starts(who);
  find_look();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) go_on(static_cast<int>(rank));
  settle();
}

void Replay::finish() {
  for (const RankState& rank : ranks_)
    if (!rank.ended || rank.issued > 0) fail_stuck();
  check_ended();
}

/// Of a trace that ended: nothing may be left over.
void Replay::check_ended() const {
  for (const JobView& job : views_)
    for (const OpenTurns& lane : job.turns)
      for (std::size_t turn = 0; turn < lane.meetings.size(); ++turn)
        if (lane.meetings[turn] >= 0) check_received(meetings_[at(lane.meetings[turn])]);
  if (events_ != fetched_)
    throw InvariantError("of " + std::to_string(fetched_) + " events only " + std::to_string(events_) + " were issued");
  for (const RankState& rank : ranks_)
    for (const StreamState& stream : rank.streams)
      if (stream.busy || !stream.queue.empty())
        throw InvariantError("rank " + std::to_string(rank.local) + " ended with events left on a stream");
  network_.check_ended();
  if (begun_ != finished_ || !by_ticket_.empty())
    throw InvariantError("of " + std::to_string(begun_) + " events that began only " + std::to_string(finished_) +
                         " ended");
}

/// Of a meeting that is open at the end of the trace.
void Replay::check_received(const Meeting& meeting) const {
  if (!meeting.moved) throw InvariantError("the replay ended, but not all of its collectives and messages");
  throw InputError(jobs_[at(meeting.job)].feed->name() + ": a message of " + to_text(Bytes{meeting.size_B}) +
                   " from GPU " + std::to_string(meeting.from) + " to GPU " + std::to_string(meeting.to) +
                   " is sent and never received");
}

std::vector<double> Replay::steps(std::size_t job) const {
  std::vector<double> durations;
  if (job >= step_ends_s_.size()) return durations;
  double before_s = 0;
  for (const double end_s : step_ends_s_[job]) {
    durations.push_back(end_s - before_s);
    before_s = end_s;
  }
  return durations;
}

/// Lets ranks go on for which something has ended. Not from within the end: one end may be the cause of the next, and
/// a long chain of them would exhaust the stack.
void Replay::settle() {
  for (std::size_t i = 0; i < woken_.size(); ++i) {  // grows meanwhile
    const int index = woken_[i];
    if (i + 1 < woken_.size()) rank(woken_[i + 1]).prefetch();
    rank(index).woken = false;
    const StreamSet ready = rank(index).ready;
    ready.each(rank(index).streams.size(), [&](std::size_t s) { try_start({index, static_cast<int>(s)}); });
    go_on(index);
  }
  woken_.clear();
}

double Replay::next_event_s() {
  if (upcoming_s_ >= 0) return upcoming_s_;
  double timer_s = timers_.empty() ? kInfinity : timers_.top_s();
  if (!late_.empty()) timer_s = std::min(timer_s, late_.begin()->first);
  // Timers of one moment move the clock a rounding error beyond the network's, which then may have an event before it.
  network_next_s_ = network_.next_event_s();
  upcoming_s_ = std::max(now_s_, std::min(timer_s, network_next_s_));
  if (upcoming_s_ < kInfinity) upcoming_s_ = std::min(upcoming_s_, std::max(now_s_, look_s_));
  return upcoming_s_;
}

/// When an observer wants to look.
void Replay::find_look() {
  look_s_ = kInfinity;
  for (const ReplayObserver* observer : observers_) look_s_ = std::min(look_s_, observer->looks_at_s());
}

void Replay::tell_looks() {
  move_network();
  for (ReplayObserver* observer : observers_)
    if (observer->looks_at_s() <= now_s_) observer->looks(now_s_);
  find_look();
}

/// To this moment. Where nothing happens on it that waits until somebody uses it.
void Replay::move_network() {
  if (std::exchange(network_behind_, false)) network_.advance(moment_s_, tickets_ended_);
}

void Replay::advance() {
  work::look();
  now_s_ = std::max(now_s_, next_event_s());
  upcoming_s_ = -1;
  moment_s_ = now_s_;
  const double moment_end_s = now_s_ + now_s_ * kSameMoment;
  network_behind_ = true;
  if (network_next_s_ <= moment_end_s) {
    move_network();
    for (const long ticket : tickets_ended_) end_network(ticket);
  }
  while (!late_.empty() && late_.begin()->first <= moment_end_s) {
    const int meeting = late_.begin()->second;
    late_.erase(late_.begin());
    end_meeting(meeting);
  }
  settle();
  while (!timers_.empty() && timers_.top_s() <= moment_end_s) {
    now_s_ = std::max(now_s_, timers_.top_s());
    const Timer timer = timers_.pop();
    prefetch_timers();
    expire(timer);
    settle();
  }
  if (look_s_ <= now_s_) tell_looks();
}

/// What comes next is of other ranks, which lie elsewhere in memory.
void Replay::prefetch_timers() const {
  const auto [next, second] = timers_.upcoming();
  if (next != nullptr) ranks_[static_cast<std::size_t>(next->place.rank)].prefetch(next->place.stream);
  if (second != nullptr) ranks_[static_cast<std::size_t>(second->place.rank)].prefetch();
}

void Replay::expire(const Timer& timer) {
  if (timer.place.stream < 0) {
    issue(timer.place.rank);
    go_on(timer.place.rank);
    return;
  }
  const StreamState& at = stream(timer.place);
  if (timer.version != at.version) return;
  if (at.busy)
    end(timer.place, tracks_path_
                         ? paths(timer.place).path.with(CriticalPath::kCompute, now_s_ - paths(timer.place).began_s)
                         : CriticalPath{});
  else
    try_start(timer.place);
}

void Replay::fail_stuck() const {
  for (const RankState& rank : ranks_) {
    if (rank.ended && rank.issued == 0) continue;
    const TraceFeed& feed = *job_of(rank).feed;
    const std::string& file = feed.name();
    std::string what = file + ": rank " + std::to_string(rank.local) + " waits for ever";
    for (const StreamState& stream : rank.streams) {
      if (!stream.busy) continue;
      const FedEvent& event = *stream.current;
      const std::string op = feed.op_of(event);
      what += ", in a " + to_text(event.kind) + (op.empty() ? "" : " " + op) + " of " +
              (event.peer() >= 0 ? "rank " + std::to_string(event.peer()) : "group '" + feed.group(event.lane) + "'") +
              " that others never join";
      break;
    }
    throw InputError(what);
  }
  throw InvariantError("no rank waits, and yet the replay did not end");
}

}  // namespace linkcast::replay
