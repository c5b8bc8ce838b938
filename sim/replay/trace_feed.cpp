#include "sim/replay/trace_feed.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/index.hpp"
#include "sim/units/sequence.hpp"

namespace linkcast::replay {
namespace {

bool is_exchange(const TraceEvent& event) {
  return event.part == "exchange" || communicates(event.kind) || event.peer >= 0;
}

}  // namespace

TraceFeed::TraceFeed(std::unique_ptr<TraceReader> reader, int ranks, bool local)
    : reader_(std::move(reader)), header_(reader_->header()), groups_(header_.groups), local_(local) {
  if (ranks <= 0) ranks = header_.ranks;
  names_.resize(at(ranks));
  share(1);
  if (ranks == header_.ranks) return;
  for (auto& [name, members] : groups_) {
    if (static_cast<int>(members.size()) != header_.ranks)
      throw InputError("ranks: " + this->name() + " has " + std::to_string(header_.ranks) + " ranks and group '" +
                       name + "' of " + std::to_string(members.size()) +
                       " of them: only traces whose groups are all ranks can be replayed on another number");
    members = first_numbers(ranks);
  }
}

void TraceFeed::share(int runs) {
  runs_ = runs;
  waiting_.clear();
  for (int run = 0; run < runs; ++run) waiting_.emplace_back(names_.size());
}

void TraceFeed::leave(int run) {
  for (Fifo<FedEvent*>& mine : std::exchange(waiting_[at(run)], {}))
    for (; !mine.empty(); mine.pop()) done(mine.front());
  --runs_;
}

FedEvent* TraceFeed::next(int rank, int run) {
  Fifo<FedEvent*>& mine = waiting_[at(run)][at(rank)];
  while (mine.empty())
    if (!read()) return nullptr;
  FedEvent* event = mine.front();
  mine.pop();
  return event;
}

/// @returns  false after the last
bool TraceFeed::read() {
  if (failed_) std::rethrow_exception(failed_);
  try {
    return read_more();
  } catch (const InputError&) {
    failed_ = std::current_exception();
    throw;
  }
}

bool TraceFeed::read_more() {
  if (ended_) return false;
  FedEvent* event = take_event();
  while (true) {
    while (!reader_->next(*event)) {
      ended_ = !once_more();
      if (!ended_) continue;
      free_.push_back(event);
      return false;
    }
    shift_ids(*event);
    if (!local_ || !is_exchange(*event)) break;
  }
  hand_out(event);
  return true;
}

FedEvent* TraceFeed::take_event() {
  if (free_.empty()) return &events_.emplace_back();
  FedEvent* event = free_.back();
  free_.pop_back();
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

void TraceFeed::hand_out(FedEvent* event) {
  if (ranks() == header_.ranks) {
    put(event);
    return;
  }
  if (event->peer >= 0)
    throw InputError(name() + " line " + std::to_string(reader_->line()) +
                     ": a message or copy from rank to rank: only traces of collectives over all ranks can be replayed "
                     "on another number");
  for (int rank = event->rank; rank < ranks(); rank += header_.ranks) {
    FedEvent* own = take_event();
    *own = *event;
    own->rank = rank;
    put(own);
  }
  free_.push_back(event);
}

void TraceFeed::put(FedEvent* event) {
  number(*event);
  event->users = runs_;
  for (std::vector<Fifo<FedEvent*>>& of_ranks : waiting_)
    if (!of_ranks.empty()) of_ranks[at(event->rank)].push() = event;
}

void TraceFeed::number(FedEvent& event) {
  Names& names = names_[at(event.rank)];
  const bool marker = event.kind == TraceKind::kSync || (event.kind == TraceKind::kStep && event.stream.empty());
  event.queue = !marker                ? names.streams.add(event.stream)
                : event.stream.empty() ? NameTable::kNone
                                       : names.streams.find(event.stream);
  event.lane = NameTable::kNone;
  event.members = nullptr;
  if (!communicates(event.kind)) return;
  Lane& lane = lane_of(event);
  event.lane = lane.number;
  event.turn = lane.turns++;
  if (event.kind == TraceKind::kCollective) event.members = &groups_.at(event.group);
}

TraceFeed::Lane& TraceFeed::lane_of(const FedEvent& event) {
  Names& names = names_[at(event.rank)];
  if (event.kind == TraceKind::kCollective) {
    const int group = names.groups.add(event.group);
    if (at(group) == names.of_group.size()) names.of_group.push_back({new_lane("c" + event.group)});
    return names.of_group[at(group)];
  }
  const bool sends = event.kind == TraceKind::kSend;
  const long side = 2L * event.peer + (sends ? 1 : 0);
  Lane& lane = event.tag.empty() ? names.of_peer[side] : names.of_tagged[std::to_string(side) + "#" + event.tag];
  if (lane.number >= 0) return lane;
  const int from = sends ? event.rank : event.peer;
  const int to = sends ? event.peer : event.rank;
  lane.number = new_lane("m" + std::to_string(from) + ">" + std::to_string(to) + "#" + event.tag);
  return lane;
}

}  // namespace linkcast::replay
