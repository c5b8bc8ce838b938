// What the CPU of a rank does: one event after the other.
#include <algorithm>

#include "sim/replay/replay.hpp"

namespace linkcast {
namespace {

// Launches that a GPU takes before the CPU has to wait; it bounds what a replay keeps of a trace.
// source: CUDA runtime: launches block once about 1024 are pending (measured by many, in no manual)
constexpr int kPendingLaunches = 1024;

/// How many events that are matched with others' in the same way this rank issued before.
long take_turn(RankState& at, const TraceEvent& event) {
  if (event.kind == TraceKind::kCollective) return at.turns["c" + event.group]++;
  const bool sends = event.kind == TraceKind::kSend;
  if (!sends && event.kind != TraceKind::kRecv) return 0;
  return at.turns[(sends ? ">" : "<") + std::to_string(event.peer) + "#" + event.tag]++;
}

}  // namespace

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
  const double work_s = at.pending->host_s * header(at).host_scale;
  if (now_s_ > at.host_s) at.host_s = now_s_;
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
    return std::any_of(event.after.begin(), event.after.end(), [&](auto id) { return at.open.count(id) > 0; });
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
  at.host_s = std::max(at.host_s, now_s_);
  if (event.kind == TraceKind::kSync) return;
  if (event.kind == TraceKind::kStep && event.stream.empty()) {
    pass_step(index);
    return;
  }
  ++at.issued;
  if (event.id) at.open.insert(*event.id);
  const long turn = take_turn(at, event);
  const int stream = stream_of(at, event.stream);
  at.streams[static_cast<std::size_t>(stream)].queue.push_back(
      {std::move(event), now_s_ + header(at).launch_s, turn, at.host_path});
  try_start({index, stream});
}

void Replay::pass_step(int index) {
  for (ReplayObserver* observer : observers_) observer->step(index, rank(index).steps, now_s_);
  ++rank(index).steps;
}

int Replay::stream_of(RankState& at, const std::string& name) {
  const auto [stream, added] = at.stream_by_name.try_emplace(name, static_cast<int>(at.streams.size()));
  if (added) at.streams.emplace_back();
  return stream->second;
}

}  // namespace linkcast
