// Time-independent traces of SimGrid's SMPI: one action a line, of MPI calls and of the flops between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

constexpr const char* kTiWorld = "world";

/// Work of one rank, as events. Blocking calls run one after the other on stream "0". A request has a stream of its own
/// until it is waited for, and starts after the blocking call before it.
class TiRank {
 public:
  /// @param flops  per second; 0: not said
  TiRank(int rank, int ranks, double flops, TraceSink& sink) : rank_(rank), ranks_(ranks), flops_(flops), sink_(sink) {}
  /// @param words  rank, name, parameters. @throws InputError  with the line
  void action(const std::vector<std::string>& words, const Lines& lines);

 private:
  struct Request {
    std::string key;  ///< who sends to whom with which tag, or that it is a collective
    std::int64_t id = 0;
    int stream = 0;
  };
  /// The parameters of an action, and where they stand.
  class Call;
  using Handler = void (TiRank::*)(const Call&);
  static const std::map<std::string, Handler>& handlers();

  void nothing(const Call& call);
  void init(const Call& call);
  void compute(const Call& call);
  void sleep(const Call& call);
  void message(const Call& call);
  void sendrecv(const Call& call);
  void wait(const Call& call);
  void wait_all(const Call& call);
  void barrier(const Call& call);
  void broadcast(const Call& call);
  void reduce(const Call& call);
  void all_reduce(const Call& call);
  void shared(const Call& call);
  void all_gather_v(const Call& call);
  void reduce_scatter(const Call& call);
  void gather_v(const Call& call);
  void scatter_v(const Call& call);
  void all_to_all_v(const Call& call);
  void scan(const Call& call);

  void put_compute(double time_s, const std::string& name, const std::vector<std::int64_t>& after = {});
  void put_flops(const Call& call, double flops);
  void put_collective(const Call& call, const std::string& op, double size_B);
  /// @param root  place of the parameter that names the root; the type stands behind it
  void put_rooted(const Call& call, const std::string& op, std::size_t root);
  /// Messages that move at the same time, and what comes next waits for all of them.
  void put_together(const std::string& tag, const std::map<int, double>& to, const std::map<int, double>& from);
  void put_message(TraceKind kind, int peer, double size_B, const std::string& tag, const std::string& key);
  std::int64_t put(TraceEvent event, bool is_request, const std::string& key);
  void wait_for(const std::vector<Request>& requests, const std::string& name);
  TraceEvent event(TraceKind kind, const std::string& name) const;

  int rank_, ranks_;
  double flops_;
  TraceSink& sink_;
  double default_element_B_ = 1;
  std::int64_t id_ = 0;
  std::int64_t last_blocking_ = 0;  ///< 0: none
  std::deque<Request> open_{};
  std::vector<int> free_streams_{};
  int streams_ = 0;
};

/// Bytes of an element by its number. source: SimGrid 3.32, src/smpi/mpi/smpi_datatype.cpp, ids of the predefined types
/// double, int, char, short, long, float, byte, long long, signed char, unsigned char, unsigned short, unsigned,
/// unsigned long, unsigned long long, long double
constexpr std::array<double, 15> kTiElement_B{8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16};

constexpr const char* kCollectiveRequest = "collective";
std::string key_of(std::int64_t from, std::int64_t to, std::int64_t tag) {
  return fmt::format("{}>{}#{}", from, to, tag);
}

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

/// One file of actions, read to its next action.
class TiFile {
 public:
  explicit TiFile(const std::string& path) : lines_(path) {}

  /// @returns  the words of the next action, or none at the end
  std::vector<std::string> next() {
    while (lines_.next()) {
      std::vector<std::string> words = trace_words(lines_.text());
      if (words.empty() || words[0].front() == '#') continue;
      const std::optional<std::int64_t> rank = trace_whole(words[0]);
      if (!rank || *rank < 0 || *rank >= kMostRanks)
        lines_.fail(shown(words[0]) + " is no rank: an action is a rank, its name, and what it takes");
      if (words.size() < 2) lines_.fail("an action is a rank, its name, and what it takes");
      rank_ = static_cast<int>(*rank);
      return words;
    }
    return {};
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  Lines lines_;
  int rank_ = 0;
};

/// One file whose first line is no action names the others, as smpirun -trace-ti writes it.
std::vector<std::string> named_files(const std::vector<std::string>& files) {
  if (files.size() != 1) return files;
  Lines list(files[0]);
  std::vector<std::string> names;
  while (list.next()) {
    const std::vector<std::string> words = trace_words(list.text());
    if (words.empty() || words[0].front() == '#') continue;
    if (names.empty() && trace_whole(words[0])) return files;
    if (words.size() > 1) list.fail("neither an action nor the name of a file with actions");
    const std::filesystem::path beside = std::filesystem::path(files[0]).parent_path() / words[0];
    names.push_back(std::filesystem::exists(beside) ? beside.string() : words[0]);
    if (!std::filesystem::exists(names.back())) list.fail("file " + shown(words[0]) + " is not there");
  }
  if (names.empty()) throw InputError(files[0] + ": holds no action");
  return names;
}

/// How many ranks there are, and which actions, which the header has to say before the first event.
struct Survey {
  int ranks = 0;
  std::set<std::string> actions;
};

Survey survey_of(const std::vector<std::string>& files) {
  Survey survey;
  std::set<int> seen;
  for (const std::string& name : files) {
    TiFile file(name);
    for (auto words = file.next(); !words.empty(); words = file.next()) {
      seen.insert(file.rank());
      survey.actions.insert(lower(words[1]));
    }
  }
  if (seen.empty()) throw InputError(files[0] + ": holds no action");
  survey.ranks = *seen.rbegin() + 1;
  if (static_cast<int>(seen.size()) != survey.ranks) {
    int missing = 0;
    while (seen.count(missing) > 0) ++missing;
    throw InputError(fmt::format("{}: no action of rank {}, but of rank {}: is a file missing?", files[0], missing,
                                 survey.ranks - 1));
  }
  return survey;
}

std::vector<std::string> notes_of(const Survey& survey, const TraceOptions& options, double eager_B) {
  const auto any = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (survey.actions.count(name) > 0) return true;
    return false;
  };
  std::vector<std::string> notes{"assumed: every collective is of all ranks; the format names no communicator",
                                 "sends of at most " + to_text(Bytes{eager_B}) + " wait for no receive" +
                                     (options.has("eager") ? "" : " (assumed)")};
  if (options.has("flops-per-second"))
    notes.push_back("a rank computes " + options.text("flops-per-second", "") + " flops per second");
  if (any({"barrier", "ibarrier"})) notes.emplace_back("assumed: a barrier is an all_reduce of 4 bytes");
  if (any({"allgatherv", "reducescatter"}))
    notes.emplace_back("assumed: parts of different size (allgatherv, reducescatter) take as long as equal ones");
  if (any({"scan", "exscan"})) notes.emplace_back("assumed: a scan is a message from each rank to the next, in turn");
  if (any({"waitany", "waitsome"}))
    notes.emplace_back("assumed: waitany and waitsome wait for nothing; the format does not say what they found");
  return notes;
}

class TiImporter final : public TraceImporter {
 public:
  [[nodiscard]] ReadingCost cost() const override {
    return {1e-7, 1.5};  // source: `limits_test.py --imports`; it is read line by line
  }
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {
        {"flops-per-second", "what one rank computes, e.g. 1e12; needed where the trace computes"},
        {"eager", "sends of at most this size wait for no receive, 65535 B unless said (SMPI detaches below 65536)"}};
  }

  void run(const std::vector<std::string>& given, const TraceOptions& options, TraceSink& sink) const override {
    constexpr double kDetached = 65535;  // source: SimGrid, smpi/send-is-detached-thresh is 65536 and not itself eager
    const double eager_B = options.bytes("eager", kDetached);
    const double flops = options.number("flops-per-second", 0);
    if (options.has("flops-per-second") && flops <= 0) throw InputError("option flops-per-second: must be above 0");
    const std::vector<std::string> files = named_files(given);
    const Survey survey = survey_of(files);
    TraceHeader header;
    header.name = trace_file_name(given[0]);
    header.ranks = survey.ranks;
    header.source = "SimGrid time-independent trace " + header.name;
    header.eager_B = eager_B;
    header.notes = notes_of(survey, options, eager_B);
    for (int rank = 0; rank < survey.ranks; ++rank) header.groups[kTiWorld].push_back(rank);
    sink.header(header);
    write(files, survey.ranks, flops, sink);
  }

 private:
  /// The files take turns, so that a reader has to keep little.
  static void write(const std::vector<std::string>& files, int ranks, double flops, TraceSink& sink) {
    std::vector<TiFile> open;
    for (const std::string& file : files) open.emplace_back(file);
    std::map<int, TiRank> writers;
    for (bool more = true; more;) {
      more = false;
      for (TiFile& file : open) {
        const std::vector<std::string> words = file.next();
        if (words.empty()) continue;
        more = true;
        writers.try_emplace(file.rank(), file.rank(), ranks, flops, sink).first->second.action(words, file.lines());
      }
    }
  }
};

const bool simgrid_ti_registered = trace_importers().add(
    {"simgrid-ti", "SimGrid time-independent traces: one file a rank, a list of them, or one file of all ranks",
     "F. Desprez et al., Improving the Accuracy and Efficiency of Time-Independent Trace Replay, PMBS 2012; SimGrid "
     "manual, Replaying MPI Traces"},
    [] { return std::make_unique<TiImporter>(); });

}  // namespace

}  // namespace linkcast
