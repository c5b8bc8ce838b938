// The debug log of NCCL (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,COLL): every call with its communicator and stream.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {
namespace {

// Communicators in the debug log of NCCL: which process and GPU is which rank of which.

/// A line that NCCL printed: "stamp host:pid:tid [gpu] NCCL INFO message".
struct NcclLine {
  std::string stamp;    ///< empty: none
  std::string process;  ///< host:pid
  int gpu = 0;
  std::vector<std::string> words;  ///< of the message
  /// The word behind `key`, or "".
  [[nodiscard]] std::string behind(const std::string& key) const;
  [[nodiscard]] bool says(const std::string& first, const std::string& second) const;
};

/// Takes lines apart that several processes wrote into one, and the prefixes of launchers off.
class NcclSplitter {
 public:
  /// The messages of NCCL in a line, in their order. To be asked line by line from the beginning of a file.
  std::vector<NcclLine> lines(const std::string& text);

 private:
  std::set<std::string> hosts_;  ///< that lines began with so far: where another message begins behind one shows
};

struct NcclComm {
  std::string name;         ///< of the trace's group
  std::vector<int> owners;  ///< by rank of the communicator; -1: not seen
  std::vector<int> ranks;   ///< of the trace, by rank of the communicator
};

/// Communicators of all files. Take every line once by add() in the order of the files, then finish();
/// then every line again by at().
class NcclComms {
 public:
  void add(const NcclLine& line, const Lines& lines);
  /// @throws InputError  ranks of which there is no log
  void finish();

  [[nodiscard]] int ranks() const { return static_cast<int>(rank_of_owner_.size()); }
  [[nodiscard]] const std::vector<NcclComm>& all() const { return comms_; }
  /// The line may set a communicator up, or end it.
  void at(const NcclLine& line, const Lines& lines);
  struct Member {
    const NcclComm* comm = nullptr;
    int rank = 0;  ///< of the trace
  };
  /// @param pointer  as printed. @throws InputError  not set up in what was read
  [[nodiscard]] Member member(const NcclLine& line, const std::string& pointer, const Lines& lines) const;

 private:
  struct Place {
    std::size_t comm = 0;
    int rank = 0;  ///< of the communicator
  };
  using Pointer = std::pair<std::string, std::string>;  ///< process, as printed

  std::string identity(const NcclLine& line, int ranks, int rank);

  std::vector<NcclComm> comms_;
  std::map<std::string, std::size_t> by_identity_;
  std::map<std::string, int> owners_;  ///< process and GPU
  std::map<std::pair<int, int>, int> unnamed_;
  std::map<std::pair<std::string, std::pair<std::string, long>>, Place>
      by_line_;  ///< by process and comm, file and line
  std::map<Pointer, Place> live_;
  std::map<Pointer, std::string> identities_;
  std::vector<int> rank_of_owner_;
  long members_ = 0;  ///< of all communicators
};

constexpr std::string_view kMark = "NCCL INFO ";

int whole(const NcclLine& line, const std::string& key, int least, int most, const Lines& lines) {
  const std::string text = line.behind(key);
  const std::optional<std::int64_t> value = trace_whole(text);
  if (!value || *value < least || *value > most)
    lines.fail(fmt::format("{} {} is not a whole number from {} to {}", key, shown(text), least, most));
  return static_cast<int>(*value);
}

bool sets_up(const NcclLine& line) {
  return !line.behind("comm").empty() && !line.behind("rank").empty() && !line.behind("nranks").empty() &&
         (line.says("Init", "START") || line.says("Init", "COMPLETE"));
}

bool ends(const NcclLine& line) { return line.says("Destroy", "COMPLETE") || line.says("Abort", "COMPLETE"); }

std::string NcclLine::behind(const std::string& key) const {
  const auto found = std::find(words.begin(), words.end(), key);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

bool NcclLine::says(const std::string& first, const std::string& second) const {
  const auto found = std::find(words.begin(), words.end(), first);
  return found != words.end() && found + 1 != words.end() && *(found + 1) == second;
}

/// @returns  nothing for a line of something else
std::optional<NcclLine> nccl_line(const std::string& text) {
  const std::size_t mark = text.find(kMark);
  if (mark == std::string::npos) return std::nullopt;
  const std::size_t gpu = text.rfind('[', mark);
  if (gpu == std::string::npos || mark < 2 || text.compare(mark - 2, 2, "] ") != 0) return std::nullopt;
  NcclLine line;
  const std::optional<std::int64_t> number = trace_whole(std::string_view(text).substr(gpu + 1, mark - gpu - 3));
  std::vector<std::string> before = trace_words(std::string_view(text).substr(0, gpu));
  if (!number || *number < 0 || *number > kMostRanks || before.empty()) return std::nullopt;
  line.gpu = static_cast<int>(*number);
  const std::size_t thread = before.back().rfind(':');
  if (thread == std::string::npos || before.back().find(':') == thread) return std::nullopt;
  line.process = before.back().substr(0, thread);
  before.pop_back();
  for (const std::string& word : before) line.stamp += (line.stamp.empty() ? "" : " ") + word;
  line.words = trace_words(std::string_view(text).substr(mark + kMark.size()));
  return line;
}

std::vector<NcclLine> NcclSplitter::lines(const std::string& text) {
  static const Regex tag(R"(\s*(?:\[\d+,\d+\]<\w+>: ?|\d{1,6}: )(.*))");  // mpirun --tag-output, srun -l
  static const Regex begin(R"(([A-Za-z0-9._-]+:\d+):\d+ \[\d+\] NCCL (?:INFO|WARN) )");
  std::vector<NcclLine> found;
  if (text.find(kMark) == std::string::npos) return found;
  const Match tagged = tag.whole(text);
  std::string rest = tagged ? tagged[1] : text;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t mark = rest.find("] NCCL ");
    const std::size_t behind = mark == std::string::npos ? rest.size() : mark + 7;
    const Match next = begin.find(std::string_view(rest).substr(behind));
    std::size_t cut = rest.size();
    if (next) {
      cut = rest.find(next[0], behind);
      const std::string host = next[1].substr(0, next[1].find(':'));
      std::size_t longest = 0;  // what is before it in the name is the end of the other message
      for (const std::string& known : hosts_)
        if (host.ends_with(known)) longest = std::max(longest, known.size());
      if (longest > 0) cut += host.size() - longest;
    }
    if (auto line = nccl_line(rest.substr(0, cut))) {
      if (first) hosts_.insert(line->process.substr(0, line->process.find(':')));
      found.push_back(std::move(*line));
    }
    rest = rest.substr(cut);
  }
  return found;
}

/// Who share it share a communicator: the id that NCCL prints, of a split its parent, count and colour; older versions
/// print none, where the n-th of a size that each rank joins is taken for the same.
std::string NcclComms::identity(const NcclLine& line, int ranks, int rank) {
  const std::string id = line.behind("commId");
  if (!id.empty()) return id;
  const std::string parent = line.behind("parent");
  const auto known = identities_.find({line.process, parent});
  if (known != identities_.end())
    return known->second + " split " + line.behind("splitCount") + " color " + line.behind("color");
  return fmt::format("of {} number {}", ranks, unnamed_[{ranks, rank}]++);
}

void NcclComms::add(const NcclLine& line, const Lines& lines) {
  const Pointer pointer{line.process, line.behind("comm")};
  if (ends(line)) live_.erase(pointer);
  if (!sets_up(line)) return;
  const int ranks = whole(line, "nranks", 1, kMostRanks, lines);
  const int rank = whole(line, "rank", 0, ranks - 1, lines);
  if (live_.count(pointer) > 0) return;  // START and COMPLETE speak of one communicator
  const std::string id = identity(line, ranks, rank);
  const auto [found, added] = by_identity_.emplace(id, comms_.size());
  constexpr long kMostMembers = 10'000'000;  // of all communicators together; a job has far fewer. source: ours
  if (added && (members_ += ranks) > kMostMembers)
    lines.fail(fmt::format("communicators of more than {} ranks together", kMostMembers));
  if (added) comms_.push_back({"", std::vector<int>(static_cast<std::size_t>(ranks), -1), {}});
  NcclComm& comm = comms_[found->second];
  if (static_cast<int>(comm.owners.size()) != ranks)
    lines.fail(fmt::format("the communicator has {} ranks elsewhere, here {}", comm.owners.size(), ranks));
  const int gpu = line.behind("cudaDev").empty() ? line.gpu : whole(line, "cudaDev", 0, kMostRanks, lines);
  const int owner = owners_.emplace(fmt::format("{} {}", line.process, gpu), owners_.size()).first->second;
  int& member = comm.owners[linkcast::at(rank)];
  if (member >= 0 && member != owner) lines.fail(fmt::format("rank {} of it is another process already", rank));
  if (member < 0 && std::find(comm.owners.begin(), comm.owners.end(), owner) != comm.owners.end())
    lines.fail(fmt::format("GPU {} of this process is another rank of it already", gpu));
  member = owner;
  identities_[pointer] = id;
  live_[pointer] =
      by_line_[{line.process + " " + line.behind("comm"), {lines.path(), lines.number()}}] = {found->second, rank};
}

void NcclComms::finish() {
  live_.clear();
  std::vector<int> by_owner(owners_.size());
  std::iota(by_owner.begin(), by_owner.end(), 0);
  int number = 0;
  const NcclComm* world = nullptr;
  for (NcclComm& comm : comms_) {
    const auto missing = std::find(comm.owners.begin(), comm.owners.end(), -1);
    if (missing != comm.owners.end())
      throw InputError(
          fmt::format("a communicator has {} ranks, but there is no log of rank {} of it: give the logs of all ranks",
                      comm.owners.size(), missing - comm.owners.begin()));
    const bool all = comm.owners.size() == owners_.size();
    comm.name = all && world == nullptr ? "world" : fmt::format("comm {}", ++number);
    if (!all || world != nullptr) continue;
    world = &comm;
    for (std::size_t rank = 0; rank < comm.owners.size(); ++rank)
      by_owner[linkcast::at(comm.owners[rank])] = static_cast<int>(rank);
  }
  rank_of_owner_ = by_owner;
  for (NcclComm& comm : comms_)
    for (const int owner : comm.owners) comm.ranks.push_back(by_owner[linkcast::at(owner)]);
}

void NcclComms::at(const NcclLine& line, const Lines& lines) {
  const auto found = by_line_.find({line.process + " " + line.behind("comm"), {lines.path(), lines.number()}});
  if (found != by_line_.end())
    live_[{line.process, line.behind("comm")}] = found->second;
  else if (ends(line))
    live_.erase({line.process, line.behind("comm")});
}

NcclComms::Member NcclComms::member(const NcclLine& line, const std::string& pointer, const Lines& lines) const {
  const auto found = live_.find({line.process, pointer});
  if (found == live_.end())
    lines.fail("communicator " + shown(pointer) +
               " was not set up in the log: it needs NCCL_DEBUG=INFO and "
               "NCCL_DEBUG_SUBSYS=INIT,COLL from the start");
  const NcclComm& comm = comms_[found->second.comm];
  return {&comm, comm.ranks[linkcast::at(found->second.rank)]};
}

/// Bytes of an element by ncclDataType_t. source: NVIDIA/nccl src/nccl.h.in: int8, uint8, int32, uint32, int64, uint64,
/// float16, float32, float64, bfloat16, float8e4m3, float8e5m2
constexpr std::array<double, 12> kElement_B{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

struct Operation {
  const char* op;
  bool per_rank;  ///< the count is that of one rank's part
};

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> kAll{{"AllReduce:", {"all_reduce", false}},
                                                     {"Broadcast:", {"broadcast", false}},
                                                     {"Reduce:", {"reduce", false}},
                                                     {"AllGather:", {"all_gather", true}},
                                                     {"ReduceScatter:", {"reduce_scatter", true}},
                                                     {"AlltoAll:", {"alltoall", true}},
                                                     {"Gather:", {"gather", true}},
                                                     {"Scatter:", {"scatter", true}},
                                                     {"Send:", {"send", false}},
                                                     {"Recv:", {"recv", false}}};
  return kAll;
}

/// One call of one rank.
struct Call {
  NcclComms::Member member;
  TraceKind kind = TraceKind::kCollective;
  std::string op;
  double size_B = 0;
  int peer = -1;  ///< message: of the trace
  std::string stream;
  std::optional<double> stamp_s{};
};

/// Seconds of "2026-11-21 13:53:09.25" and the like, from some day on.
std::optional<double> seconds_of(const std::string& stamp) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  const std::size_t from = stamp.find_first_of("0123456789");
  if (from == std::string::npos || std::sscanf(stamp.c_str() + from, "%4d-%2d-%2d%*1[ T]%2d:%2d:%9lf", &year, &month,
                                               &day, &hour, &minute, &second) != 6)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
  return ((static_cast<double>(days) * 24 + hour) * 60 + minute) * 60 + second;
}

double whole(const NcclLine& line, const std::string& key, double most, const Lines& lines) {
  const std::optional<std::int64_t> value = trace_whole(line.behind(key));
  if (!value || *value < 0 || static_cast<double>(*value) > most)
    lines.fail(fmt::format("{} {} is not a whole number of 0 to {}", key, shown(line.behind(key)),
                           static_cast<std::int64_t>(most)));
  return static_cast<double>(*value);
}

/// One file, read to its next call.
class Log {
 public:
  explicit Log(const std::string& path) : lines_(path) {}

  std::optional<Call> next(NcclComms& comms) {
    for (;;) {
      for (; at_ < split_.size(); ++at_) {
        const NcclLine& line = split_[at_];
        if (line.words.empty()) continue;
        comms.at(line, lines_);
        if (line.words.size() < 2 || line.words[1] != "opCount") continue;
        const auto operation = operations().find(line.words[0]);
        if (operation == operations().end())
          lines_.fail("call " + shown(line.words[0]) + " is not known to this importer");
        ++at_;
        return call(line, operation->second, comms);
      }
      if (!lines_.next()) return std::nullopt;
      split_ = splitter_.lines(lines_.text());
      at_ = 0;
    }
  }

 private:
  Call call(const NcclLine& line, const Operation& operation, const NcclComms& comms) const {
    Call call;
    call.member = comms.member(line, line.behind("comm"), lines_);
    call.op = operation.op;
    call.kind = kind_of_call(call.op);
    const std::vector<int>& ranks = call.member.comm->ranks;
    if (line.words.back() == "stream" || line.behind("stream").empty()) lines_.fail("the stream is missing");
    call.stream = line.behind("stream");
    constexpr double kMostCount = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact
    const double count = whole(line, "count", kMostCount, lines_);
    const auto type = static_cast<std::size_t>(whole(line, "datatype", kElement_B.size() - 1.0, lines_));
    call.size_B = count * kElement_B[type] * (operation.per_rank ? static_cast<double>(ranks.size()) : 1);
    const auto root = static_cast<std::size_t>(whole(line, "root", static_cast<double>(ranks.size()) - 1, lines_));
    if (call.kind != TraceKind::kCollective) call.peer = ranks[root];
    call.stamp_s = seconds_of(line.stamp);
    return call;
  }

  Lines lines_;
  NcclSplitter splitter_;
  std::vector<NcclLine> split_{};  ///< messages of the line
  std::size_t at_ = 0;
};

/// The calls of one rank as events.
class RankCalls {
 public:
  RankCalls(int rank, double gap_s, bool stamps, TraceSink& sink)
      : rank_(rank), gap_s_(gap_s), stamps_(stamps), sink_(sink) {}

  void call(const Call& call) {
    const std::string stream = stream_name(call.stream);
    const bool message = call.peer >= 0;
    const auto ends = std::make_pair(call.kind, call.peer);
    const bool joins = message && !together_.empty() && together_stream_ == stream && together_.count(ends) == 0;
    if (!joins) {
      together_.clear();
      if (gap_s_ > 0) put_gap(stream);
    }
    TraceEvent event = base(call, stream);
    std::vector<std::int64_t>& before = before_[stream];
    if (joins) {  // beside the ones before it, on a stream of its own
      event.stream = fmt::format("{} message {}", stream, together_.size());
      event.after = together_before_;
      before.push_back(*event.id);
    } else {
      event.after = std::exchange(before, {});
      together_before_ = event.after;
      if (last_.count(stream) > 0) together_before_.push_back(last_[stream]);
      last_[stream] = *event.id;
    }
    if (message) {
      together_.insert(ends);
      together_stream_ = stream;
    }
    sink_.event(event);
  }

 private:
  std::string stream_name(const std::string& printed) {
    if (printed == "(nil)") return "0";
    return streams_.emplace(printed, fmt::format("stream {}", streams_.size() + 1)).first->second;
  }

  TraceEvent base(const Call& call, const std::string& stream) {
    TraceEvent event;
    event.rank = rank_;
    event.id = ++id_;
    event.stream = stream;
    event.size_B = call.size_B;
    if (stamps_ && call.stamp_s) {
      if (stamp_s_ && *call.stamp_s > *stamp_s_) event.host_s = *call.stamp_s - *stamp_s_;
      stamp_s_ = call.stamp_s;
    }
    event.kind = call.kind;
    if (call.kind != TraceKind::kCollective) {
      event.peer = call.peer;
      event.tag = call.member.comm->name;
    } else {
      event.op = call.op;
      event.group = call.member.comm->name;
    }
    return event;
  }

  void put_gap(const std::string& stream) {
    TraceEvent gap;
    gap.rank = rank_;
    gap.id = ++id_;
    gap.stream = stream;
    gap.time_s = gap_s_;
    gap.after = std::exchange(before_[stream], {});
    last_[stream] = id_;
    sink_.event(gap);
  }

  int rank_;
  double gap_s_;
  bool stamps_;
  TraceSink& sink_;
  std::int64_t id_ = 0;
  std::optional<double> stamp_s_{};
  std::map<std::string, std::string> streams_{};
  std::map<std::string, std::int64_t> last_{};                 ///< by stream: the last event on it
  std::map<std::string, std::vector<std::int64_t>> before_{};  ///< by stream: what the next one has to wait for besides
  std::set<std::pair<TraceKind, int>> together_{};             ///< messages taken for one group: send or not, peer
  std::string together_stream_{};
  std::vector<std::int64_t> together_before_{};  ///< what each of them waits for
};

class NcclLogImporter final : public TraceImporter {
 public:
  [[nodiscard]] ReadingCost cost() const override {
    return {3e-8, 1.5};  // source: `limits_test.py --imports`; it is read line by line
  }
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"gap", "compute time before each call, e.g. 2ms; 0 unless said: the log has none"},
            {"host", "stamps: CPU time between calls from NCCL_DEBUG_TIMESTAMP_LEVELS; none unless said"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const double gap_s = options.seconds("gap", 0);
    const bool stamps = options.picks("host", "none", "stamps");
    NcclComms comms;
    survey(files, comms, stamps);
    TraceHeader header;
    header.name = trace_file_name(files[0]);
    header.ranks = comms.ranks();
    header.source = "NCCL debug log " + header.name;
    header.notes = {
        gap_s > 0 ? "compute before each call as said: " + to_text(Seconds{gap_s}) : "no compute: the log has none",
        stamps ? "CPU time between calls from time stamps, waiting included" : "no CPU time between calls",
        "assumed: sends and receives in a row on one stream, to different peers, are one group and run at once",
        "assumed: calls on different streams wait for each other only as ranks meet; collectives of one rank left out"};
    for (const NcclComm& comm : comms.all())
      if (comm.ranks.size() > 1) header.groups[comm.name] = comm.ranks;
    sink.header(header);
    write(files, comms, gap_s, stamps, sink);
  }

 private:
  static void survey(const std::vector<std::string>& files, NcclComms& comms, bool stamps) {
    for (const std::string& file : files) {
      Lines lines(file);
      bool any = false;
      NcclSplitter splitter;
      while (lines.next())
        for (const NcclLine& line : splitter.lines(lines.text())) {
          any = true;
          comms.add(line, lines);
          const bool call = line.words.size() > 1 && line.words[1] == "opCount";
          if (stamps && call && !seconds_of(line.stamp)) lines.fail("host=stamps: the line has no time stamp");
        }
      if (!any) throw InputError(file + ": no line of NCCL INFO: is it a log of NCCL_DEBUG=INFO?");
    }
    comms.finish();
    if (comms.ranks() == 0)
      throw InputError(files[0] + ": no communicator is set up in it: NCCL_DEBUG_SUBSYS=INIT,COLL prints them");
  }

  /// The files take turns, so that a reader has to keep little.
  static void write(const std::vector<std::string>& files, NcclComms& comms, double gap_s, bool stamps,
                    TraceSink& sink) {
    std::vector<Log> logs;
    for (const std::string& file : files) logs.emplace_back(file);
    std::map<int, RankCalls> ranks;
    for (bool more = true; more;) {
      more = false;
      for (Log& log : logs) {
        const std::optional<Call> call = log.next(comms);
        if (!call) continue;
        more = true;
        if (call->member.comm->ranks.size() < 2 && call->peer < 0) continue;
        const int rank = call->member.rank;
        ranks.try_emplace(rank, rank, gap_s, stamps, sink).first->second.call(*call);
      }
    }
  }
};

const bool nccl_log_registered = trace_importers().add(
    {"nccl-log", "NCCL's debug log (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL), of all ranks in one file or several",
     "NVIDIA NCCL documentation, Environment Variables: NCCL_DEBUG, NCCL_DEBUG_SUBSYS; lines as printed by NCCL "
     "2.28.9"},
    [] { return std::make_unique<NcclLogImporter>(); });

}  // namespace

}  // namespace linkcast
