// What the CPU of a rank does: one event after the other.
#include <algorithm>
#include <utility>

#include "sim/replay/replay.hpp"

namespace linkcast::replay {

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
  ReplayJob& job = jobs_[static_cast<std::size_t>(at.job)];
  at.pending = job.feed->next(at.local, job.run);
  at.ended = at.pending == nullptr;
  if (at.ended) return true;
  at.syncs = at.pending->kind == TraceKind::kSync;
  ++fetched_;
  job.recording_s += at.pending->recording_s;
  const double work_s = at.pending->host_s * job.host_scale.value_or(at.header->host_scale) +
                        (job.as_recorded ? at.pending->recording_s : 0);
  if (now_s_ > at.host_s) at.host_s = now_s_;
  at.turned_s = at.host_s;
  if (work_s == 0) return false;
  at.host_s += work_s;
  if (tracks_path_) at.host_path.seconds[CriticalPath::kHost] += work_s;
  set_timer({index, -1}, at.host_s, 0);
  return true;
}

bool Replay::waits(const RankState& at) const {
  if (!at.syncs) return at.issued >= kPendingLaunches;
  const FedEvent& event = *at.pending;
  if (!event.after.empty())
    return std::any_of(event.after.begin(), event.after.end(), [&](auto id) { return at.open.is_open(id); });
  if (event.stream.empty()) return at.issued > 0;
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
  if (event->kind == TraceKind::kSync || (event->kind == TraceKind::kStep && event->stream.empty())) {
    if (event->kind == TraceKind::kStep) {
      pass_step(index, *event);
      reached(at.host_path);
    }
    jobs_[static_cast<std::size_t>(at.job)].feed->done(event);
    return;
  }
  ++at.issued;
  if (event->id) at.open.open(*event->id);
  if (static_cast<std::size_t>(event->queue) >= at.streams.size()) at.streams.resize(event->queue + 1UL);
  StreamState& on = at.streams[static_cast<std::size_t>(event->queue)];
  if (!on.busy) at.ready.add(static_cast<std::size_t>(event->queue));
  Issued& issued = on.queue.push();
  issued.event = event;
  issued.ready_s = now_s_ + at.header->launch_s;
  if (tracks_path_) issued.path = at.host_path;
  issued.released_s = -1;
  try_start({index, event->queue});
}

void Replay::pass_step(int index, const TraceEvent& event) {
  RankState& at = rank(index);
  for (ReplayObserver* observer : observers_) observer->step(index, event, at.steps, now_s_);
  const auto job = static_cast<std::size_t>(at.job), step = static_cast<std::size_t>(at.steps++);
  if (step_ends_s_.size() <= job) step_ends_s_.resize(job + 1);
  std::vector<double>& ends_s = step_ends_s_[job];
  if (ends_s.size() <= step) ends_s.resize(step + 1);
  ends_s[step] = std::max(ends_s[step], now_s_);
}

}  // namespace linkcast::replay
