// What needs the network: an operation starts when all its ranks have come.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/replay/replay.hpp"

namespace linkcast::replay {
namespace {

NetworkOp::Kind copy_kind(FedEvent::Copy copy) {
  if (copy == FedEvent::Copy::kToDevice) return NetworkOp::Kind::kHostToDevice;
  if (copy == FedEvent::Copy::kToHost) return NetworkOp::Kind::kDeviceToHost;
  return NetworkOp::Kind::kLocal;
}

}  // namespace

int Replay::take_meeting() {
  if (free_meetings_.empty()) {
    free_meetings_.push_back(static_cast<int>(meetings_.size()));
    meetings_.emplace_back();
  }
  const int number = free_meetings_.back();
  free_meetings_.pop_back();
  Meeting& meeting = meetings_[at(number)];
  meeting.places.clear();
  meeting.computed_s.clear();
  meeting.running = meeting.moved = false;
  meeting.lane = NameTable::kNone;
  return number;
}

/// The one that an event takes part in, open or to be opened. A copy is matched with none.
int Replay::meeting_of(const RankState& rank, const FedEvent& event) {
  if (event.lane == NameTable::kNone) return take_meeting();
  std::vector<OpenTurns>& lanes = job_of(rank).turns;
  if (lanes.size() <= at(event.lane)) lanes.resize(at(event.lane) + 1);
  OpenTurns& open = lanes[at(event.lane)];
  const std::uint32_t place = event.turn - open.first;  // of turns that begin anew, too
  while (open.meetings.size() <= place) open.meetings.push() = OpenTurns::kNobodyYet;
  int& number = open.meetings[place];
  if (number >= 0) return number;
  number = take_meeting();
  Meeting& meeting = meetings_[at(number)];
  meeting.job = rank.job;
  meeting.lane = event.lane;
  meeting.turn = event.turn;
  return number;
}

void Replay::give_back(int number) {
  const Meeting& meeting = meetings_[at(number)];
  free_meetings_.push_back(number);
  if (meeting.lane == NameTable::kNone) return;
  OpenTurns& open = views_[at(meeting.job)].turns[at(meeting.lane)];
  open.meetings[meeting.turn - open.first] = OpenTurns::kEnded;
  for (; !open.meetings.empty() && open.meetings.front() == OpenTurns::kEnded; ++open.first) open.meetings.pop();
}

/// A rank's event has reached the head of its stream.
void Replay::come(Place place) {
  const RankState& own = rank(place.rank);
  const StreamState& on = stream(place);
  const FedEvent& event = *on.current;
  const int number = meeting_of(own, event);
  Meeting& meeting = meetings_[at(number)];
  if (event.kind == TraceKind::kCollective)
    join_collective(meeting, own, event);
  else if (event.kind == TraceKind::kCopy)
    be_copy(meeting, own, event);
  else
    join_message(meeting, own, event);
  if (meeting.moved || meeting.running) tell_meets(place);  // an eager message is there, or under way
  if (meeting.moved) {
    give_back(number);
    end(place, path_of(place));
    return;
  }
  meeting.places.push_back(place);
  if (meeting.running) return;
  if (tracks_path_) meeting.path = paths(place).path;
  if (complete(meeting, own, event)) start_network(number);
}

/// By a copy engine of the rank's GPU.
void Replay::be_copy(Meeting& meeting, const RankState& own, const FedEvent& event) const {
  meeting.size_B = event.amount;
  meeting.from = meeting.to = own.gpu;
  meeting.kind = event.peer() < 0 ? copy_kind(event.copy()) : NetworkOp::Kind::kPeer;
  if (event.peer() >= 0) meeting.to = jobs_[at(own.job)].gpus[at(event.peer())];
}

void Replay::join_collective(Meeting& meeting, const RankState& own, const FedEvent& event) {
  if (meeting.places.empty()) {
    check_op(own, event.which);
    meeting.kind = NetworkOp::Kind::kCollective;
    meeting.op = event.which;
    meeting.size_B = event.amount;
    return;
  }
  if (meeting.op == event.which && meeting.size_B == event.amount) return;
  const RankState& other = ranks_[at(meeting.places.front().rank)];
  const TraceFeed& feed = *job_of(own).feed;
  throw InputError(fmt::format("{}: group '{}': rank {} calls {} of {} where rank {} calls {} of {}", feed.name(),
                               feed.group(event.lane), own.local, feed.op(event.which), to_text(Bytes{event.amount}),
                               other.local, feed.op(meeting.op), to_text(Bytes{meeting.size_B})));
}

/// @throws InputError  there is no such collective
void Replay::check_op(const RankState& own, int op) {
  JobView& job = job_of(own);
  if (at(op) < job.known_ops.size() && job.known_ops[at(op)] != 0) return;
  try {
    collectives().get(job.feed->op(op));
  } catch (const InputError& error) {
    throw InputError(job.feed->name() + ": " + error.what());
  }
  if (job.known_ops.size() <= at(op)) job.known_ops.resize(at(op) + 1, 0);
  job.known_ops[at(op)] = 1;
}

/// A receive says what there is room for: the message is as large as its send.
void Replay::join_message(Meeting& meeting, const RankState& own, const FedEvent& event) const {
  const ReplayJob& job = jobs_[at(own.job)];
  const int peer = job.gpus[at(event.peer())];
  const bool sends = event.kind == TraceKind::kSend;
  const double sent_B = sends ? event.amount : meeting.size_B;
  const double room_B = sends ? meeting.size_B : event.amount;
  if (!meeting.places.empty() && sent_B > room_B)
    throw InputError(fmt::format("{}: rank {} sends {} to rank {}, which has room for {}", job.feed->name(),
                                 sends ? own.local : event.peer(), to_text(Bytes{sent_B}),
                                 sends ? event.peer() : own.local, to_text(Bytes{room_B})));
  meeting.from = sends ? own.gpu : peer;
  meeting.to = sends ? peer : own.gpu;
  meeting.kind = meeting.from == meeting.to ? NetworkOp::Kind::kLocal : NetworkOp::Kind::kMessage;
  meeting.size_B = meeting.places.empty() ? event.amount : sent_B;
}

bool Replay::complete(const Meeting& meeting, const RankState& own, const FedEvent& event) const {
  if (event.kind == TraceKind::kCollective)
    return meeting.places.size() == job_of(own).feed->members(event.lane)->size();
  if (event.kind == TraceKind::kCopy || meeting.places.size() == 2) return true;
  return event.kind == TraceKind::kSend && event.amount <= job_of(own).header->eager_B;
}

void Replay::tell_meets(Place place) const {
  for (ReplayObserver* observer : observers_) observer->meets(place.rank, event_at(place), now_s_);
}

void Replay::start_network(int number) {
  Meeting& meeting = meetings_[at(number)];
  meeting.running = true;
  meeting.began_s = now_s_;
  if (!observers_.empty())
    for (const Place place : meeting.places) tell_meets(place);
  const bool slows = job_of(rank(meeting.places.front().rank)).header->collective_slowdown > 1;
  if (slows && meeting.kind == NetworkOp::Kind::kCollective)
    for (const Place place : meeting.places) meeting.computed_s.push_back(rank(place.rank).computed_until_s(now_s_));
  ++operations_;
  move_network();
  by_ticket_.put(network_.start_prepared(prepared(meeting)), number);
}

/// The network's number of the operation. Those of a lane are mostly some few, again and again.
int Replay::prepared(const Meeting& meeting) {
  if (meeting.lane == NameTable::kNone) return prepare(meeting);
  const int op = meeting.kind == NetworkOp::Kind::kCollective ? meeting.op : NameTable::kNone;
  std::vector<OpenTurns::Known>& known = views_[at(meeting.job)].turns[at(meeting.lane)].known;
  for (const OpenTurns::Known& one : known)
    if (one.size_B == meeting.size_B && one.op == op) return one.prepared;
  const int made = prepare(meeting);
  if (known.size() < OpenTurns::kMostKnown) known.push_back({meeting.size_B, op, made});
  return made;
}

int Replay::prepare(const Meeting& meeting) {
  asked_.kind = meeting.kind;
  asked_.size_B = meeting.size_B;
  asked_.nvls = true;
  asked_.library.clear();
  asked_.op.clear();
  if (meeting.kind == NetworkOp::Kind::kCollective) {
    const JobView& job = views_[at(meeting.job)];
    const std::vector<int>& gpus = jobs_[at(meeting.job)].gpus;
    asked_.op = job.feed->op(meeting.op);
    asked_.nvls = jobs_[at(meeting.job)].nvls;
    asked_.library = jobs_[at(meeting.job)].library;
    asked_.gpus.clear();
    for (const int member : *job.feed->members(meeting.lane)) asked_.gpus.push_back(gpus[at(member)]);
  } else {
    const bool two = meeting.kind == NetworkOp::Kind::kPeer || meeting.lane != NameTable::kNone;
    asked_.gpus.assign(1, meeting.from);
    if (two) asked_.gpus.push_back(meeting.to);
  }
  return network_.prepare(asked_);
}

/// Of what has just moved. Recorded is the time of the rank that waited least.
Exchange Replay::exchange_of(const Meeting& meeting) {
  const bool message = meeting.kind == NetworkOp::Kind::kMessage;
  moved_ranks_.clear();
  Exchange made{message ? Exchange::kMessage : meeting.op, {}, meeting.size_B, meeting.began_s, now_s_};
  bool known = true;
  for (const Place place : meeting.places) {
    moved_ranks_.push_back(place.rank);
    const RecordedTime* recorded = event_at(place).recorded();
    known = known && recorded != nullptr;
    if (known) made.recorded_s = std::min(made.recorded_s.value_or(recorded->duration_s()), recorded->duration_s());
  }
  if (!known) made.recorded_s.reset();
  made.ranks = moved_ranks_;
  return made;
}

void Replay::end_network(long ticket) {
  const int number = by_ticket_.take(ticket, StreamState::kNone);
  const double late_s = this->late_s(meetings_[at(number)]);
  if (late_s > 0)
    late_.emplace(now_s_ + late_s, number);
  else
    end_meeting(number);
}

/// What a collective still takes when the network is done: the network knows nothing of the kernels beside it. The rank
/// that computed longest sets the pace; one that still computes is taken to go on.
double Replay::late_s(const Meeting& meeting) const {
  double late_s = 0;
  for (std::size_t i = 0; i < meeting.computed_s.size(); ++i) {
    const RankState& own = ranks_[at(meeting.places[i].rank)];
    const double slowdown = job_of(own).header->collective_slowdown;
    const double beside_s = own.computed_until_s(now_s_) - meeting.computed_s[i];
    late_s = std::max(late_s, beside_s * (own.computing > 0 ? slowdown - 1 : 1 - 1 / slowdown));
  }
  return late_s;
}

namespace {

/// A GPU's copies in its own memory are work of the GPU; those with its host cross a link, as those to other GPUs do.
CriticalPath::Part part_of(NetworkOp::Kind kind) {
  if (kind == NetworkOp::Kind::kLocal) return CriticalPath::kCompute;
  const bool host = kind == NetworkOp::Kind::kHostToDevice || kind == NetworkOp::Kind::kDeviceToHost;
  return host ? CriticalPath::kCopy : CriticalPath::kNetwork;
}

}  // namespace

void Replay::end_meeting(int number) {
  Meeting& meeting = meetings_[at(number)];
  const bool copy = meeting.kind != NetworkOp::Kind::kCollective && meeting.kind != NetworkOp::Kind::kMessage;
  const CriticalPath path =
      tracks_path_ ? meeting.path.with(part_of(meeting.kind), now_s_ - meeting.began_s) : CriticalPath{};
  std::optional<Exchange> exchange;
  if (!copy && !observers_.empty()) exchange = exchange_of(meeting);
  const bool half = meeting.places.size() == 1 && stream(meeting.places.front()).current->kind == TraceKind::kSend;
  meeting.running = false;
  meeting.moved = true;
  // None of its ranks goes on before all have ended: settle() comes later.
  for (std::size_t i = 0; i < meeting.places.size(); ++i) {
    if (i + 1 < meeting.places.size()) rank(meeting.places[i + 1].rank).prefetch(meeting.places[i + 1].stream);
    if (i + 2 < meeting.places.size()) rank(meeting.places[i + 2].rank).prefetch();
    end(meeting.places[i], path);
  }
  if (!half) give_back(number);  // else sent eagerly; the receive comes later
  if (!exchange) return;
  for (ReplayObserver* observer : observers_) observer->moved(*exchange);
}

}  // namespace linkcast::replay
