#include "apps-traces/import/kineto_bundle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/object_reader.hpp"

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
      if (work.communicates) collectives_.push_back(&work);
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
      if (const auto same = works_.find(place); same != works_.end()) work.exchange = same->second->exchange;
      if (work.communicates) describe(work, collective++);
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

}  // namespace

bool is_bundle(const Json& json) { return json.is_object() && json.contains("schema"); }

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
  recording.step_time_s = step_time_s;
  if (recording.device.empty()) recording.device = operators.device;
  return recording;
}

}  // namespace linkcast::kineto
