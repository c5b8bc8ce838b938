// Dumps of torch.distributed's flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE), one a rank, into a trace.
#include <fmt/format.h>

#include <utility>

#include "apps-traces/import/flight_recorder_job.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::flight {
namespace {

/// The calls of one rank as events.
class RankCalls {
 public:
  RankCalls(int rank, const Job& job, double gap_s, bool stamps, TraceSink& sink)
      : rank_(rank), job_(job), gap_s_(gap_s), stamps_(stamps), sink_(sink) {}

  /// @returns  false after the last
  bool next() {
    const std::vector<Entry>& entries = job_.dump(rank_).entries;
    while (next_ < entries.size() && !job_.whole(rank_, next_)) ++next_;
    if (next_ == entries.size()) return false;
    put(entries[next_++]);
    return true;
  }

 private:
  /// On one stream: its last event, and what the next one waits for besides.
  struct Stream {
    std::int64_t last = 0;
    std::vector<std::int64_t> before{};
    // Messages that were coalesced run at once: these have the same number.
    std::int64_t sequence = -1;
    int together = 0;
    std::vector<std::int64_t> together_before{};
  };

  void put(const Entry& entry) {
    const std::string group = job_.group_of(rank_, entry);
    Stream& stream = streams_[group];
    const bool joins = entry.message && stream.together > 0 && stream.sequence == entry.sequence;
    if (!joins && gap_s_ > 0) put_gap(group, stream);
    TraceEvent event;
    event.rank = rank_;
    event.id = ++id_;
    event.size_B = job_.size_B(rank_, entry);
    take_times(entry, event);
    if (joins) {
      event.stream = fmt::format("{} message {}", group, stream.together++);
      event.after = stream.together_before;
      stream.before.push_back(*event.id);
    } else {
      event.stream = group;
      event.after = std::exchange(stream.before, {});
      stream.together_before = event.after;
      if (stream.last > 0) stream.together_before.push_back(stream.last);
      stream.last = *event.id;
      stream.together = entry.message ? 1 : 0;
      stream.sequence = entry.sequence;
    }
    event.kind = TraceKind::kCollective;
    if (entry.message) {
      event.kind = entry.op == "send" ? TraceKind::kSend : TraceKind::kRecv;
      event.peer = job_.peer_of(rank_, entry);
      event.tag = group;
    } else {
      event.op = entry.op;
      event.group = group;
    }
    sink_.event(event);
  }

  void take_times(const Entry& entry, TraceEvent& event) {
    constexpr double kNano = 1e-9;
    const auto since = [&](std::int64_t ns) {
      return static_cast<double>(std::max<std::int64_t>(0, entry.created_ns - ns)) * kNano;
    };
    if (!zero_ns_) zero_ns_ = made_ns_ = entry.created_ns;
    if (stamps_) event.host_s = since(*made_ns_);
    made_ns_ = std::max(*made_ns_, entry.created_ns);
    const double begin_s = since(*zero_ns_);
    if (entry.duration_s) event.recorded = RecordedTime{begin_s, begin_s + *entry.duration_s};
  }

  void put_gap(const std::string& name, Stream& stream) {
    TraceEvent gap;
    gap.rank = rank_;
    gap.id = ++id_;
    gap.stream = name;
    gap.time_s = gap_s_;
    gap.after = std::exchange(stream.before, {});
    stream.last = id_;
    sink_.event(gap);
  }

  int rank_;
  const Job& job_;
  double gap_s_;
  bool stamps_;
  TraceSink& sink_;
  std::size_t next_ = 0;
  std::int64_t id_ = 0;
  std::optional<std::int64_t> zero_ns_{}, made_ns_{};
  std::map<std::string, Stream> streams_{};
};

class FlightRecorder final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"gap", "compute time before each call, e.g. 2ms; 0 unless said: a dump has none"},
            {"host", "stamps: CPU time between calls from time_created_ns, waiting included; none unless said"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const double gap_s = options.seconds("gap", 0);
    const std::string host = options.text("host", "none");
    if (host != "none" && host != "stamps") throw InputError("option host: '" + host + "' is not none or stamps");
    const Job job(files);
    sink.header(header_of(job, gap_s, host == "stamps"));
    std::vector<RankCalls> ranks;
    for (int rank = 0; rank < job.ranks(); ++rank) ranks.emplace_back(rank, job, gap_s, host == "stamps", sink);
    for (bool more = true; more;) {
      more = false;
      for (RankCalls& rank : ranks) more = rank.next() || more;
    }
  }

 private:
  static TraceHeader header_of(const Job& job, double gap_s, bool stamps) {
    const Dump& first = job.dump(0);
    bool timed = false;
    for (int rank = 0; rank < job.ranks(); ++rank)
      for (const Entry& entry : job.dump(rank).entries) timed = timed || entry.duration_s;
    TraceHeader header;
    header.name = trace_file_name(first.file);
    header.ranks = job.ranks();
    header.source = "flight recorder of torch.distributed, version " + first.version + ", " + header.name;
    header.groups = job.groups();
    header.notes = {
        gap_s > 0 ? "compute before each call as said: " + to_text(Seconds{gap_s}) : "no compute: a dump has none",
        stamps ? "CPU time between calls from time_created_ns, waiting included" : "no CPU time between calls",
        timed ? "recorded times: durations on the GPU; assumed: each call began when it was made"
              : "no recorded times: a dump has durations with TORCH_NCCL_ENABLE_TIMING=1 alone",
        "assumed: calls of one process group follow each other, messages of one p2p_seq_id run at once; calls of "
        "different groups wait for each other only as ranks meet"};
    header.notes.insert(header.notes.end(), job.notes().begin(), job.notes().end());
    return header;
  }
};

const bool flight_recorder_registered = trace_importers().add(
    {"flight-recorder", "dumps of torch.distributed's flight recorder, pickle or JSON, one a rank, or one alone",
     "PyTorch 2.7 and 2.9 torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp: dumps 2.4 and "
     "2.10; CPython Lib/pickletools.py"},
    [] { return std::make_unique<FlightRecorder>(); });

}  // namespace
}  // namespace linkcast::flight
