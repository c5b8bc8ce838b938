// The debug log of NCCL (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,COLL): every call with its communicator and stream.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <set>
#include <utility>

#include "apps-traces/import/nccl_comms.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

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
  std::string op;
  double size_B = 0;
  int peer = -1;  ///< of the trace
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
    const std::vector<int>& ranks = call.member.comm->ranks;
    if (line.words.back() == "stream" || line.behind("stream").empty()) lines_.fail("the stream is missing");
    call.stream = line.behind("stream");
    constexpr double kMostCount = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact
    const double count = whole(line, "count", kMostCount, lines_);
    const auto type = static_cast<std::size_t>(whole(line, "datatype", kElement_B.size() - 1.0, lines_));
    call.size_B = count * kElement_B[type] * (operation.per_rank ? static_cast<double>(ranks.size()) : 1);
    const auto root = static_cast<std::size_t>(whole(line, "root", static_cast<double>(ranks.size()) - 1, lines_));
    if (call.op == "send" || call.op == "recv") call.peer = ranks[root];
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
    const auto ends = std::make_pair(call.op == "send", call.peer);
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
    if (call.peer >= 0) {
      event.kind = call.op == "send" ? TraceKind::kSend : TraceKind::kRecv;
      event.peer = call.peer;
      event.tag = call.member.comm->name;
    } else {
      event.kind = TraceKind::kCollective;
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
  std::set<std::pair<bool, int>> together_{};                  ///< messages taken for one group: send or not, peer
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
    const std::string host = options.text("host", "none");
    if (host != "none" && host != "stamps") throw InputError("option host: '" + host + "' is not none or stamps");
    NcclComms comms;
    survey(files, comms, host == "stamps");
    TraceHeader header;
    header.name = trace_file_name(files[0]);
    header.ranks = comms.ranks();
    header.source = "NCCL debug log " + header.name;
    header.notes = {
        gap_s > 0 ? "compute before each call as said: " + to_text(Seconds{gap_s}) : "no compute: the log has none",
        host == "stamps" ? "CPU time between calls from time stamps, waiting included" : "no CPU time between calls",
        "assumed: sends and receives in a row on one stream, to different peers, are one group and run at once",
        "assumed: calls on different streams wait for each other only as ranks meet; collectives of one rank left out"};
    for (const NcclComm& comm : comms.all())
      if (comm.ranks.size() > 1) header.groups[comm.name] = comm.ranks;
    sink.header(header);
    write(files, comms, gap_s, host == "stamps", sink);
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
