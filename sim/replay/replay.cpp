#include "sim/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"
#include "sim/engine/run_events.hpp"

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
  if (events_ != fetched_) throw InvariantError(fmt::format("of {} events only {} were issued", fetched_, events_));
  for (const RankState& rank : ranks_)
    for (const StreamState& stream : rank.streams)
      if (stream.busy || !stream.queue.empty())
        throw InvariantError(fmt::format("rank {} ended with events left on a stream", rank.local));
  network_.check_ended();
  if (begun_ != finished_ || !by_ticket_.empty())
    throw InvariantError(fmt::format("of {} events that began only {} ended", begun_, finished_));
}

/// Of a meeting that is open at the end of the trace.
void Replay::check_received(const Meeting& meeting) const {
  if (!meeting.moved) throw InvariantError("the replay ended, but not all of its collectives and messages");
  throw InputError(fmt::format("{}: a message of {} from GPU {} to GPU {} is sent and never received",
                               jobs_[at(meeting.job)].feed->name(), to_text(Bytes{meeting.size_B}), meeting.from,
                               meeting.to));
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
    rank(index).ready.each([&](std::size_t s) { try_start({index, static_cast<int>(s)}); });
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
    std::string what = fmt::format("{}: rank {} waits for ever", file, rank.local);
    for (const StreamState& stream : rank.streams) {
      if (!stream.busy) continue;
      const FedEvent& event = *stream.current;
      const std::string op = feed.op_of(event);
      what += ", in a " + to_text(event.kind) + (op.empty() ? "" : " " + op) + " of " +
              (event.peer() >= 0 ? fmt::format("rank {}", event.peer()) : "group '" + feed.group(event.lane) + "'") +
              " that others never join";
      break;
    }
    throw InputError(what);
  }
  throw InvariantError("no rank waits, and yet the replay did not end");
}

// The CPU of a rank: one event after the other.

/// Takes events until the CPU is busy, or has to wait, or the trace ends.
void Replay::go_on(int index) {
  RankState& at = rank(index);
  while (!at.ended) {
    if (at.pending) {
      if (at.host_s > now_s_ || waits(at)) return;
      issue(index);
    } else if (at.issued >= kPendingLaunches || fetch(index)) {
      return;
    }
  }
}

/// @returns  true if the CPU is busy with the event for some time, or there is none
bool Replay::fetch(int index) {
  RankState& at = rank(index);
  const JobView& job = job_of(at);
  at.pending = job.feed->next(index - job.first_rank, job.run);
  at.ended = at.pending == nullptr;
  if (at.ended) return true;
  const FedEvent& event = *at.pending;
  at.syncs = event.kind == TraceKind::kSync;
  ++fetched_;
  double work_s = event.host_s * job.host_scale;
  if (event.whole() != nullptr) {
    ReplayJob& own = jobs_[static_cast<std::size_t>(at.job)];
    own.recording_s += event.recording_s();
    own.of_recorded_host = own.of_recorded_host || (event.recorded() != nullptr && event.host_s > 0);
  }
  if (job.as_recorded) work_s = std::max(work_s + event.recording_s(), work_s * kHostSpread);
  if (now_s_ > at.host_s) at.host_s = now_s_;
  at.turned_s = at.host_s;
  if (work_s == 0) return false;
  at.host_s += work_s;
  if (tracks_path_) host_path(index).seconds[CriticalPath::kHost] += work_s;
  set_timer({index, -1}, at.host_s, 0);
  return true;
}

bool Replay::waits(const RankState& at) const {
  if (!at.syncs) return at.issued >= kPendingLaunches;
  const FedEvent& event = *at.pending;
  if (event.after != FedEvent::After::kNothing)
    return event.any_before([&](std::int64_t id) { return at.open.is_open(id); });
  if (!event.of_stream()) return at.issued > 0;
  if (event.queue == NameTable::kNone) return false;
  const StreamState& state = at.streams[static_cast<std::size_t>(event.queue)];
  return state.busy || !state.queue.empty();
}

void Replay::issue(int index) {
  RankState& at = rank(index);
  if (at.pending == nullptr || waits(at)) return;
  FedEvent* event = std::exchange(at.pending, nullptr);
  ++events_;
  const IssueTimes times{at.turned_s, at.host_s, now_s_};
  at.host_s = std::max(at.host_s, now_s_);
  for (ReplayObserver* observer : observers_) observer->issues(index, *event, times);
  if (!event->is_queued()) {
    if (event->kind == TraceKind::kStep) {
      pass_step(index, *event);
      reached(tracks_path_ ? host_path(index) : CriticalPath{});
    }
    job_of(at).feed->done(event);
    return;
  }
  ++at.issued;
  if (event->has_id()) at.open.open(event->known_id);
  const auto queue = static_cast<std::size_t>(event->queue);
  if (queue >= at.streams.size()) {
    at.streams.resize(queue + 1);
    if (tracks_path_) paths_[static_cast<std::size_t>(index)].streams.resize(queue + 1);
  }
  StreamState& on = at.streams[queue];
  if (!on.busy && !on.blocked) at.ready.add(queue);
  on.queue.push() = {event, now_s_ + job_of(at).launch_s};
  if (tracks_path_) paths({index, event->queue}).queue.push() = host_path(index);
  try_start({index, event->queue});
}

void Replay::pass_step(int index, const FedEvent& event) {
  RankState& at = rank(index);
  for (ReplayObserver* observer : observers_) observer->step(index, event, at.steps, now_s_);
  const auto job = static_cast<std::size_t>(at.job), step = static_cast<std::size_t>(at.steps++);
  if (step_ends_s_.size() <= job) step_ends_s_.resize(job + 1);
  std::vector<double>& ends_s = step_ends_s_[job];
  if (ends_s.size() <= step) ends_s.resize(step + 1);
  ends_s[step] = std::max(ends_s[step], now_s_);
}

// Streams: their events one after the other.

/// Starts the first event of the queue if it may run now, or sets a timer for when it may.
void Replay::try_start(Place place) {
  RankState& at = rank(place.rank);
  StreamState& on = stream(place);
  if (on.busy || on.blocked || on.queue.empty()) return;
  const Issued& next = on.queue.front();
  std::int64_t waits_for = 0;
  on.blocked = next.event->any_before([&](std::int64_t id) {
    waits_for = id;
    return at.open.is_open(id);
  });
  if (on.blocked) {
    at.ready.remove(static_cast<std::size_t>(place.stream));
    on.next_blocked = std::exchange(at.blocked.put(waits_for, StreamState::kNone), place.stream);
    return;
  }
  const double gap_s = job_of(at).gap_s;
  double start_s = next.ready_s;
  enum { kLaunch, kStream, kRelease } last = kLaunch;  // what it waited for last
  if (on.has_run && on.since_s + gap_s > start_s) {
    start_s = on.since_s + gap_s;
    last = kStream;
  }
  if (on.released_s >= 0 && on.released_s + gap_s > start_s) {
    start_s = on.released_s + gap_s;
    last = kRelease;
  }
  ++on.version;
  if (start_s > now_s_) {
    set_timer(place, start_s, on.version);
    return;
  }
  if (tracks_path_) {
    StreamPath& led = paths(place);
    led.path = last == kLaunch ? led.queue.front().with(CriticalPath::kLaunch, job_of(at).launch_s)
                               : (last == kStream ? led.path : led.release).with(CriticalPath::kLaunch, gap_s);
    led.began_s = now_s_;
    led.queue.pop();
  }
  begin(place);
}

void Replay::begin(Place place) {
  StreamState& on = stream(place);
  const FedEvent& event = *on.queue.front().event;
  on.current = on.queue.front().event;
  on.queue.pop();
  if (!on.queue.empty()) __builtin_prefetch(on.queue.front().event);
  on.busy = true;
  rank(place.rank).ready.remove(static_cast<std::size_t>(place.stream));
  on.has_run = true;
  ++begun_;
  if (event.kind == TraceKind::kStep) {
    pass_step(place.rank, event);
    end(place, path_of(place));
    return;
  }
  for (ReplayObserver* observer : observers_) observer->begins(place.rank, event, now_s_);
  if (event.kind == TraceKind::kCompute) {
    begin_compute(place);
    return;
  }
  if (communicates(event.kind)) communicate(place.rank, 1);
  come(place);
}

void Replay::begin_compute(Place place) {
  RankState& at = rank(place.rank);
  StreamState& on = stream(place);
  on.left_s = on.current->amount * at.slow;
  on.since_s = now_s_;
  at.compute(now_s_, 1);
  at.compute_on.add(static_cast<std::size_t>(place.stream));
  set_speed(on, at);
  set_timer(place, now_s_ + on.left_s / on.speed, ++on.version);
}

void Replay::set_speed(StreamState& on, const RankState& at) const {
  on.speed = at.communicating > 0 ? 1 / on.current->slowdown(job_of(at).slowdown) : 1;
}

/// What waits for this event at the head of a stream. Behind the head, the end of the head comes later anyway. Of all
/// that a blocked one waits for the end of what blocks it is the last so far: what else has not ended blocks it next,
/// or has ended in this moment before it was looked at, and then led to it.
void Replay::release(int index, std::int64_t id, const CriticalPath& path) {
  RankState& at = rank(index);
  if (tracks_path_)
    at.ready.each([&](std::size_t s) {
      const StreamState& on = at.streams[s];
      if (on.released_s == now_s_ && on.queue.front().event->any_before([&](std::int64_t one) { return one == id; }))
        paths({index, static_cast<int>(s)}).release = path;
    });
  for (int s = at.blocked.take(id, StreamState::kNone); s != StreamState::kNone;) {
    StreamState& on = at.streams[static_cast<std::size_t>(s)];
    on.blocked = false;
    on.released_s = now_s_;
    at.ready.add(static_cast<std::size_t>(s));
    if (tracks_path_) paths({index, s}).release = path;
    s = on.next_blocked;
  }
}

/// Kernels of collectives come or go: compute on the rank's other streams gets slower or faster.
void Replay::communicate(int index, int more) {
  RankState& at = rank(index);
  const bool before = at.communicating > 0;
  at.communicating = static_cast<short>(at.communicating + more);
  if ((at.communicating > 0) == before) return;
  at.compute_on.each([&](std::size_t s) {
    StreamState& on = at.streams[s];
    if (!on.busy || on.current->kind != TraceKind::kCompute) return;
    on.left_s = std::max(0.0, on.left_s - (now_s_ - on.since_s) * on.speed);
    on.since_s = now_s_;
    set_speed(on, at);
    set_timer({index, static_cast<int>(s)}, now_s_ + on.left_s / on.speed, ++on.version);
  });
}

void Replay::end(Place place, const CriticalPath& path) {
  RankState& at = rank(place.rank);
  // Its CPU waits for some event, or for room to launch.
  const bool had_waited =
      tracks_path_ && at.host_s <= now_s_ && (at.pending ? waits(at) : at.issued >= kPendingLaunches);
  StreamState& on = stream(place);
  FedEvent& event = *on.current;
  if (event.kind != TraceKind::kStep)
    for (ReplayObserver* observer : observers_) observer->ends(place.rank, event, now_s_);
  on.busy = false;
  on.released_s = StreamState::kBefore;
  if (!on.queue.empty()) at.ready.add(static_cast<std::size_t>(place.stream));
  on.since_s = now_s_;
  if (tracks_path_) paths(place).path = path;
  ++on.version;
  if (communicates(event.kind)) communicate(place.rank, -1);
  if (event.kind == TraceKind::kCompute) {
    at.compute(now_s_, -1);
    at.compute_on.remove(static_cast<std::size_t>(place.stream));
  }
  ++finished_;
  if (event.has_id()) {
    at.open.close(event.known_id);
    release(place.rank, event.known_id, path);
  }
  reached(path);
  --at.issued;
  job_of(at).feed->done(&event);
  if (had_waited && !(at.pending && waits(at))) host_path(place.rank) = path;
  if (std::exchange(at.woken, true)) return;
  woken_.push_back(place.rank);
}

}  // namespace linkcast::replay
