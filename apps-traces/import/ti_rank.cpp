#include "apps-traces/import/ti_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "apps-traces/import/c10d_names.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

/// Bytes of an element by its number. source: SimGrid 3.32, src/smpi/mpi/smpi_datatype.cpp, ids of the predefined types
/// double, int, char, short, long, float, byte, long long, signed char, unsigned char, unsigned short, unsigned,
/// unsigned long, unsigned long long, long double
constexpr std::array<double, 15> kTiElement_B{8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16};

const char* const kCollectiveRequest = "collective";

std::string key_of(std::int64_t from, std::int64_t to, std::int64_t tag) {
  return fmt::format("{}>{}#{}", from, to, tag);
}

}  // namespace

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class TiRank::Call {
 public:
  Call(const std::vector<std::string>& words, const Lines& lines, std::string name)
      : words_(words), lines_(lines), name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_request() const { return name_.front() == 'i' && !name_.starts_with("init"); }
  /// Without the i of a request.
  [[nodiscard]] std::string base() const { return is_request() ? name_.substr(1) : name_; }
  [[nodiscard]] std::size_t count() const { return words_.size() - 2; }
  [[noreturn]] void fail(const std::string& what) const { lines_.fail(name_ + ": " + what); }
  void expect(std::size_t least, const std::string& what) const {
    if (count() < least) fail(fmt::format("takes {}, here are {} parameters", what, count()));
  }
  [[nodiscard]] double number(std::size_t index, const std::string& what) const {
    const std::optional<double> value = trace_number(words_[index + 2]);
    if (!value || *value < 0) fail(shown(words_[index + 2]) + " is not " + what + ": a number of at least 0");
    return *value;
  }
  [[nodiscard]] std::int64_t whole(std::size_t index, const std::string& what) const {
    const std::optional<std::int64_t> value = trace_whole(words_[index + 2]);
    if (!value) fail(shown(words_[index + 2]) + " is not " + what + ": a whole number");
    return *value;
  }
  [[nodiscard]] int rank(std::size_t index, int ranks) const {
    const std::int64_t value = whole(index, "a rank");
    if (value < 0 || value >= ranks)
      fail(fmt::format("rank {} is not one of 0 to {}{}", value, ranks - 1,
                       value < 0 ? "; a receive from any rank cannot be replayed" : ""));
    return static_cast<int>(value);
  }
  /// Bytes of an element of the type that stands there, if one does.
  [[nodiscard]] double element_B(std::size_t index, double otherwise) const {
    if (index >= count()) return otherwise;
    const std::int64_t type = whole(index, "a datatype");
    if (type < 0 || type >= static_cast<std::int64_t>(kTiElement_B.size()))
      fail(fmt::format("datatype {} is not known: 0 to {}", type, kTiElement_B.size() - 1));
    return kTiElement_B[at(type)];
  }
  [[nodiscard]] std::vector<double> counts(std::size_t index, int ranks) const {
    std::vector<double> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(number(index + static_cast<std::size_t>(rank), "a count"));
    return all;
  }

 private:
  const std::vector<std::string>& words_;
  const Lines& lines_;
  std::string name_;
};

const std::map<std::string, TiRank::Handler>& TiRank::handlers() {
  static const std::map<std::string, Handler> kAll{{"init", &TiRank::init},
                                                   {"finalize", &TiRank::nothing},
                                                   {"comm_size", &TiRank::nothing},
                                                   {"comm_split", &TiRank::nothing},
                                                   {"comm_dup", &TiRank::nothing},
                                                   {"location", &TiRank::nothing},
                                                   {"test", &TiRank::nothing},
                                                   {"testall", &TiRank::nothing},
                                                   {"testany", &TiRank::nothing},
                                                   {"testsome", &TiRank::nothing},
                                                   {"waitany", &TiRank::nothing},
                                                   {"waitsome", &TiRank::nothing},
                                                   {"compute", &TiRank::compute},
                                                   {"sleep", &TiRank::sleep},
                                                   {"send", &TiRank::message},
                                                   {"recv", &TiRank::message},
                                                   {"isend", &TiRank::message},
                                                   {"irecv", &TiRank::message},
                                                   {"sendrecv", &TiRank::sendrecv},
                                                   {"wait", &TiRank::wait},
                                                   {"waitall", &TiRank::wait_all},
                                                   {"barrier", &TiRank::barrier},
                                                   {"ibarrier", &TiRank::barrier},
                                                   {"bcast", &TiRank::broadcast},
                                                   {"ibcast", &TiRank::broadcast},
                                                   {"reduce", &TiRank::reduce},
                                                   {"ireduce", &TiRank::reduce},
                                                   {"allreduce", &TiRank::all_reduce},
                                                   {"iallreduce", &TiRank::all_reduce},
                                                   {"alltoall", &TiRank::shared},
                                                   {"ialltoall", &TiRank::shared},
                                                   {"allgather", &TiRank::shared},
                                                   {"iallgather", &TiRank::shared},
                                                   {"gather", &TiRank::shared},
                                                   {"igather", &TiRank::shared},
                                                   {"scatter", &TiRank::shared},
                                                   {"iscatter", &TiRank::shared},
                                                   {"allgatherv", &TiRank::all_gather_v},
                                                   {"iallgatherv", &TiRank::all_gather_v},
                                                   {"reducescatter", &TiRank::reduce_scatter},
                                                   {"ireducescatter", &TiRank::reduce_scatter},
                                                   {"gatherv", &TiRank::gather_v},
                                                   {"scatterv", &TiRank::scatter_v},
                                                   {"alltoallv", &TiRank::all_to_all_v},
                                                   {"scan", &TiRank::scan},
                                                   {"exscan", &TiRank::scan}};
  return kAll;
}

void TiRank::action(const std::vector<std::string>& words, const Lines& lines) {
  const Call call(words, lines, lower(words[1]));
  const auto handler = handlers().find(call.name());
  if (handler == handlers().end()) lines.fail("action " + shown(words[1]) + " is not known to this importer");
  (this->*handler->second)(call);
}

void TiRank::nothing(const Call&) {}

/// With a parameter it says that counts without a type are of doubles.
void TiRank::init(const Call& call) { default_element_B_ = call.count() > 0 ? kTiElement_B[0] : 1; }

void TiRank::compute(const Call& call) {
  call.expect(1, "flops");
  put_flops(call, call.number(0, "flops"));
}

void TiRank::put_flops(const Call& call, double flops) {
  if (flops == 0) return;
  if (flops_ == 0) call.fail("needs option flops-per-second=..., what one rank computes");
  put_compute(flops / flops_, call.name());
}

void TiRank::sleep(const Call& call) {
  call.expect(1, "seconds");
  put_compute(call.number(0, "a time"), call.name());
}

void TiRank::message(const Call& call) {
  call.expect(3, "peer, tag and count");
  const int peer = call.rank(0, ranks_);
  const std::int64_t tag = call.whole(1, "a tag");
  const double size_B = call.number(2, "a count") * call.element_B(3, default_element_B_);
  const bool sends = kind_of_call(call.base()) == TraceKind::kSend;
  if (!sends && tag < 0) call.fail("a receive of any tag cannot be replayed");
  const std::string key = sends ? key_of(rank_, peer, tag) : key_of(peer, rank_, tag);
  put_message(sends ? TraceKind::kSend : TraceKind::kRecv, peer, size_B, std::to_string(tag),
              call.is_request() ? key : "");
}

void TiRank::sendrecv(const Call& call) {
  call.expect(4, "count, receiver, count and sender");
  const double sent_B = call.number(0, "a count") * call.element_B(4, default_element_B_);
  const double received_B = call.number(2, "a count") * call.element_B(5, default_element_B_);
  put_together("sendrecv", {{call.rank(1, ranks_), sent_B}}, {{call.rank(3, ranks_), received_B}});
}

void TiRank::wait(const Call& call) {
  call.expect(3, "sender, receiver and tag");
  const std::int64_t tag = call.whole(2, "a tag");
  // SMPI's own messages of a collective have tags below 0: the request is then the collective's.
  const std::string key = tag < 0 ? kCollectiveRequest : key_of(call.whole(0, "a rank"), call.whole(1, "a rank"), tag);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Request& r) { return r.key == key; });
  if (found == open_.end()) return;  // waited for already: MPI_REQUEST_NULL
  const Request request = *found;
  open_.erase(found);
  wait_for({request}, call.name());
}

void TiRank::wait_all(const Call& call) {
  wait_for({open_.begin(), open_.end()}, call.name());
  open_.clear();
}

void TiRank::barrier(const Call& call) { put_collective(call, "all_reduce", 4); }

void TiRank::put_rooted(const Call& call, const std::string& op, std::size_t root) {
  if (call.count() > root) static_cast<void>(call.rank(root, ranks_));
  put_collective(call, op, call.number(0, "a count") * call.element_B(root + 1, default_element_B_));
}

void TiRank::broadcast(const Call& call) {
  call.expect(1, "count");
  put_rooted(call, "broadcast", 1);
}

void TiRank::reduce(const Call& call) {
  call.expect(2, "count and flops");
  put_rooted(call, "reduce", 2);
  put_flops(call, call.number(1, "flops"));
}

void TiRank::all_reduce(const Call& call) {
  call.expect(2, "count and flops");
  put_collective(call, "all_reduce", call.number(0, "a count") * call.element_B(2, default_element_B_));
  put_flops(call, call.number(1, "flops"));
}

/// Counts are those of one rank's part.
void TiRank::shared(const Call& call) {
  call.expect(2, "the counts sent and received");
  struct Shared {
    const char* op;
    bool has_root;
    std::size_t part;  ///< which count comes first: a root's own count of the other side may be 0
  };
  static const std::map<std::string, Shared> kShared{{"alltoall", {"alltoall", false, 0}},
                                                     {"allgather", {"all_gather", false, 0}},
                                                     {"gather", {"gather", true, 0}},
                                                     {"scatter", {"scatter", true, 1}}};
  const auto& [op, has_root, part] = kShared.at(call.base());
  if (has_root && call.count() > 2) static_cast<void>(call.rank(2, ranks_));
  const double element_B = call.element_B(has_root ? 3 : 2, default_element_B_);
  const double count = std::max(call.number(part, "a count"), call.number(1 - part, "a count"));
  put_collective(call, op, count * element_B * ranks_);
}

void TiRank::all_gather_v(const Call& call) {
  const auto n = static_cast<std::size_t>(ranks_);
  call.expect(1 + n, "the count sent and one count of each rank");
  double all = 0;
  for (const double count : call.counts(1, ranks_)) all += count;
  put_collective(call, "all_gather", all * call.element_B(1 + n, default_element_B_));
}

void TiRank::reduce_scatter(const Call& call) {
  const auto n = static_cast<std::size_t>(ranks_);
  call.expect(n + 1, "one count of each rank and flops");
  double all = 0;
  for (const double count : call.counts(0, ranks_)) all += count;
  put_collective(call, "reduce_scatter", all * call.element_B(n + 1, default_element_B_));
  put_flops(call, call.number(n, "flops"));
}

void TiRank::gather_v(const Call& call) {
  const auto n = static_cast<std::size_t>(ranks_);
  call.expect(2 + n, "the count sent, one count of each rank and the root");
  const int root = call.rank(1 + n, ranks_);
  const double element_B = call.element_B(2 + n, default_element_B_);
  const std::vector<double> counts = call.counts(1, ranks_);
  std::map<int, double> to, from;
  if (rank_ != root) to[root] = call.number(0, "a count") * element_B;
  for (int rank = 0; rank_ == root && rank < ranks_; ++rank)
    if (rank != root) from[rank] = counts[at(rank)] * element_B;
  put_together("gatherv", to, from);
}

void TiRank::scatter_v(const Call& call) {
  const auto n = static_cast<std::size_t>(ranks_);
  call.expect(2 + n, "one count of each rank, the count received and the root");
  const int root = call.rank(1 + n, ranks_);
  const double element_B = call.element_B(2 + n, default_element_B_);
  const std::vector<double> counts = call.counts(0, ranks_);
  std::map<int, double> to, from;
  if (rank_ != root) from[root] = call.number(n, "a count") * element_B;
  for (int rank = 0; rank_ == root && rank < ranks_; ++rank)
    if (rank != root) to[rank] = counts[at(rank)] * element_B;
  put_together("scatterv", to, from);
}

void TiRank::all_to_all_v(const Call& call) {
  const auto n = static_cast<std::size_t>(ranks_);
  call.expect(2 + 2 * n, "the size and the counts sent, the size and the counts received");
  const std::vector<double> sent = call.counts(1, ranks_);
  const std::vector<double> received = call.counts(2 + n, ranks_);
  const double sent_B = call.element_B(2 + 2 * n, default_element_B_);
  const double received_B = call.element_B(3 + 2 * n, default_element_B_);
  std::map<int, double> to, from;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    to[rank] = sent[at(rank)] * sent_B;
    from[rank] = received[at(rank)] * received_B;
  }
  put_together("alltoallv", to, from);
}

void TiRank::scan(const Call& call) {
  call.expect(2, "count and flops");
  const double size_B = call.number(0, "a count") * call.element_B(2, default_element_B_);
  if (rank_ > 0) put_message(TraceKind::kRecv, rank_ - 1, size_B, call.name(), "");
  put_flops(call, call.number(1, "flops"));
  if (rank_ + 1 < ranks_) put_message(TraceKind::kSend, rank_ + 1, size_B, call.name(), "");
}

TraceEvent TiRank::event(TraceKind kind, const std::string& name) const {
  TraceEvent event;
  event.rank = rank_;
  event.kind = kind;
  event.name = name;
  return event;
}

void TiRank::put_compute(double time_s, const std::string& name, const std::vector<std::int64_t>& after) {
  TraceEvent part = event(TraceKind::kCompute, name);
  part.time_s = time_s;
  part.after = after;
  put(part, false, "");
}

void TiRank::put_collective(const Call& call, const std::string& op, double size_B) {
  TraceEvent all = event(TraceKind::kCollective, call.name());
  all.op = op;
  all.group = kTiWorld;
  all.size_B = size_B;
  put(all, call.is_request(), kCollectiveRequest);
}

void TiRank::put_message(TraceKind kind, int peer, double size_B, const std::string& tag, const std::string& key) {
  TraceEvent part = event(kind, "");
  part.peer = peer;
  part.size_B = size_B;
  part.tag = tag;
  put(part, !key.empty(), key);
}

void TiRank::put_together(const std::string& tag, const std::map<int, double>& to, const std::map<int, double>& from) {
  std::vector<Request> mine;
  const auto add = [&](TraceKind kind, const std::map<int, double>& peers) {
    for (const auto& [peer, size_B] : peers) {
      if (size_B == 0) continue;
      put_message(kind, peer, size_B, tag, tag);
      mine.push_back(open_.back());
      open_.pop_back();
    }
  };
  add(TraceKind::kSend, to);
  add(TraceKind::kRecv, from);
  wait_for(mine, tag);
}

std::int64_t TiRank::put(TraceEvent event, bool is_request, const std::string& key) {
  event.id = ++id_;
  if (is_request) {
    Request request{key, id_, streams_};
    if (free_streams_.empty()) {
      ++streams_;
    } else {
      request.stream = free_streams_.back();
      free_streams_.pop_back();
    }
    event.stream = fmt::format("request {}", request.stream);
    if (last_blocking_ > 0) event.after = {last_blocking_};
    open_.push_back(std::move(request));
  } else {
    last_blocking_ = id_;
  }
  sink_.event(event);
  return id_;
}

void TiRank::wait_for(const std::vector<Request>& requests, const std::string& name) {
  if (requests.empty()) return;
  std::vector<std::int64_t> ids;
  for (const Request& request : requests) {
    ids.push_back(request.id);
    free_streams_.push_back(request.stream);
  }
  put_compute(0, name, ids);
}

}  // namespace linkcast
