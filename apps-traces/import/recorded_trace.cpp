#include "apps-traces/import/recorded_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/statistics/linear_regression.hpp>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/kineto_repetitions.hpp"
#include "apps-traces/import/kineto_steps.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::kineto {
namespace {

/// How much longer collectives take while their GPUs compute.
struct CollectiveOverlap {
  double slowdown = 1;  ///< a collective takes this many times as long while one of its ranks computes; at least 1
  int calls = 0;        ///< it was fitted to; 0: nothing was seen both ways
};

// A line of fewer calls, or of shares closer together, says nothing. source: ours; apps-traces/measure/overlap.py
constexpr std::size_t kFewestCalls = 8;
constexpr double kLeastSpread = 0.25;

/// Computation of a rank's GPU, as stretches of time that do not touch.
class Computing {
 public:
  explicit Computing(const RankRecording& rank) {
    for (const GpuWork& work : rank.work)
      if (!work.communicates && work.copy.empty()) spans_.emplace_back(work.start_s, work.end_s);
    std::sort(spans_.begin(), spans_.end());
    std::size_t kept = 0;
    for (const auto& [start_s, end_s] : spans_) {
      if (kept > 0 && start_s <= spans_[kept - 1].second)
        spans_[kept - 1].second = std::max(spans_[kept - 1].second, end_s);
      else
        spans_[kept++] = {start_s, end_s};
    }
    spans_.resize(kept);
  }
  [[nodiscard]] double share_of(const GpuWork& work) const {
    if (work.end_s <= work.start_s) return 0;
    auto span = std::upper_bound(spans_.begin(), spans_.end(), std::pair(work.start_s, work.start_s));
    if (span != spans_.begin()) --span;
    double both_s = 0;
    for (; span != spans_.end() && span->first < work.end_s; ++span)
      both_s += std::max(0.0, std::min(work.end_s, span->second) - std::max(work.start_s, span->first));
    return both_s / (work.end_s - work.start_s);
  }

 private:
  std::vector<std::pair<double, double>> spans_;
};

/// One call, as the rank saw it that waited least.
struct SeenCall {
  std::size_t ranks = 0;
  double time_s = 0, share = 0;
};
using CallKind = std::tuple<std::string, double, std::string>;  ///< operation, bytes, group
using CallTurn = std::pair<std::string, long>;                  ///< group, and which of its calls
using SeenCalls = std::map<CallTurn, std::pair<CallKind, SeenCall>>;

void add_calls(const RankRecording& rank, SeenCalls& calls) {
  const Computing computing(rank);
  std::map<std::string, long> turns;
  for (const GpuWork& work : rank.work) {
    const Collective& what = work.collective;
    if (!work.communicates || what.peer >= 0) continue;
    auto& [kind, call] = calls[{what.group, turns[what.group]++}];
    kind = {what.op, what.size_B, what.group};
    const double time_s = work.end_s - work.start_s;
    if (call.ranks++ == 0 || time_s < call.time_s) {
      call.time_s = time_s;
      call.share = computing.share_of(work);
    }
  }
}

/// Time alone and beside computation, of the line through all calls.
std::pair<double, double> ends_of_line(const std::vector<SeenCall>& calls) {
  std::vector<double> shares, times_s;
  for (const SeenCall& call : calls) {
    shares.push_back(call.share);
    times_s.push_back(call.time_s);
  }
  const auto [alone_s, more_s] = boost::math::statistics::simple_ordinary_least_squares(shares, times_s);
  return {alone_s, alone_s + more_s};
}

bool tells(const std::vector<SeenCall>& calls) {
  if (calls.size() < kFewestCalls) return false;
  const auto [least, most] = std::minmax_element(
      calls.begin(), calls.end(), [](const SeenCall& a, const SeenCall& b) { return a.share < b.share; });
  return most->share - least->share >= kLeastSpread;
}

/// Ranks wait for each other in a collective: the one that waited least shows what it takes. Its time over calls of one
/// operation, size and group is a line of the share of it in which that rank computed; one factor for all kinds, each
/// weighed by its calls and time.
/// @param ranks  of one job, in order
CollectiveOverlap collective_overlap(const std::vector<RankRecording>& ranks) {
  SeenCalls calls;
  for (const RankRecording& rank : ranks) add_calls(rank, calls);
  std::map<CallKind, std::vector<SeenCall>> kinds;
  for (const auto& [turn, call] : calls) {
    const auto group = ranks.front().groups.find(turn.first);
    // A rank that was not recorded may be the one that others waited for.
    const std::size_t members = group == ranks.front().groups.end() ? ranks.size() : group->second.size();
    if (call.second.ranks == members) kinds[call.first].push_back(call.second);
  }
  CollectiveOverlap all;
  double alone_s = 0, beside_s = 0;
  for (const auto& [kind, same] : kinds) {
    if (!tells(same)) continue;
    const auto [alone, beside] = ends_of_line(same);
    if (alone <= 0) continue;
    alone_s += alone * static_cast<double>(same.size());
    beside_s += beside * static_cast<double>(same.size());
    all.calls += static_cast<int>(same.size());
  }
  if (alone_s > 0) all.slowdown = std::max(1.0, beside_s / alone_s);
  return all;
}

/// The only rank but this one whose GPU has a number; -1: none, or several.
int rank_with(const std::vector<RankRecording>& ranks, const RankRecording& own, int gpu) {
  int found = -1;
  for (const RankRecording& rank : ranks) {
    if (&rank == &own || gpu < 0 || rank.gpu != gpu) continue;
    if (found >= 0) return -1;
    found = rank.rank;
  }
  return found;
}

/// Sets the peer of each copy between GPUs. One whose other end is no rank's GPU, or could be that of several, is no
/// copy any more: it keeps its recorded time.
/// @returns  what was assumed, and what could not be told
std::vector<std::string> find_peers(std::vector<RankRecording>& ranks) {
  long pulled = 0, unknown = 0;
  for (RankRecording& rank : ranks)
    for (GpuWork& work : rank.work) {
      if (work.copy != "d2d") continue;
      const bool pushes = work.from == rank.gpu;
      work.peer =
          rank.gpu >= 0 && (pushes || work.to == rank.gpu) ? rank_with(ranks, rank, pushes ? work.to : work.from) : -1;
      if (work.peer >= 0) {
        pulled += pushes ? 0 : 1;
        continue;
      }
      work.copy.clear();
      ++unknown;
    }
  std::vector<std::string> notes;
  if (pulled > 0)
    notes.push_back(fmt::format(
        "assumed: {} copies from other GPUs take as long as copies to them: a trace has those alone", pulled));
  if (unknown > 0)
    notes.push_back(
        fmt::format("assumed: {} copies between GPUs take as long as recorded on any machine: the recordings do not "
                    "say which rank's GPU is at the other end",
                    unknown));
  return notes;
}

constexpr double kPercent = 100;
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
    std::map<std::string, double> end_s, launched_s;  // of the stream's last work
    auto wait = rank.waits.begin();
    double for_event_s = -std::numeric_limits<double>::infinity();  // a stream was last made to wait
    for (const GpuWork& work : rank.work) {
      for (; wait != rank.waits.end() && wait->start_s < work.launch_start_s; ++wait)
        if (!wait->device && !wait->own) for_event_s = wait->start_s;
      const auto before = end_s.find(work.stream);
      const bool waits = work.communicates || work.name.starts_with("nccl") ||  // for other ranks
                         (before != end_s.end() && launched_s[work.stream] < for_event_s);
      launched_s[work.stream] = work.launch_end_s;
      if (before != end_s.end() && !waits) {
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

  /// Up to the end of one step. @returns  false after the last
  /// @param write  false: the step is left out
  bool step(bool write) {
    if (write && !writes_) {  // ids of what was left out mean nothing
      last_id_.reset();
      exchanges_.clear();
      before_next_.clear();
      zero_s_ = step_s_;
    }
    writes_ = write;
    const int step = recording_.work[next_].step;
    for (; next_ < recording_.work.size() && recording_.work[next_].step == step; ++next_) {
      wait_until(recording_.work[next_].launch_start_s);
      put(recording_.work[next_]);
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
  struct Exchange {
    std::int64_t id;
    std::string stream;
  };

  /// The CPU's waits before a moment.
  void wait_until(double time_s) {
    for (; waits_ < recording_.waits.size() && recording_.waits[waits_].start_s < time_s; ++waits_) {
      const HostWait& wait = recording_.waits[waits_];
      if (!wait.device) {
        if (wait.own || exchanges_.empty()) continue;
        before_next_.push_back(exchanges_.front().id);
        exchanges_.pop_front();
        continue;
      }
      std::erase_if(exchanges_, [&](const Exchange& one) { return wait.all || one.stream == wait.stream; });
      if (sync_ || recording_.paused(wait.start_s)) continue;
      TraceEvent event;
      event.rank = recording_.rank;
      event.kind = TraceKind::kSync;
      event.stream = wait.stream;
      event.host_s = rounded(wait.start_s - host_s_);
      before_wait_s_ += event.host_s;
      host_s_ = std::max(host_s_, wait.end_s);
      send(event);
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
    event.host_s = rounded(pure.host_s - before_wait_s_);
    before_wait_s_ = 0;
    event.recording_s = rounded(pure.recording_s);
    if (work.communicates) {
      describe(work.collective, event);
    } else if (!work.copy.empty()) {
      event.kind = TraceKind::kCopy;
      event.op = work.copy;
      event.peer = work.peer;
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
      exchanges_.push_back({*event.id, work.stream});
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
    event.kind = kind_of_call(collective.op);
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
  double before_wait_s_ = 0;                      ///< CPU time since the last work that a wait has been given already
  std::int64_t id_ = 0;
  std::optional<std::int64_t> last_id_{};  ///< of the last work that is no exchange
  std::deque<Exchange> exchanges_{};       ///< that nobody waits for yet
  std::vector<std::int64_t> before_next_{};
  std::string last_stream_;
};

RecordingCost cost_of(const TraceOptions& options) {
  return {options.seconds("operator-cost", 0), options.seconds("collective-cost", 0), options.seconds("call-cost", 0),
          options.seconds("launch-cost", 0)};
}

/// Costs removed from the CPU times, for people.
std::string recording_note(const std::vector<RankRecording>& ranks, const Repetitions& repetitions,
                           const RecordingCost& cost, const TraceOptions& options) {
  if (cost.none()) return "CPU times are medians over ranks and steps of the recording, which slows the CPU down";
  double host_s = 0, recording_s = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (std::size_t i = 0; i < ranks[rank].work.size(); ++i) {
      host_s += repetitions.pure(rank, i).host_s;
      recording_s += repetitions.pure(rank, i).recording_s;
    }
  const auto text = [](double time_s) { return to_text(Seconds{rounded(time_s)}); };
  const double recorded_s = host_s + recording_s;
  const std::string machine = options.text("costs-machine", "");
  return fmt::format(
      "host_s is without the profiler: medians over ranks and steps, less what recording costs the CPU ({} a launch, "
      "{} another call of CUDA, {} an operator, {} a collective{}); recording_s is what was recorded beyond it, {} % "
      "of all",
      text(cost.launch_s), text(cost.call_s), text(cost.operator_s), text(cost.collective_s),
      machine.empty() ? "" : "; fitted for " + machine,
      recorded_s > 0 ? std::lround(kPercent * recording_s / recorded_s) : 0);
}

/// Whether NVSwitches multicast: as said, or as the kernels show.
void tell_multicast(const std::vector<RankRecording>& ranks, const TraceOptions& options, TraceHeader& header) {
  const bool said = options.has("nvls");
  Multicast shown = Multicast::kNothing;
  for (const RankRecording& rank : ranks) shown = std::max(shown, rank.multicast);
  if (said) header.nvls = !options.picks("nvls", "on", "off");
  if (!said && shown == Multicast::kOff) header.nvls = false;
  if (!said && shown == Multicast::kOn) header.nvls = true;
  if (!said && shown == Multicast::kUnclear)
    header.notes.push_back(
        "whether NVSwitches multicast (NVLS) does not show in the kernels of all_reduce: option nvls says it");
}

/// By whose kernels ranks reduced.
void name_library(const std::vector<RankRecording>& ranks, TraceHeader& header) {
  int unread = 0;
  for (const RankRecording& rank : ranks) {
    if (header.library.empty()) header.library = rank.library;
    unread += rank.engine_calls_unread;
  }
  if (unread > 0)
    header.notes.push_back(fmt::format(
        "{} kernels are an inference engine's all_reduce of unknown size or ranks, and count as what the GPU "
        "computes: sizes are recorded with record_shapes, outside of CUDA graphs",
        unread));
}

TraceHeader header_of(const RecordingTool& tool, const std::vector<RankRecording>& ranks,
                      const Repetitions& repetitions, const RecordingCost& cost, const TraceOptions& options,
                      const std::string& steps_note) {
  TraceHeader header;
  header.name = options.text("name", tool.name);
  header.ranks = static_cast<int>(ranks.size());
  header.source = options.text("source", tool.source);
  header.device = options.text("device", ranks.front().device);
  for (const RankRecording& rank : ranks)
    for (const auto& [name, members] : rank.groups) header.groups[name] = members;
  const Pace pace = pace_of(ranks);
  header.launch_s = pace.launch_s;
  header.gap_s = pace.gap_s;
  constexpr double kDigits = 1e3;  // source: ours, a slow-down is known to some per cent
  header.slowdown = std::round(repetitions.slowdown() * kDigits) / kDigits;
  const CollectiveOverlap overlap = collective_overlap(ranks);
  header.collective_slowdown = std::round(overlap.slowdown * kDigits) / kDigits;
  header.host_scale = options.number("host-scale", 1);
  if (options.has("step-time") && options.has("host-scale"))
    throw InputError("option host-scale: step-time fits it: give one of them");
  if (options.has("step-time")) header.step_time_s = options.seconds("step-time", 0);
  if (!options.has("step-time") && !options.has("host-scale"))
    for (const RankRecording& rank : ranks)
      if (rank.step_time_s) header.step_time_s = std::max(header.step_time_s.value_or(0), *rank.step_time_s);
  if (header.step_time_s && !(*header.step_time_s > 0)) throw InputError("option step-time: must be above 0");
  header.notes = {
      recording_note(ranks, repetitions, cost, options),
      fmt::format(
          "slowdown beside collectives: fitted to {} kernels that were recorded with and without one on the same GPU",
          repetitions.kernels_seen_both_ways()),
      "collective_slowdown beside compute: " +
          (overlap.calls > 0 ? fmt::format("fitted to {} calls", overlap.calls)
                             : std::string("1, no kind of call was recorded beside more and less of it")),
      fmt::format("CPU times are of the host that was recorded: hosts of one kind differ by up to {} times, which the "
                  "interval of a replay covers",
                  kHostSpread),
      "assumed: an exchange waits for the work launched before it; a stream that waits for an event waits "
      "for the oldest exchange that none waits for, since recordings do not say which event"};
  if (ranks.front().execution_trace)
    header.notes.push_back(
        "assumed: recording an execution trace at the same time cost nothing: it did, so that CPU times are too long "
        "by what is not known here; step-time, or a recording without it, helps");
  if (header.device.empty())
    header.notes.push_back("which GPU the compute times are of is not in the recording: option device says it");
  if (options.has("costs-note")) header.notes.push_back(options.text("costs-note", ""));
  if (!steps_note.empty()) header.notes.push_back(steps_note);
  if (ranks.size() > 1 && header.groups.empty())
    header.notes.push_back("the recording has no collective and no message: its ranks do not wait for each other");
  if (!ranks.front().alone.empty()) header.notes.push_back(ranks.front().alone);
  tell_multicast(ranks, options, header);
  name_library(ranks, header);
  if (options.has("note")) header.notes.push_back(options.text("note", ""));
  return header;
}

int steps_to_skip(const TraceOptions& options, const std::vector<RankRecording>& ranks) {
  const int skip = options.whole("skip", 0, 0);
  for (const RankRecording& rank : ranks) {
    std::set<int> steps;
    for (const GpuWork& work : rank.work) steps.insert(work.step);
    if (static_cast<int>(steps.size()) <= skip)
      throw InputError(fmt::format("option skip: {} leaves none of the {} steps of {}", skip, steps.size(), rank.file));
  }
  return skip;
}

}  // namespace

std::vector<TraceOption> recording_options(const std::string& name) {
  return {{"name", "of the trace, '" + name + "' unless said"},
          {"source", "where the recording comes from"},
          {"device", "GPU that was recorded, where the files do not name it"},
          {"note", "kept in the trace's header"},
          {"skip", "steps at the beginning that are left out, 0 unless said"},
          {"steps", "how many there are, where nothing marks them: found by repetition unless said; 1: all is one"},
          {"sync",
           "steps: the CPU waits for the GPU at the end of each step, as in loops that time each step; "
           "recorded: where it waited, which holds unless said"},
          {"names", "short: of kernels the last name of the function; whole unless said"},
          {"nvls", "on or off: multicast by NVSwitch, where the kernels do not show it"},
          {"host-scale", "CPU times are multiplied by it, 1 unless said"},
          {"step-time",
           "median step without the profiler, e.g. 39.5ms: host-scale is fitted so that the machine takes that"}};
}

void take_alone(RankRecording& recording) {
  const std::size_t before = recording.work.size();
  std::erase_if(recording.work, [](const GpuWork& work) {
    return work.communicates && kind_of_call(work.collective.op) != TraceKind::kCollective;
  });
  recording.alone =
      fmt::format("one rank ({}) of {} alone: replay it with ranks {}, the others taken alike, each group as all ranks",
                  recording.rank, recording.ranks, recording.ranks);
  std::set<std::size_t> sizes;
  for (auto& [name, members] : recording.groups) {
    sizes.insert(members.size());
    members = {0};
  }
  if (sizes.size() > 1) recording.alone += "; assumed: its groups, of different sizes, are all of all ranks";
  if (recording.work.size() < before)
    recording.alone += fmt::format("; left out: {} sends and receives", before - recording.work.size());
  recording.rank = 0;
  recording.ranks = 1;
}

void write_recordings(const RecordingTool& tool, std::vector<RankRecording> ranks, const TraceOptions& given,
                      TraceSink& sink) {
  const TraceOptions options = given.of_gpu(given.text("device", ranks.front().device));
  const std::string steps_note = number_repeated_steps(ranks, options.has("steps") ? options.whole("steps", 1) : 0);
  const int skip = steps_to_skip(options, ranks);
  const std::vector<std::string> notes = find_peers(ranks);
  const RecordingCost cost = cost_of(options);
  const Repetitions repetitions(ranks, cost);
  TraceHeader header = header_of(tool, ranks, repetitions, cost, options, steps_note);
  header.notes.insert(header.notes.end(), notes.begin(), notes.end());
  header.notes.insert(header.notes.end(), tool.notes.begin(), tool.notes.end());
  sink.header(header);
  const bool by_steps = options.picks("sync", "recorded", "steps"),
             whole_names = !options.picks("names", "whole", "short");
  std::vector<RankWriter> writers;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    writers.emplace_back(ranks[i], i, repetitions, by_steps, whole_names, sink);
  std::vector<char> more(ranks.size(), 1);
  for (int step = 0; std::any_of(more.begin(), more.end(), [](char one) { return one != 0; }); ++step)
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (more[i] != 0) more[i] = writers[i].step(step >= skip) ? 1 : 0;
}

}  // namespace linkcast::kineto
