// What streams do: their events one after the other.
#include <algorithm>
#include <utility>

#include "sim/replay/replay.hpp"

namespace linkcast::replay {
/// Starts the first event of the queue if it may run now, or sets a timer for when it may.
void Replay::try_start(Place place) {
  const RankState& at = rank(place.rank);
  StreamState& on = stream(place);
  if (on.busy || on.queue.empty()) return;
  const Issued& next = on.queue.front();
  if (next.event->any_before([&](std::int64_t id) { return at.open.is_open(id); })) return;
  const double gap_s = job_of(at).gap_s;
  double start_s = next.ready_s;
  enum { kLaunch, kStream, kRelease } last = kLaunch;  // what it waited for last
  if (on.has_run && on.since_s + gap_s > start_s) {
    start_s = on.since_s + gap_s;
    last = kStream;
  }
  if (next.released_s >= 0 && next.released_s + gap_s > start_s) {
    start_s = next.released_s + gap_s;
    last = kRelease;
  }
  ++on.version;
  if (start_s > now_s_) {
    set_timer(place, start_s, on.version);
    return;
  }
  if (tracks_path_) {
    StreamPath& led = paths(place);
    const StreamPath::Waiting& waited = led.queue.front();
    led.path = last == kLaunch ? waited.issued.with(CriticalPath::kLaunch, job_of(at).launch_s)
                               : (last == kStream ? led.path : waited.release).with(CriticalPath::kLaunch, gap_s);
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

/// What waits for this event at the head of a stream. Behind the head, the end of the head comes later anyway.
void Replay::release(int index, std::int64_t id, const CriticalPath& path) {
  RankState& at = rank(index);
  at.ready.each(at.streams.size(), [&](std::size_t s) {
    StreamState& on = at.streams[s];
    if (on.busy || on.queue.empty()) return;
    Issued& next = on.queue.front();
    if (!next.event->any_before([&](std::int64_t before) { return before == id; })) return;
    next.released_s = now_s_;
    if (tracks_path_) paths({index, static_cast<int>(s)}).queue.front().release = path;
  });
}

/// Kernels of collectives come or go: compute on the rank's other streams gets slower or faster.
void Replay::communicate(int index, int more) {
  RankState& at = rank(index);
  const bool before = at.communicating > 0;
  at.communicating = static_cast<short>(at.communicating + more);
  if ((at.communicating > 0) == before) return;
  at.compute_on.each(at.streams.size(), [&](std::size_t s) {
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
