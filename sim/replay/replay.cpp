#include "sim/replay/replay.hpp"

#include <algorithm>
#include <limits>

namespace linkcast {
namespace {

// Timers closer than this, relative to the clock, are one moment, as in FluidSolver.
constexpr double kSameMoment = 0x1p-43;  // source: see FluidSolver

}  // namespace

Replay::Replay(std::vector<ReplayJob> jobs, ReplayNetwork& network, std::vector<ReplayObserver*> observers)
    : jobs_(std::move(jobs)), network_(network), observers_(std::move(observers)) {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    first_rank_.push_back(static_cast<int>(ranks_.size()));
    for (int local = 0; local < jobs_[job].feed->ranks(); ++local) {
      RankState rank;
      rank.job = static_cast<int>(job);
      rank.local = local;
      rank.gpu = jobs_[job].gpus.at(static_cast<std::size_t>(local));
      ranks_.push_back(std::move(rank));
    }
  }
}

void Replay::run() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) go_on(static_cast<int>(rank));
  run_events(*this);
  for (const RankState& rank : ranks_)
    if (!rank.ended || rank.issued > 0) fail_stuck();
}

void Replay::set_timer(Place place, double time_s, unsigned long version) {
  timers_.push({time_s, timer_order_++, place, version});
}

double Replay::next_event_s() {
  const double timer_s = timers_.empty() ? std::numeric_limits<double>::infinity() : timers_.top().time_s;
  return std::min(timer_s, network_.next_event_s());
}

void Replay::advance() {
  now_s_ = std::max(now_s_, next_event_s());
  network_.advance(now_s_, tickets_ended_);
  for (const long ticket : std::vector<long>(tickets_ended_)) end_network(ticket);
  const double moment_end_s = now_s_ + now_s_ * kSameMoment;
  while (!timers_.empty() && timers_.top().time_s <= moment_end_s) {
    const Timer timer = timers_.top();
    timers_.pop();
    now_s_ = std::max(now_s_, timer.time_s);
    if (timer.place.stream < 0) {
      issue(timer.place.rank);
      go_on(timer.place.rank);
      continue;
    }
    const StreamState& at = stream(timer.place);
    if (timer.version != at.version) continue;
    if (at.busy)
      end(timer.place, at.current.path.with(CriticalPath::kCompute, now_s_ - at.began_s));
    else
      try_start(timer.place);
  }
}

void Replay::fail_stuck() const {
  for (const RankState& rank : ranks_) {
    if (rank.ended && rank.issued == 0) continue;
    const std::string& file = jobs_[static_cast<std::size_t>(rank.job)].feed->name();
    std::string what = file + ": rank " + std::to_string(rank.local) + " waits for ever";
    for (const StreamState& stream : rank.streams) {
      if (!stream.busy) continue;
      const TraceEvent& event = stream.current.event;
      what += ", in a " + to_text(event.kind) + (event.op.empty() ? "" : " " + event.op) + " of " +
              (event.peer >= 0 ? "rank " + std::to_string(event.peer) : "group '" + event.group + "'") +
              " that others never join";
      break;
    }
    throw InputError(what);
  }
  throw InvariantError("no rank waits, and yet the replay did not end");
}

}  // namespace linkcast
