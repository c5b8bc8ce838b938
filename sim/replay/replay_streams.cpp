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
  Issued& next = on.queue.front();
  const auto is_open = [&](std::int64_t id) { return at.open.is_open(id); };
  if (std::any_of(next.event.after.begin(), next.event.after.end(), is_open)) return;
  const double gap_s = header(at).gap_s;
  double start_s = next.ready_s;
  CriticalPath path = next.path.with(CriticalPath::kLaunch, header(at).launch_s);
  const auto not_before = [&](double end_s, const CriticalPath& before) {
    if (end_s + gap_s <= start_s) return;
    start_s = end_s + gap_s;
    path = before.with(CriticalPath::kLaunch, gap_s);
  };
  if (on.has_run) not_before(on.free_s, on.path);
  if (next.released_s >= 0) not_before(next.released_s, next.release);
  ++on.version;
  if (start_s > now_s_) {
    set_timer(place, start_s, on.version);
    return;
  }
  next.path = path;
  begin(place);
}

void Replay::begin(Place place) {
  StreamState& on = stream(place);
  on.current = std::move(on.queue.front());
  on.queue.pop();
  on.busy = true;
  on.has_run = true;
  on.began_s = now_s_;
  ++begun_;
  if (on.current.event.kind == TraceKind::kStep) {
    pass_step(place.rank, on.current.event);
    end(place, CriticalPath(on.current.path));
    return;
  }
  for (ReplayObserver* observer : observers_) observer->begins(place.rank, on.current.event, now_s_);
  if (on.current.event.kind == TraceKind::kCompute) {
    begin_compute(place);
    return;
  }
  if (communicates(on.current.event.kind)) communicate(place.rank, 1);
  come(place);
}

void Replay::begin_compute(Place place) {
  StreamState& on = stream(place);
  on.left_s = on.current.event.time_s * rank(place.rank).slow;
  on.updated_s = now_s_;
  rank(place.rank).compute(now_s_, 1);
  set_speed(on, rank(place.rank));
  set_timer(place, now_s_ + on.left_s / on.speed, ++on.version);
}

void Replay::set_speed(StreamState& on, const RankState& at) {
  on.speed = at.communicating > 0 ? 1 / on.current.event.slowdown.value_or(header(at).slowdown) : 1;
}

/// What waits for this event at the head of a stream. Behind the head, the end of the head comes later anyway.
void Replay::release(RankState& at, std::int64_t id, const CriticalPath& path) const {
  for (StreamState& on : at.streams) {
    if (on.busy || on.queue.empty()) continue;
    Issued& next = on.queue.front();
    if (std::find(next.event.after.begin(), next.event.after.end(), id) == next.event.after.end()) continue;
    next.released_s = now_s_;
    next.release = path;
  }
}

/// Kernels of collectives come or go: compute on the rank's other streams gets slower or faster.
void Replay::communicate(int index, int more) {
  RankState& at = rank(index);
  const bool before = at.communicating > 0;
  at.communicating += more;
  if ((at.communicating > 0) == before) return;
  for (std::size_t s = 0; s < at.streams.size(); ++s) {
    StreamState& on = at.streams[s];
    if (!on.busy || on.current.event.kind != TraceKind::kCompute) continue;
    on.left_s = std::max(0.0, on.left_s - (now_s_ - on.updated_s) * on.speed);
    on.updated_s = now_s_;
    set_speed(on, at);
    set_timer({index, static_cast<int>(s)}, now_s_ + on.left_s / on.speed, ++on.version);
  }
}

void Replay::end(Place place, const CriticalPath& path) {
  RankState& at = rank(place.rank);
  // Its CPU waits for some event, or for room to launch.
  const bool had_waited = at.host_s <= now_s_ && (at.pending ? waits(at) : at.issued >= kPendingLaunches);
  const TraceEvent& event = stream(place).current.event;
  if (event.kind != TraceKind::kStep)
    for (ReplayObserver* observer : observers_) observer->ends(place.rank, event, now_s_);
  {
    StreamState& on = stream(place);
    on.busy = false;
    on.free_s = now_s_;
    on.path = path;
    ++on.version;
  }
  if (communicates(event.kind)) communicate(place.rank, -1);
  if (event.kind == TraceKind::kCompute) at.compute(now_s_, -1);
  ++finished_;
  if (event.id) {
    at.open.close(*event.id);
    release(at, *event.id, path);
  }
  reached(path);
  --at.issued;
  if (had_waited && !(at.pending && waits(at))) at.host_path = path;
  if (std::exchange(at.woken, true)) return;
  woken_.push_back(place.rank);
}

}  // namespace linkcast::replay
