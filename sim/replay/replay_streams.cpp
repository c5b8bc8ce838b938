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
  if (std::any_of(next.event->after.begin(), next.event->after.end(), is_open)) return;
  const double gap_s = at.header->gap_s;
  double start_s = next.ready_s;
  const CriticalPath* before = nullptr;  // what it waited for last, if not its launch
  const auto not_before = [&](double end_s, const CriticalPath& path) {
    if (end_s + gap_s <= start_s) return;
    start_s = end_s + gap_s;
    before = &path;
  };
  if (on.has_run) not_before(on.free_s, on.path);
  if (next.released_s >= 0) not_before(next.released_s, next.release);
  ++on.version;
  if (start_s > now_s_) {
    set_timer(place, start_s, on.version);
    return;
  }
  if (tracks_path_)
    on.path = before != nullptr ? before->with(CriticalPath::kLaunch, gap_s)
                                : next.path.with(CriticalPath::kLaunch, at.header->launch_s);
  begin(place);
}

void Replay::begin(Place place) {
  StreamState& on = stream(place);
  on.current = on.queue.front().event;
  on.queue.pop();
  on.busy = true;
  rank(place.rank).ready.remove(static_cast<std::size_t>(place.stream));
  on.has_run = true;
  on.began_s = now_s_;
  ++begun_;
  if (on.current->kind == TraceKind::kStep) {
    pass_step(place.rank, *on.current);
    end(place, path_of(on));
    return;
  }
  for (ReplayObserver* observer : observers_) observer->begins(place.rank, *on.current, now_s_);
  if (on.current->kind == TraceKind::kCompute) {
    begin_compute(place);
    return;
  }
  if (communicates(on.current->kind)) communicate(place.rank, 1);
  come(place);
}

void Replay::begin_compute(Place place) {
  StreamState& on = stream(place);
  on.left_s = on.current->time_s * rank(place.rank).slow;
  on.updated_s = now_s_;
  rank(place.rank).compute(now_s_, 1);
  rank(place.rank).compute_on.add(static_cast<std::size_t>(place.stream));
  set_speed(on, rank(place.rank));
  set_timer(place, now_s_ + on.left_s / on.speed, ++on.version);
}

void Replay::set_speed(StreamState& on, const RankState& at) {
  on.speed = at.communicating > 0 ? 1 / on.current->slowdown.value_or(at.header->slowdown) : 1;
}

/// What waits for this event at the head of a stream. Behind the head, the end of the head comes later anyway.
void Replay::release(RankState& at, std::int64_t id, const CriticalPath& path) const {
  at.ready.each(at.streams.size(), [&](std::size_t s) {
    StreamState& on = at.streams[s];
    if (on.busy || on.queue.empty()) return;
    Issued& next = on.queue.front();
    if (std::find(next.event->after.begin(), next.event->after.end(), id) == next.event->after.end()) return;
    next.released_s = now_s_;
    if (tracks_path_) next.release = path;
  });
}

/// Kernels of collectives come or go: compute on the rank's other streams gets slower or faster.
void Replay::communicate(int index, int more) {
  RankState& at = rank(index);
  const bool before = at.communicating > 0;
  at.communicating += more;
  if ((at.communicating > 0) == before) return;
  at.compute_on.each(at.streams.size(), [&](std::size_t s) {
    StreamState& on = at.streams[s];
    if (!on.busy || on.current->kind != TraceKind::kCompute) return;
    on.left_s = std::max(0.0, on.left_s - (now_s_ - on.updated_s) * on.speed);
    on.updated_s = now_s_;
    set_speed(on, at);
    set_timer({index, static_cast<int>(s)}, now_s_ + on.left_s / on.speed, ++on.version);
  });
}

void Replay::end(Place place, const CriticalPath& path) {
  RankState& at = rank(place.rank);
  // Its CPU waits for some event, or for room to launch.
  const bool had_waited =
      tracks_path_ && at.host_s <= now_s_ && (at.pending ? waits(at) : at.issued >= kPendingLaunches);
  FedEvent& event = *stream(place).current;
  if (event.kind != TraceKind::kStep)
    for (ReplayObserver* observer : observers_) observer->ends(place.rank, event, now_s_);
  {
    StreamState& on = stream(place);
    on.busy = false;
    if (!on.queue.empty()) at.ready.add(static_cast<std::size_t>(place.stream));
    on.free_s = now_s_;
    if (tracks_path_) on.path = path;
    ++on.version;
  }
  if (communicates(event.kind)) communicate(place.rank, -1);
  if (event.kind == TraceKind::kCompute) {
    at.compute(now_s_, -1);
    at.compute_on.remove(static_cast<std::size_t>(place.stream));
  }
  ++finished_;
  if (event.id) {
    at.open.close(*event.id);
    release(at, *event.id, path);
  }
  reached(path);
  --at.issued;
  jobs_[static_cast<std::size_t>(at.job)].feed->done(&event);
  if (had_waited && !(at.pending && waits(at))) at.host_path = path;
  if (std::exchange(at.woken, true)) return;
  woken_.push_back(place.rank);
}

}  // namespace linkcast::replay
