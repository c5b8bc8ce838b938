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
  const JobView& job = job_of(at);
  at.pending = job.feed->next(index - job.first_rank, job.run);
  at.ended = at.pending == nullptr;
  if (at.ended) return true;
  const FedEvent& event = *at.pending;
  at.syncs = event.kind == TraceKind::kSync;
  ++fetched_;
  double work_s = event.host_s * job.host_scale;
  if (event.recording_s() > 0) {
    jobs_[static_cast<std::size_t>(at.job)].recording_s += event.recording_s();
    if (job.as_recorded) work_s += event.recording_s();
  }
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
  if (!on.busy) at.ready.add(queue);
  on.queue.push() = {event, now_s_ + job_of(at).launch_s, -1};
  if (tracks_path_) paths({index, event->queue}).queue.push().issued = host_path(index);
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

}  // namespace linkcast::replay
