// PyTorch profiler (Kineto) recordings, one file a rank, into a trace.
#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "apps-traces/import/kineto_repetitions.hpp"
#include "sim/plugin/trace_source.hpp"

namespace linkcast::kineto {
namespace {

constexpr double kPerSecond = 1e9;  // source: Kineto prints times in nanoseconds

double rounded(double time_s) { return std::max(0.0, std::round(time_s * kPerSecond)) / kPerSecond; }

/// How the GPUs took their work: from the end of a launch to the start on a stream with nothing else to do, and between
/// two that were both there in time.
struct Pace {
  double launch_s = 0, gap_s = 0;
};

Pace pace_of(const std::vector<RankRecording>& ranks) {
  std::vector<double> launches, gaps;
  for (const RankRecording& rank : ranks) {
    std::map<std::string, double> end_s;  // of the stream's last work
    for (const GpuWork& work : rank.work) {
      const auto before = end_s.find(work.stream);
      if (before != end_s.end() && !work.communicates) {
        if (before->second < work.launch_start_s) launches.push_back(work.start_s - work.launch_end_s);
        // ready well before the stream was: twice the usual time from launch to start
        constexpr double kInTime_s = 20e-6;  // source: ours, twice what launches take on H200
        if (work.launch_end_s + kInTime_s < before->second) gaps.push_back(work.start_s - before->second);
      }
      double& end = end_s[work.stream];
      end = std::max(end, work.end_s);
    }
  }
  return {rounded(median(launches)), rounded(median(gaps))};
}

/// Writes one rank's events: what the GPU did, in the order of launch, with the CPU time between.
class RankWriter {
 public:
  RankWriter(const RankRecording& recording, std::size_t index, const Repetitions& repetitions, bool sync,
             bool whole_names, TraceSink& sink)
      : recording_(recording),
        index_(index),
        repetitions_(repetitions),
        sync_(sync),
        whole_names_(whole_names),
        sink_(sink) {
    if (!recording.work.empty()) host_s_ = ended_s_ = step_s_ = zero_s_ = recording.work.front().launch_start_s;
  }

  /// Up to the end of one step, which is the last work of an optimizer. @returns  false after the last
  /// @param write  false: the step is left out
  bool step(bool write) {
    if (write && !writes_) {  // ids of what was left out mean nothing
      last_id_.reset();
      exchanges_.clear();
      before_next_.clear();
      zero_s_ = step_s_;
    }
    writes_ = write;
    bool updated = false;
    while (next_ < recording_.work.size()) {
      const GpuWork& work = recording_.work[next_];
      if (updated && !work.update) break;
      wait_until(work.launch_start_s);
      put(work);
      updated = updated || work.update;
      ++next_;
    }
    if (next_ == recording_.work.size()) wait_until(std::numeric_limits<double>::infinity());
    TraceEvent marker;
    marker.rank = recording_.rank;
    marker.stream.clear();
    marker.kind = TraceKind::kSync;
    if (sync_) send(marker);
    marker.kind = TraceKind::kStep;
    if (!sync_) marker.stream = last_stream_;
    marker.recorded = recorded(step_s_, ended_s_);
    step_s_ = ended_s_;
    send(marker);
    return next_ < recording_.work.size();
  }

 private:
  /// The CPU's waits before a moment.
  void wait_until(double time_s) {
    for (; waits_ < recording_.waits.size() && recording_.waits[waits_].start_s < time_s; ++waits_) {
      const HostWait& wait = recording_.waits[waits_];
      if (!wait.device) {
        if (exchanges_.empty()) continue;
        before_next_.push_back(exchanges_.front());
        exchanges_.pop_front();
        continue;
      }
      TraceEvent event;
      event.rank = recording_.rank;
      event.kind = TraceKind::kSync;
      event.stream = wait.stream;
      event.host_s = rounded(wait.start_s - host_s_);
      host_s_ = std::max(host_s_, wait.end_s);
      if (!sync_) send(event);
    }
  }

  void put(const GpuWork& work) {
    TraceEvent event;
    event.rank = recording_.rank;
    event.stream = work.stream;
    event.name = whole_names_ ? work.whole_name : work.name;
    event.recorded = recorded(work.start_s, work.end_s);
    ended_s_ = std::max(ended_s_, work.end_s);
    if (work.exchange || work.communicates) event.part = "exchange";
    host_s_ = std::max(host_s_, work.launch_end_s);
    event.after.swap(before_next_);
    const PureWork& pure = repetitions_.pure(index_, next_);
    event.host_s = rounded(pure.host_s);
    if (work.communicates) {
      describe(work.collective, event);
    } else if (!work.copy.empty()) {
      event.kind = TraceKind::kCopy;
      event.op = work.copy;
      event.size_B = work.size_B;
    } else {
      event.time_s = rounded(pure.time_s);
      constexpr double kDigits = 1e3;  // source: ours, a slow-down is known to some per cent
      if (pure.slowdown) event.slowdown = std::round(*pure.slowdown * kDigits) / kDigits;
    }
    if (!work.communicates) last_stream_ = work.stream;
    if (work.communicates || next_is_exchange() || !event.after.empty()) event.id = ++id_;
    if (work.communicates) {
      if (last_id_) event.after.push_back(*last_id_);
      exchanges_.push_back(*event.id);
      event.name.clear();
    } else {
      last_id_ = event.id;
    }
    send(event);
  }

  void send(const TraceEvent& event) {
    if (writes_) sink_.event(event);
  }

  /// On a clock that begins with the first step that is written.
  [[nodiscard]] RecordedTime recorded(double begin_s, double end_s) const {
    const double begin = rounded(begin_s - zero_s_);
    return {begin, std::max(begin, rounded(end_s - zero_s_))};
  }

  static void describe(const Collective& collective, TraceEvent& event) {
    event.kind = collective.op == "send"   ? TraceKind::kSend
                 : collective.op == "recv" ? TraceKind::kRecv
                                           : TraceKind::kCollective;
    event.size_B = collective.size_B;
    event.peer = collective.peer;
    if (event.kind != TraceKind::kCollective) return;
    event.op = collective.op;
    event.group = collective.group;
  }

  /// The next work is an exchange: it waits for this one, the last on the stream from which it is called.
  [[nodiscard]] bool next_is_exchange() const {
    return next_ + 1 < recording_.work.size() && recording_.work[next_ + 1].communicates;
  }

  const RankRecording& recording_;
  std::size_t index_;
  const Repetitions& repetitions_;
  bool sync_;  ///< the CPU waits for the GPU at the end of each step, and nowhere else
  bool whole_names_;
  TraceSink& sink_;
  bool writes_ = true;
  std::size_t next_ = 0, waits_ = 0;
  double host_s_ = 0;                             ///< the CPU's last call ended
  double ended_s_ = 0, step_s_ = 0, zero_s_ = 0;  ///< the last work ended; this step and the first written began
  std::int64_t id_ = 0;
  std::optional<std::int64_t> last_id_{};  ///< of the last work that is no exchange
  std::deque<std::int64_t> exchanges_{};   ///< that nobody waits for yet
  std::vector<std::int64_t> before_next_{};
  std::string last_stream_;
};

TraceHeader header_of(const std::vector<RankRecording>& ranks, const Repetitions& repetitions,
                      const TraceOptions& options) {
  TraceHeader header;
  header.name = options.text("name", "kineto");
  header.ranks = static_cast<int>(ranks.size());
  header.source = options.text("source", "recorded by torch.profiler (Kineto)");
  header.device = ranks.front().device;
  for (const RankRecording& rank : ranks)
    for (const auto& [name, members] : rank.groups) header.groups[name] = members;
  const Pace pace = pace_of(ranks);
  header.launch_s = pace.launch_s;
  header.gap_s = pace.gap_s;
  constexpr double kDigits = 1e3;  // source: ours, a slow-down is known to some per cent
  header.slowdown = std::round(repetitions.slowdown() * kDigits) / kDigits;
  header.host_scale = options.number("host-scale", 1);
  header.notes = {
      "CPU times are medians over ranks and steps of the recording, which slows the CPU down: see host_scale",
      "slowdown beside collectives: fitted to " + std::to_string(repetitions.kernels_seen_both_ways()) +
          " kernels that were recorded with and without one on the same GPU",
      "assumed: an exchange waits for the work launched before it; a stream that waits for an event waits "
      "for the oldest exchange that none waits for, since Kineto does not say which event"};
  if (options.has("note")) header.notes.push_back(options.text("note", ""));
  return header;
}

std::vector<RankRecording> read_all(const std::vector<std::string>& files) {
  std::vector<RankRecording> ranks;
  for (const std::string& file : files) ranks.push_back(read_kineto(file));
  std::sort(ranks.begin(), ranks.end(), [](const RankRecording& a, const RankRecording& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].ranks != static_cast<int>(ranks.size()))
      throw InputError(ranks[i].file, "/distributedInfo/world_size",
                       "is " + std::to_string(ranks[i].ranks) + ", and " + std::to_string(ranks.size()) +
                           " files are given: one of each rank is needed");
    if (ranks[i].rank != static_cast<int>(i))
      throw InputError(ranks[i].file, "/distributedInfo/rank",
                       "is " + std::to_string(ranks[i].rank) + ", which another file is too");
  }
  return ranks;
}

class Kineto final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"name", "of the trace, 'kineto' unless said"},
            {"source", "where the recording comes from"},
            {"note", "kept in the trace's header"},
            {"skip", "steps at the beginning that are left out, 0 unless said"},
            {"sync",
             "steps: the CPU waits for the GPU at the end of each step, as in loops that time each step; "
             "recorded: where it waited, which holds unless said"},
            {"names", "short: of kernels the last name of the function; whole unless said"},
            {"host-scale", "CPU times are multiplied by it, 1 unless said; 'linkcast calibrate trace' fits it"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const std::vector<RankRecording> ranks = read_all(files);
    const Repetitions repetitions(ranks);
    sink.header(header_of(ranks, repetitions, options));
    const std::string sync = options.text("sync", "recorded");
    if (sync != "recorded" && sync != "steps")
      throw InputError("option sync: '" + sync + "' is neither recorded nor steps");
    const std::string names = options.text("names", "whole");
    if (names != "whole" && names != "short")
      throw InputError("option names: '" + names + "' is neither whole nor short");
    const int skip = options.whole("skip", 0, 0);
    std::vector<RankWriter> writers;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      writers.emplace_back(ranks[i], i, repetitions, sync == "steps", names == "whole", sink);
    std::vector<char> more(ranks.size(), 1);
    for (int step = 0; std::any_of(more.begin(), more.end(), [](char one) { return one != 0; }); ++step)
      for (std::size_t i = 0; i < ranks.size(); ++i)
        if (more[i] != 0) more[i] = writers[i].step(step >= skip) ? 1 : 0;
  }
};

const bool kineto_registered = trace_importers().add(
    {"kineto", "torch.profiler Chrome traces (Kineto), one file a rank",
     "PyTorch 2.11 torch.profiler.profile.export_chrome_trace; google/trace-viewer, Trace Event Format"},
    [] { return std::make_unique<Kineto>(); });

}  // namespace
}  // namespace linkcast::kineto
