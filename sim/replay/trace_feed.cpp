#include "sim/replay/trace_feed.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/base/index.hpp"

namespace linkcast::replay {
namespace {

/// Events that are kept before the file is looked through, and those so far are read again: less where many ranks have
/// running launches besides.
std::size_t most_kept(int ranks) {
  constexpr int kFew = 16;                                // source: ours, as the next two
  constexpr std::size_t kOfMany = 16384, kOfFew = 65536;  // source: 1 and 4 MiB
  return ranks > kFew ? kOfMany : kOfFew;
}

bool is_exchange(const TraceEvent& event) {
  return event.part == "exchange" || communicates(event.kind) || event.peer >= 0;
}

}  // namespace

TraceFeed::TraceFeed(std::unique_ptr<TraceReader> reader, int ranks, bool local)
    : reader_(std::move(reader)), header_(reader_->header()), groups_(header_.groups), local_(local) {
  if (ranks <= 0) ranks = header_.ranks;
  names_.resize(at(ranks));
  counts_.assign(at(header_.ranks), 0);
  share(1);
  if (ranks == header_.ranks) return;
  for (auto& [name, members] : groups_) {
    if (static_cast<int>(members.size()) != header_.ranks)
      throw InputError(
          fmt::format("ranks: {} has {} ranks and group '{}' of {} of them: only traces whose groups are all ranks can "
                      "be replayed on another number",
                      this->name(), header_.ranks, name, members.size()));
    members = first_numbers(ranks);
  }
}

void TraceFeed::share(int runs) {
  runs_ = runs;
  cursors_.assign(at(runs), std::vector<FedEvent*>(names_.size(), nullptr));
  newest_.assign(names_.size(), nullptr);
}

void TraceFeed::leave(int run) {
  for (FedEvent* mine : std::exchange(cursors_[at(run)], {}))
    while (mine != nullptr) done(std::exchange(mine, mine->next));
  --runs_;
}

/// @returns  false after the last
bool TraceFeed::read(int rank) {
  if (failed_) std::rethrow_exception(failed_);
  try {
    return read_more(rank);
  } catch (const InputError&) {
    failed_ = std::current_exception();
    throw;
  }
}

bool TraceFeed::read_more(int rank) {
  if (ended_) return false;
  if (read_ == nullptr) read_ = take_whole();
  if (!path_.empty() && events_.size() > most_kept(ranks())) look_by_rank();
  do {
    if (!next_event(rank)) return false;
    shift_ids(*read_);
  } while (local_ && is_exchange(*read_));
  hand_out();
  return true;
}

/// The next one of this rank if the trace is read by rank, else of any.
bool TraceFeed::next_event(int rank) {
  if (by_rank_) return by_rank_->next(rank, *read_);
  while (!reader_->next(*read_)) {
    ended_ = !once_more();
    if (ended_) return false;
  }
  if (!path_.empty()) ++counts_[at(read_->rank)];
  return true;
}

/// Later events alone are read so; where the trace is repeated, ids of all ranks decide those of the next time.
void TraceFeed::look_by_rank() {
  const std::string path = std::exchange(path_, {});
  if (ranks() == header_.ranks && again_ == nullptr) by_rank_ = RankReaders::open(path, counts_);
}

FedEvent* TraceFeed::take_event() {
  if (free_ == nullptr) return &events_.emplace_back();
  FedEvent* taken = std::exchange(free_, free_->next);
  __builtin_prefetch(free_, 1);
  return taken;
}

TraceEvent* TraceFeed::take_whole() {
  if (free_wholes_.empty()) return &wholes_.emplace_back();
  TraceEvent* whole = free_wholes_.back();
  free_wholes_.pop_back();
  return whole;
}

FedMore* TraceFeed::take_more() {
  if (free_mores_.empty()) return &mores_.emplace_back();
  FedMore* more = free_mores_.back();
  free_mores_.pop_back();
  return more;
}

void TraceFeed::give_back(FedEvent* event) {
  if (event->more != nullptr) {
    if (event->more->whole != nullptr) free_wholes_.push_back(std::exchange(event->more->whole, nullptr));
    free_mores_.push_back(event->more);
  }
  event->next = std::exchange(free_, event);
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

void TraceFeed::hand_out() {
  if (ranks() == header_.ranks) {
    put(read_->rank, true);
    return;
  }
  if (read_->peer >= 0)
    throw InputError(
        fmt::format("{} line {}: a message or copy from rank to rank: only traces of collectives over all ranks can be "
                    "replayed on another number",
                    name(), reader_->line()));
  for (int rank = read_->rank; rank < ranks(); rank += header_.ranks) put(rank, rank + header_.ranks >= ranks());
}

/// What was read, for a rank. @param last  for no other
void TraceFeed::put(int rank, bool last) {
  FedEvent* event = take_event();
  *event = {};
  number(rank, *event);
  const bool whole = needs_whole();
  if (whole || event->after == FedEvent::After::kMore) {
    event->more = take_more();
    event->more->after.assign(read_->after.begin(), read_->after.end());
  }
  if (whole) {
    event->more->whole = read_;
    read_ = take_whole();
    if (!last) *read_ = *event->more->whole;
  }
  event->users = static_cast<unsigned char>(runs_);
  bool behind = false;  // some run has not taken the one before
  for (std::vector<FedEvent*>& of_ranks : cursors_) {
    if (of_ranks.empty()) continue;
    FedEvent*& cursor = of_ranks[at(rank)];
    if (cursor != nullptr)
      behind = true;
    else
      cursor = event;
  }
  FedEvent*& newest = newest_[at(rank)];
  if (behind) newest->next = event;
  newest = event;
}

bool TraceFeed::needs_whole() const {
  return keeps_whole_ || read_->recorded || read_->recording_s > 0 || read_->slowdown;
}

void TraceFeed::number(int rank, FedEvent& event) {
  Names& names = names_[at(rank)];
  event.kind = read_->kind;
  event.host_s = read_->host_s;
  event.amount = event.kind == TraceKind::kCompute ? read_->time_s : read_->size_B;
  set_ids(names, event);
  const bool marker = event.kind == TraceKind::kSync || event.kind == TraceKind::kStep;
  if (marker && !read_->stream.empty()) event.flags |= FedEvent::kOfStream;
  if (!marker || event.of_stream()) event.queue = queue_of(names, read_->stream, event.is_queued());
  if (event.kind == TraceKind::kCopy) {
    const auto copy = read_->op == "h2d"   ? FedEvent::Copy::kToDevice
                      : read_->op == "d2h" ? FedEvent::Copy::kToHost
                                           : FedEvent::Copy::kOnDevice;
    event.flags |= static_cast<unsigned char>(static_cast<unsigned>(copy) << FedEvent::kCopyShift);
  }
  event.which = event.kind == TraceKind::kCollective ? ops_.add(read_->op) : read_->peer;
  if (communicates(event.kind)) number_call(rank, event);
}

/// An id is kept as far as it lies before the rank's last one.
void TraceFeed::set_ids(Names& names, FedEvent& event) const {
  if (read_->id) {
    names.last_id = *read_->id;
    event.flags |= FedEvent::kHasId;
  }
  event.known_id = names.last_id;
  if (read_->after.empty()) return;
  const std::int64_t first = read_->after.front();
  const std::uint64_t before = static_cast<std::uint64_t>(names.last_id) - static_cast<std::uint64_t>(first);
  const bool near = first <= names.last_id && before <= std::numeric_limits<std::uint32_t>::max();
  event.after = near && read_->after.size() == 1 ? FedEvent::After::kOne : FedEvent::After::kMore;
  if (event.after == FedEvent::After::kOne) event.before = static_cast<std::uint32_t>(before);
}

/// @param add  gives it a number if it has none
int TraceFeed::queue_of(Names& names, const std::string& stream, bool add) {
  const int name = add ? streams_.add(stream) : streams_.find(stream);
  if (name == NameTable::kNone) return FedEvent::kNone;
  if (names.queue_of.size() <= at(name)) {
    if (!add) return FedEvent::kNone;
    names.queue_of.resize(at(name) + 1, FedEvent::kNone);
  }
  int& queue = names.queue_of[at(name)];
  if (queue == FedEvent::kNone && add) queue = names.streams++;
  return queue;
}

void TraceFeed::number_call(int rank, FedEvent& event) {
  constexpr int kSideBits = 32;  // twice kMostRanks need 21
  constexpr std::uint64_t kGroup = std::uint64_t{1} << 63U;
  Names& names = names_[at(rank)];
  const auto count = [&](Calls& calls) {
    event.lane = calls.lane;
    event.turn = calls.turns++;
  };
  if (event.kind == TraceKind::kCollective) {
    const int group = group_names_.add(read_->group);
    return count(calls_of(names, kGroup + static_cast<std::uint64_t>(group), [&] { return lane_of_group(group); }));
  }
  const bool sends = event.kind == TraceKind::kSend;
  const std::uint64_t tag = read_->tag.empty() ? 0 : static_cast<std::uint64_t>(tags_.add(read_->tag)) + 1;
  const std::uint64_t side = (tag << kSideBits) + 2 * static_cast<std::uint64_t>(read_->peer) + (sends ? 1 : 0);
  count(calls_of(names, side, [&] {
    const int from = sends ? rank : read_->peer, to = sends ? read_->peer : rank;
    return new_lane(fmt::format("m{}>{}#{}", from, to, read_->tag), {});
  }));
}

int TraceFeed::lane_of_group(int group) {
  if (at(group) == lane_of_group_.size())
    lane_of_group_.push_back(new_lane("c" + read_->group, {read_->group, &groups_.at(read_->group)}));
  return lane_of_group_[at(group)];
}

/// @param lane  of those that the rank has not met before
template <class NewLane>
TraceFeed::Calls& TraceFeed::calls_of(Names& names, std::uint64_t side, const NewLane& lane) {
  constexpr std::size_t kFew = 16;  // ours: those are looked through
  if (names.calls.size() <= kFew) {
    for (Calls& known : names.calls)
      if (known.side == side) return known;
  } else if (const auto known = names.place_of.find(side); known != names.place_of.end()) {
    return names.calls[known->second];
  }
  names.calls.push_back({side, lane(), 0});
  if (names.calls.size() > kFew)
    for (std::size_t i = names.place_of.size(); i < names.calls.size(); ++i)
      names.place_of.emplace(names.calls[i].side, i);
  return names.calls.back();
}

int TraceFeed::new_lane(const std::string& name, Lane lane) {
  const auto [known, fresh] = lane_names_.try_emplace(name, static_cast<int>(lanes_.size()));
  if (fresh) lanes_.push_back(std::move(lane));
  return known->second;
}

std::string TraceFeed::group(int lane) const { return lane < 0 ? "" : lanes_[at(lane)].group; }

std::string TraceFeed::op_of(const FedEvent& event) const {
  if (event.kind == TraceKind::kCollective) return op(event.which);
  if (event.kind != TraceKind::kCopy) return "";
  return event.copy() == FedEvent::Copy::kToDevice ? "h2d" : event.copy() == FedEvent::Copy::kToHost ? "d2h" : "d2d";
}

}  // namespace linkcast::replay
