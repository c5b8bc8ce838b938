#include "sim/replay/trace_feed.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/sequence.hpp"

namespace linkcast::replay {
namespace {

bool is_exchange(const TraceEvent& event) {
  return event.part == "exchange" || communicates(event.kind) || event.peer >= 0;
}

}  // namespace

TraceFeed::TraceFeed(std::unique_ptr<TraceReader> reader, int ranks, bool local)
    : reader_(std::move(reader)), local_(local) {
  if (ranks <= 0) ranks = header().ranks;
  waiting_.resize(static_cast<std::size_t>(ranks));
  groups_ = header().groups;
  if (ranks == header().ranks) return;
  for (auto& [name, members] : groups_) {
    if (static_cast<int>(members.size()) != header().ranks)
      throw InputError("ranks: " + this->name() + " has " + std::to_string(header().ranks) + " ranks and group '" +
                       name + "' of " + std::to_string(members.size()) +
                       " of them: only traces whose groups are all ranks can be replayed on another number");
    members = first_numbers(ranks);
  }
}

std::optional<TraceEvent> TraceFeed::next(int rank) {
  Fifo<TraceEvent>& mine = waiting_[static_cast<std::size_t>(rank)];
  std::optional<TraceEvent> event;
  while (mine.empty() && !ended_) {
    event = reader_->next();
    ended_ = !event && !once_more();
    if (!event) continue;
    shift_ids(*event);
    if (local_ && is_exchange(*event)) continue;
    if (event->rank == rank && ranks() == header().ranks) return event;
    hand_out(std::move(*event));
  }
  if (mine.empty()) return std::nullopt;
  event = std::move(mine.front());
  mine.pop();
  return event;
}

void TraceFeed::repeat(int times, std::function<std::unique_ptr<TraceReader>()> again) {
  times_left_ = times - 1;
  again_ = std::move(again);
}

/// @returns  true if the trace begins anew
bool TraceFeed::once_more() {
  if (times_left_ == 0) return false;
  --times_left_;
  id_shift_ += last_id_ - first_id_ + 1;
  reader_ = again_();
  return true;
}

void TraceFeed::shift_ids(TraceEvent& event) {
  if (event.id) {
    first_id_ = std::min(first_id_, *event.id);
    last_id_ = std::max(last_id_, *event.id);
    *event.id += id_shift_;
  }
  for (std::int64_t& before : event.after) before += id_shift_;
}

void TraceFeed::hand_out(TraceEvent event) {
  const bool other_number = ranks() != header().ranks;
  if (!other_number) {
    waiting_[static_cast<std::size_t>(event.rank)].push() = std::move(event);
    return;
  }
  if (event.peer >= 0)
    throw InputError(name() + " line " + std::to_string(reader_->line()) +
                     ": a message or copy from rank to rank: only traces of collectives over all ranks can be replayed "
                     "on another number");
  for (int rank = event.rank; rank < ranks(); rank += header().ranks) {
    TraceEvent& own = waiting_[static_cast<std::size_t>(rank)].push();
    own = event;
    own.rank = rank;
  }
}

}  // namespace linkcast::replay
