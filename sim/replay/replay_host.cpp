// What the CPU of a rank does: one event after the other.
#include <algorithm>

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
  at.pending = jobs_[static_cast<std::size_t>(at.job)].feed->next(at.local);
  at.ended = !at.pending;
  if (at.ended) return true;
  ++fetched_;
  ReplayJob& job = jobs_[static_cast<std::size_t>(at.job)];
  job.recording_s += at.pending->recording_s;
  const double work_s = at.pending->host_s * job.host_scale.value_or(header(at).host_scale) +
                        (job.as_recorded ? at.pending->recording_s : 0);
  if (now_s_ > at.host_s) at.host_s = now_s_;
  at.turned_s = at.host_s;
  if (work_s == 0) return false;
  at.host_s += work_s;
  at.host_path.seconds[CriticalPath::kHost] += work_s;
  set_timer({index, -1}, at.host_s, 0);
  return true;
}

bool Replay::waits(const RankState& at) const {
  const TraceEvent& event = *at.pending;
  if (event.kind != TraceKind::kSync) return at.issued >= kPendingLaunches;
  if (!event.after.empty())
    return std::any_of(event.after.begin(), event.after.end(), [&](auto id) { return at.open.is_open(id); });
  if (event.stream.empty()) return at.issued > 0;
  const auto stream = at.stream_by_name.find(event.stream);
  if (stream == at.stream_by_name.end()) return false;
  const StreamState& state = at.streams[static_cast<std::size_t>(stream->second)];
  return state.busy || !state.queue.empty();
}

void Replay::issue(int index) {
  RankState& at = rank(index);
  if (!at.pending || waits(at)) return;
  TraceEvent event = std::move(*at.pending);
  at.pending.reset();
  ++events_;
  const IssueTimes times{at.turned_s, at.host_s, now_s_};
  at.host_s = std::max(at.host_s, now_s_);
  for (ReplayObserver* observer : observers_) observer->issues(index, event, times);
  if (event.kind == TraceKind::kSync) return;
  if (event.kind == TraceKind::kStep && event.stream.empty()) {
    pass_step(index, event);
    reached(at.host_path);
    return;
  }
  ++at.issued;
  if (event.id) at.open.open(*event.id);
  const int stream = stream_of(at, event.stream);
  Issued& issued = at.streams[static_cast<std::size_t>(stream)].queue.push();
  issued.lane = -1;
  issued.turn = 0;
  issued.released_s = -1;
  issued.event = std::move(event);
  issued.ready_s = now_s_ + header(at).launch_s;
  issued.path = at.host_path;
  take_turn(at, issued);
  try_start({index, stream});
}

/// How many events that are matched with others' in the same way this rank issued before.
void Replay::take_turn(RankState& at, Issued& issued) {
  const TraceEvent& event = issued.event;
  if (event.kind == TraceKind::kCopy) issued.turn = copies_++;  // matched with none
  const bool sends = event.kind == TraceKind::kSend;
  const bool message = sends || event.kind == TraceKind::kRecv;
  if (!message && event.kind != TraceKind::kCollective) return;
  Lane& lane =
      at.lanes[message ? (sends ? ">" : "<") + std::to_string(event.peer) + "#" + event.tag : "c" + event.group];
  if (lane.index < 0) {
    const int from = sends ? at.local : event.peer;
    const int to = sends ? event.peer : at.local;
    const std::string name =
        std::to_string(at.job) +
        (message ? "m" + std::to_string(from) + ">" + std::to_string(to) + "#" + event.tag : "c" + event.group);
    lane.index = lanes_.try_emplace(name, static_cast<int>(lanes_.size())).first->second;
  }
  issued.lane = lane.index;
  issued.turn = lane.turns++;
}

void Replay::pass_step(int index, const TraceEvent& event) {
  for (ReplayObserver* observer : observers_) observer->step(index, event, rank(index).steps, now_s_);
  ++rank(index).steps;
}

int Replay::stream_of(RankState& at, const std::string& name) {
  const auto [stream, added] = at.stream_by_name.try_emplace(name, static_cast<int>(at.streams.size()));
  if (added) at.streams.emplace_back();
  return stream->second;
}

}  // namespace linkcast::replay
