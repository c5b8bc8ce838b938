// PyTorch profiler (Kineto) recordings, one file a rank, into a trace.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps-traces/import/kineto_file.hpp"
#include "apps-traces/import/recorded_trace.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::kineto {
namespace {

/// Shape of a piece of work, and how many of that shape the same step launched before: the same in every step.
using Place = std::pair<std::string, int>;

/// The step with operators, by place.
class Model {
 public:
  Model(const std::string& file, const RankRecording& operators) : file_(file) {
    std::map<std::string, int> before;
    auto wait = operators.waits.begin();
    for (const GpuWork& work : operators.work) {
      const Place place{work.shape, before[work.shape]++};
      works_[place] = &work;
      if (work.communicates && !work.by_engine) collectives_.push_back(&work);
      for (; wait != operators.waits.end() && wait->start_s < work.launch_start_s; ++wait)
        if (!wait->device) own_[place].push_back(wait->own);
    }
  }

  void describe(RankRecording& timings) const {
    std::map<std::string, int> before;
    std::size_t collective = 0;
    auto wait = timings.waits.begin();
    for (std::size_t i = 0; i < timings.work.size(); ++i) {
      GpuWork& work = timings.work[i];
      if (i > 0 && work.step != timings.work[i - 1].step) {
        check_count(collective, timings.work[i - 1].step);
        before.clear();
        collective = 0;
      }
      const Place place{work.shape, before[work.shape]++};
      if (const auto same = works_.find(place); same != works_.end()) describe_alike(*same->second, work);
      if (work.communicates && !work.by_engine) describe(work, collective++);
      describe_waits(place, work.launch_start_s, timings, wait);
    }
    check_count(collective, timings.work.back().step);
  }

 private:
  [[noreturn]] void fail(int step, const std::string& what) const {
    throw InputError(file_, "/timings", fmt::format("step {}{}: the steps have to be alike", step, what));
  }
  void check_count(std::size_t collectives, int step) const {
    if (collectives != collectives_.size())
      fail(step, fmt::format(" has {} NCCL kernels, and the step with operators {}", collectives, collectives_.size()));
  }
  static void describe_alike(const GpuWork& same, GpuWork& work) {
    work.exchange = same.exchange;
    if (!same.by_engine) return;
    work.communicates = work.by_engine = true;
    work.collective = same.collective;
  }
  void describe(GpuWork& work, std::size_t number) const {
    if (number >= collectives_.size()) return;  // check_count says so
    const GpuWork& same = *collectives_[number];
    if (same.name != work.name)
      fail(work.step,
           fmt::format(": NCCL kernel {} is {}, and in the step with operators {}", number, work.name, same.name));
    work.collective = same.collective;
  }
  /// Those before a piece of work; one that the step with operators does not have is nobody's.
  void describe_waits(const Place& place, double until_s, RankRecording& timings,
                      std::vector<HostWait>::iterator& wait) const {
    const auto known = own_.find(place);
    std::size_t number = 0;
    for (; wait != timings.waits.end() && wait->start_s < until_s; ++wait) {
      if (wait->device) continue;
      wait->own = known == own_.end() || number >= known->second.size() || known->second[number];
      ++number;
    }
  }

  const std::string& file_;
  std::map<Place, const GpuWork*> works_;
  std::map<Place, std::vector<bool>> own_;  ///< of the streams' waits before it
  std::vector<const GpuWork*> collectives_;
};

/// Whether a file is what `linkcast record` writes, not a timeline as torch.profiler exports it.
bool is_bundle(const Json& json) { return json.is_object() && json.contains("schema"); }

/// One rank's bundle (schema recorded-steps/1): the timings of steps with CUDA activities alone, and from the step with
/// operators which collectives their NCCL kernels were, the n-th the n-th, and what they belong to.
/// @throws InputError  file and what is wrong with it, also where the steps are not alike
RankRecording read_bundle(const std::string& file, const Json& json) {
  ObjectReader r(json, file);
  r.schema("recorded-steps/1");
  const int rank = r.required<int>("rank"), ranks = r.required<int>("ranks");
  static_cast<void>(r.required<int>("untraced_steps"));
  const double step_time_s = r.required<double>("step_time_s");
  if (!(step_time_s > 0)) r.fail("step_time_s", "must be above 0");
  const RankRecording operators = read_timeline(file + ": operators", r.raw("operators"), true);
  RankRecording recording = read_timeline(file + ": timings", r.raw("timings"), false);
  r.finish();
  if (operators.work.front().step != operators.work.back().step)
    throw InputError(file, "/operators", "must hold one step");
  Model(file, operators).describe(recording);
  recording.file = file;
  recording.rank = rank;
  recording.ranks = ranks;
  recording.groups = operators.groups;
  recording.library = operators.library;
  recording.engine_calls_unread = operators.engine_calls_unread;
  recording.step_time_s = step_time_s;
  if (recording.device.empty()) recording.device = operators.device;
  return recording;
}

RankRecording read_kineto(const std::string& file) {
  const std::unique_ptr<std::istream> stream = open_packed(file);
  if (!*stream) throw InputError(file + ": cannot be read");
  Json json = parse_foreign_json(*stream, file);
  if (json.is_discarded()) json = parse_foreign_json(with_null_for_nan(file_bytes(file)), file);
  if (json.is_discarded()) throw InputError(file + ": is not whole JSON");
  return is_bundle(json) ? read_bundle(file, json) : read_timeline(file, json, true);
}

std::vector<RankRecording> read_all(const std::vector<std::string>& files) {
  std::vector<RankRecording> ranks;
  for (const std::string& file : files) ranks.push_back(read_kineto(file));
  if (ranks.size() == 1 && ranks.front().ranks > 1) {
    take_alone(ranks.front());
    return ranks;
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankRecording& a, const RankRecording& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string is = fmt::format("{}: is rank {} of {}", ranks[i].file, ranks[i].rank, ranks[i].ranks);
    if (ranks[i].ranks != static_cast<int>(ranks.size()))
      throw InputError(fmt::format("{}, and {} files are given: one of each rank is needed", is, ranks.size()));
    if (i > 0 && ranks[i].rank == ranks[i - 1].rank) throw InputError(is + ", which another file is too");
    if (ranks[i].rank != static_cast<int>(i)) throw InputError(fmt::format("{}, and no file is rank {}", is, i));
  }
  return ranks;
}

class Kineto final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    std::vector<TraceOption> all = recording_options("kineto");
    all.insert(
        all.end(),
        {{"machine",
          "platform that was recorded, for step-time and what recording costs; unless said, the one with its GPUs"},
         {"edits", "of the machine for step-time, with ; between: 'disable p2p'"},
         {"launch-cost", "what recording adds to a call that puts work on the GPU", key::recording_launch().name},
         {"call-cost", "the same of other calls of CUDA", key::recording_call().name},
         {"operator-cost", "the same of an operator of PyTorch", key::recording_operator().name},
         {"collective-cost", "the same of a collective, beside its operators", key::recording_collective().name}});
    return all;
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    write_recordings({"kineto", "recorded by torch.profiler (Kineto)"}, read_all(files), options, sink);
  }
};

const bool kineto_registered = trace_importers().add(
    {"kineto", "torch.profiler Chrome traces (Kineto), one file a rank",
     "PyTorch 2.11 torch.profiler.profile.export_chrome_trace; google/trace-viewer, Trace Event Format"},
    [] { return std::make_unique<Kineto>(); });

}  // namespace

}  // namespace linkcast::kineto
