// What needs the network: an operation starts when all its ranks have come.
#include <algorithm>

#include "sim/plugin/collective.hpp"
#include "sim/replay/replay.hpp"

namespace linkcast::replay {
namespace {

NetworkOp::Kind copy_kind(const std::string& copy) {
  if (copy == "h2d") return NetworkOp::Kind::kHostToDevice;
  if (copy == "d2h") return NetworkOp::Kind::kDeviceToHost;
  return NetworkOp::Kind::kLocal;
}

}  // namespace

/// A rank's event has reached the head of its stream.
void Replay::come(Place place) {
  const RankState& at = rank(place.rank);
  const Issued& issued = stream(place).current;
  const TraceEvent& event = issued.event;
  const MeetingKey key{issued.lane, issued.turn};
  Meeting& meeting = meetings_[key];
  if (event.kind == TraceKind::kCollective)
    join_collective(meeting, at, event);
  else if (event.kind == TraceKind::kCopy)
    meeting.op = copy_of(at, event);
  else
    join_message(meeting, at, event);
  if (meeting.moved || meeting.running) tell_meets(place);  // an eager message is there, or under way
  if (meeting.moved) {
    meetings_.erase(key);
    end(place, CriticalPath(issued.path));
    return;
  }
  meeting.places.push_back(place);
  if (meeting.running) return;
  meeting.path = issued.path;
  if (complete(meeting, at, event)) start_network(key, meeting);
}

/// By a copy engine of the rank's GPU.
NetworkOp Replay::copy_of(const RankState& at, const TraceEvent& event) const {
  if (event.peer < 0) return {copy_kind(event.op), "", {at.gpu}, event.size_B};
  const int peer = jobs_[static_cast<std::size_t>(at.job)].gpus[static_cast<std::size_t>(event.peer)];
  return {NetworkOp::Kind::kPeer, "", {at.gpu, peer}, event.size_B};
}

void Replay::join_collective(Meeting& meeting, const RankState& at, const TraceEvent& event) const {
  const ReplayJob& job = jobs_[static_cast<std::size_t>(at.job)];
  if (meeting.places.empty()) {
    try {
      collectives().get(event.op);
    } catch (const InputError& error) {
      throw InputError(job.feed->name() + ": " + error.what());
    }
    std::vector<int> gpus;
    for (const int member : job.feed->group(event.group)) gpus.push_back(job.gpus[static_cast<std::size_t>(member)]);
    meeting.op = {NetworkOp::Kind::kCollective, event.op, gpus, event.size_B, job.nvls};
    return;
  }
  if (meeting.op.op == event.op && meeting.op.size_B == event.size_B) return;
  const RankState& other = ranks_[static_cast<std::size_t>(meeting.places.front().rank)];
  throw InputError(job.feed->name() + ": group '" + event.group + "': rank " + std::to_string(at.local) + " calls " +
                   event.op + " of " + to_text(Bytes{event.size_B}) + " where rank " + std::to_string(other.local) +
                   " calls " + meeting.op.op + " of " + to_text(Bytes{meeting.op.size_B}));
}

/// A receive says what there is room for: the message is as large as its send.
void Replay::join_message(Meeting& meeting, const RankState& at, const TraceEvent& event) const {
  const ReplayJob& job = jobs_[static_cast<std::size_t>(at.job)];
  const int peer = job.gpus[static_cast<std::size_t>(event.peer)];
  const bool sends = event.kind == TraceKind::kSend;
  const double sent_B = sends ? event.size_B : meeting.op.size_B;
  const double room_B = sends ? meeting.op.size_B : event.size_B;
  if (!meeting.places.empty() && sent_B > room_B)
    throw InputError(job.feed->name() + ": rank " + std::to_string(sends ? at.local : event.peer) + " sends " +
                     to_text(Bytes{sent_B}) + " to rank " + std::to_string(sends ? event.peer : at.local) +
                     ", which has room for " + to_text(Bytes{room_B}));
  const std::vector<int> gpus = sends ? std::vector<int>{at.gpu, peer} : std::vector<int>{peer, at.gpu};
  meeting.op = {gpus[0] == gpus[1] ? NetworkOp::Kind::kLocal : NetworkOp::Kind::kMessage, "", gpus,
                meeting.places.empty() ? event.size_B : sent_B};
}

bool Replay::complete(const Meeting& meeting, const RankState& at, const TraceEvent& event) const {
  if (event.kind == TraceKind::kCollective)
    return meeting.places.size() == jobs_[static_cast<std::size_t>(at.job)].feed->group(event.group).size();
  if (event.kind == TraceKind::kCopy || meeting.places.size() == 2) return true;
  return event.kind == TraceKind::kSend && event.size_B <= header(at).eager_B;
}

void Replay::tell_meets(Place place) const {
  const StreamState& on = ranks_[static_cast<std::size_t>(place.rank)].streams[static_cast<std::size_t>(place.stream)];
  for (ReplayObserver* observer : observers_) observer->meets(place.rank, on.current.event, now_s_);
}

void Replay::start_network(const MeetingKey& key, Meeting& meeting) {
  meeting.running = true;
  meeting.began_s = now_s_;
  for (const Place place : meeting.places) tell_meets(place);
  const bool slows = header(rank(meeting.places.front().rank)).collective_slowdown > 1;
  if (slows && meeting.op.kind == NetworkOp::Kind::kCollective)
    for (const Place place : meeting.places) meeting.computed_s.push_back(rank(place.rank).computed_until_s(now_s_));
  ++operations_;
  by_ticket_.emplace(network_.start(meeting.op), key);
}

/// Of what has just moved. Recorded is the time of the rank that waited least.
Exchange Replay::exchange_of(const Meeting& meeting) const {
  const bool message = meeting.op.kind == NetworkOp::Kind::kMessage;
  Exchange made{message ? "message" : meeting.op.op, {}, meeting.op.size_B, meeting.began_s, now_s_};
  bool known = true;
  for (const Place place : meeting.places) {
    made.ranks.push_back(place.rank);
    const RankState& at = ranks_[static_cast<std::size_t>(place.rank)];
    const auto& recorded = at.streams[static_cast<std::size_t>(place.stream)].current.event.recorded;
    known = known && recorded;
    if (known) made.recorded_s = std::min(made.recorded_s.value_or(recorded->duration_s()), recorded->duration_s());
  }
  if (!known) made.recorded_s.reset();
  return made;
}

void Replay::end_network(long ticket) {
  const auto found = by_ticket_.find(ticket);
  const MeetingKey key = found->second;
  by_ticket_.erase(found);
  const double late_s = this->late_s(meetings_.at(key));
  if (late_s > 0)
    late_.emplace(now_s_ + late_s, key);
  else
    end_meeting(key);
}

/// What a collective still takes when the network is done: the network knows nothing of the kernels beside it. The rank
/// that computed longest sets the pace; one that still computes is taken to go on.
double Replay::late_s(const Meeting& meeting) const {
  double late_s = 0;
  for (std::size_t i = 0; i < meeting.computed_s.size(); ++i) {
    const RankState& at = ranks_[static_cast<std::size_t>(meeting.places[i].rank)];
    const double slowdown = header(at).collective_slowdown;
    const double beside_s = at.computed_until_s(now_s_) - meeting.computed_s[i];
    late_s = std::max(late_s, beside_s * (at.computing > 0 ? slowdown - 1 : 1 - 1 / slowdown));
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

void Replay::end_meeting(const MeetingKey key) {
  Meeting& meeting = meetings_.at(key);
  const std::vector<Place> places = meeting.places;
  const bool copy = meeting.op.kind != NetworkOp::Kind::kCollective && meeting.op.kind != NetworkOp::Kind::kMessage;
  const CriticalPath path = meeting.path.with(part_of(meeting.op.kind), now_s_ - meeting.began_s);
  std::optional<Exchange> exchange;
  if (!copy) exchange = exchange_of(meeting);
  const bool half = places.size() == 1 && stream(places.front()).current.event.kind == TraceKind::kSend;
  if (half) {  // sent eagerly; the receive comes later
    meeting.running = false;
    meeting.moved = true;
  } else {
    meetings_.erase(key);
  }
  for (const Place place : places) end(place, path);
  if (!exchange) return;
  for (ReplayObserver* observer : observers_) observer->moved(*exchange);
}

}  // namespace linkcast::replay
