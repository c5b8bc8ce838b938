// What needs the network: an operation starts when all its ranks have come.
#include <algorithm>

#include "sim/plugin/collective.hpp"
#include "sim/replay/replay.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

NetworkOp::Kind copy_kind(const std::string& copy) {
  if (copy == "h2d") return NetworkOp::Kind::kHostToDevice;
  if (copy == "d2h") return NetworkOp::Kind::kDeviceToHost;
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
  if (turns_.size() <= at(rank.job)) turns_.resize(at(rank.job) + 1);
  std::vector<OpenTurns>& lanes = turns_[at(rank.job)];
  if (lanes.size() <= at(event.lane)) lanes.resize(at(event.lane) + 1);
  OpenTurns& open = lanes[at(event.lane)];
  while (open.first + static_cast<long>(open.meetings.size()) <= event.turn)
    open.meetings.push() = OpenTurns::kNobodyYet;
  int& number = open.meetings[at(event.turn - open.first)];
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
  OpenTurns& open = turns_[at(meeting.job)][at(meeting.lane)];
  open.meetings[at(meeting.turn - open.first)] = OpenTurns::kEnded;
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
    end(place, path_of(on));
    return;
  }
  meeting.places.push_back(place);
  if (meeting.running) return;
  if (tracks_path_) meeting.path = on.path;
  if (complete(meeting, own, event)) start_network(number);
}

/// By a copy engine of the rank's GPU.
void Replay::be_copy(Meeting& meeting, const RankState& own, const TraceEvent& event) const {
  meeting.op.op.clear();
  meeting.op.size_B = event.size_B;
  meeting.op.nvls = true;
  meeting.op.gpus.assign(1, own.gpu);
  meeting.op.kind = event.peer < 0 ? copy_kind(event.op) : NetworkOp::Kind::kPeer;
  if (event.peer >= 0) meeting.op.gpus.push_back(jobs_[at(own.job)].gpus[at(event.peer)]);
}

void Replay::join_collective(Meeting& meeting, const RankState& own, const FedEvent& event) {
  const ReplayJob& job = jobs_[at(own.job)];
  if (meeting.places.empty()) {
    if (known_ops_.find(event.op) == NameTable::kNone) {
      try {
        collectives().get(event.op);
      } catch (const InputError& error) {
        throw InputError(job.feed->name() + ": " + error.what());
      }
      known_ops_.add(event.op);
    }
    meeting.op.kind = NetworkOp::Kind::kCollective;
    meeting.op.op = event.op;
    meeting.op.size_B = event.size_B;
    meeting.op.nvls = job.nvls;
    meeting.op.gpus.clear();
    for (const int member : *event.members) meeting.op.gpus.push_back(job.gpus[at(member)]);
    return;
  }
  if (meeting.op.op == event.op && meeting.op.size_B == event.size_B) return;
  const RankState& other = ranks_[at(meeting.places.front().rank)];
  throw InputError(job.feed->name() + ": group '" + event.group + "': rank " + std::to_string(own.local) + " calls " +
                   event.op + " of " + to_text(Bytes{event.size_B}) + " where rank " + std::to_string(other.local) +
                   " calls " + meeting.op.op + " of " + to_text(Bytes{meeting.op.size_B}));
}

/// A receive says what there is room for: the message is as large as its send.
void Replay::join_message(Meeting& meeting, const RankState& own, const TraceEvent& event) const {
  const ReplayJob& job = jobs_[at(own.job)];
  const int peer = job.gpus[at(event.peer)];
  const bool sends = event.kind == TraceKind::kSend;
  NetworkOp& op = meeting.op;
  const double sent_B = sends ? event.size_B : op.size_B;
  const double room_B = sends ? op.size_B : event.size_B;
  if (!meeting.places.empty() && sent_B > room_B)
    throw InputError(job.feed->name() + ": rank " + std::to_string(sends ? own.local : event.peer) + " sends " +
                     to_text(Bytes{sent_B}) + " to rank " + std::to_string(sends ? event.peer : own.local) +
                     ", which has room for " + to_text(Bytes{room_B}));
  op.gpus.assign({sends ? own.gpu : peer, sends ? peer : own.gpu});
  op.kind = op.gpus[0] == op.gpus[1] ? NetworkOp::Kind::kLocal : NetworkOp::Kind::kMessage;
  op.op.clear();
  op.nvls = true;
  op.size_B = meeting.places.empty() ? event.size_B : sent_B;
}

bool Replay::complete(const Meeting& meeting, const RankState& own, const FedEvent& event) {
  if (event.kind == TraceKind::kCollective) return meeting.places.size() == event.members->size();
  if (event.kind == TraceKind::kCopy || meeting.places.size() == 2) return true;
  return event.kind == TraceKind::kSend && event.size_B <= own.header->eager_B;
}

void Replay::tell_meets(Place place) const {
  const StreamState& on = ranks_[at(place.rank)].streams[at(place.stream)];
  for (ReplayObserver* observer : observers_) observer->meets(place.rank, *on.current, now_s_);
}

void Replay::start_network(int number) {
  Meeting& meeting = meetings_[at(number)];
  meeting.running = true;
  meeting.began_s = now_s_;
  for (const Place place : meeting.places) tell_meets(place);
  const bool slows = rank(meeting.places.front().rank).header->collective_slowdown > 1;
  if (slows && meeting.op.kind == NetworkOp::Kind::kCollective)
    for (const Place place : meeting.places) meeting.computed_s.push_back(rank(place.rank).computed_until_s(now_s_));
  ++operations_;
  move_network();
  by_ticket_.emplace(network_.start(meeting.op), number);
}

/// Of what has just moved. Recorded is the time of the rank that waited least.
Exchange Replay::exchange_of(const Meeting& meeting) const {
  const bool message = meeting.op.kind == NetworkOp::Kind::kMessage;
  Exchange made{message ? "message" : meeting.op.op, {}, meeting.op.size_B, meeting.began_s, now_s_};
  made.ranks.reserve(meeting.places.size());
  bool known = true;
  for (const Place place : meeting.places) {
    made.ranks.push_back(place.rank);
    const auto& recorded = ranks_[at(place.rank)].streams[at(place.stream)].current->recorded;
    known = known && recorded;
    if (known) made.recorded_s = std::min(made.recorded_s.value_or(recorded->duration_s()), recorded->duration_s());
  }
  if (!known) made.recorded_s.reset();
  return made;
}

void Replay::end_network(long ticket) {
  const auto found = by_ticket_.find(ticket);
  const int number = found->second;
  by_ticket_.erase(found);
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
    const double slowdown = own.header->collective_slowdown;
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
  const bool copy = meeting.op.kind != NetworkOp::Kind::kCollective && meeting.op.kind != NetworkOp::Kind::kMessage;
  const CriticalPath path =
      tracks_path_ ? meeting.path.with(part_of(meeting.op.kind), now_s_ - meeting.began_s) : CriticalPath{};
  std::optional<Exchange> exchange;
  if (!copy && !observers_.empty()) exchange = exchange_of(meeting);
  const bool half = meeting.places.size() == 1 && stream(meeting.places.front()).current->kind == TraceKind::kSend;
  meeting.running = false;
  meeting.moved = true;
  // None of its ranks goes on before all have ended: settle() comes later.
  for (const Place place : meeting.places) end(place, path);
  if (!half) give_back(number);  // else sent eagerly; the receive comes later
  if (!exchange) return;
  for (ReplayObserver* observer : observers_) observer->moved(*exchange);
}

}  // namespace linkcast::replay
