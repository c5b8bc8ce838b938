#include "apps-traces/import/kineto_steps.hpp"

#include <algorithm>
#include <set>

namespace linkcast::kineto {
namespace {

/// source: torch/profiler/profiler.py, what step() records
constexpr const char* kMark = "ProfilerStep#";

void by_marks(std::vector<std::pair<double, double>> marks, RankRecording& recording) {
  std::sort(marks.begin(), marks.end());
  recording.begins_s = marks.front().first;
  for (std::size_t i = 1; i < marks.size(); ++i)
    if (marks[i - 1].second < marks[i].first) recording.pauses.emplace_back(marks[i - 1].second, marks[i].first);
  std::size_t step = 0;
  for (GpuWork& work : recording.work) {
    while (step + 1 < marks.size() && marks[step + 1].first <= work.launch_start_s) ++step;
    work.step = static_cast<int>(step);
  }
}

void by_optimizer(RankRecording& recording) {
  int step = 0;
  bool updated = false;
  for (GpuWork& work : recording.work) {
    if (updated && !work.update) {
      ++step;
      updated = false;
    }
    updated = updated || work.update;
    work.step = step;
    recording.steps_marked = recording.steps_marked || updated;
  }
}

}  // namespace

void number_steps(const std::vector<Event>& events, RankRecording& recording) {
  std::vector<std::pair<double, double>> marks;
  for (const Event& event : events)
    if (is_span(event, kMark)) marks.emplace_back(event.start_s, event.end_s);
  recording.steps_marked = !marks.empty();
  if (marks.empty())
    by_optimizer(recording);
  else
    by_marks(std::move(marks), recording);
}

void count_recorded(const std::vector<Event>& events, RankRecording& recording) {
  std::set<std::string> started, threads;  // numbers of calls that put work on the GPU
  for (const Event& event : events)
    if (on_gpu(event)) started.insert(text_of(*event.args, "correlation"));
  const auto starts = [&](const Event& event) { return started.count(text_of(*event.args, "correlation")) > 0; };
  for (const Event& event : events)
    if (by_runtime(event) && starts(event)) threads.insert(event.thread);
  std::vector<std::pair<double, int Recorded::*>> counted;
  for (const Event& event : events) {
    if (threads.count(event.thread) == 0) continue;
    if (event.category == "cpu_op") {
      counted.emplace_back(event.start_s, &Recorded::operators);
      // source: torch/csrc/distributed/c10d/ParamCommsUtils.hpp, what describes a collective
      if (event.name == "record_param_comms") counted.emplace_back(event.start_s, &Recorded::collectives);
    } else if (by_runtime(event)) {
      counted.emplace_back(event.end_s, starts(event) ? &Recorded::launches : &Recorded::calls);
    }
  }
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next = counted.begin();
  for (GpuWork& work : recording.work)
    for (; next != counted.end() && next->first <= work.launch_end_s; ++next) ++(work.recorded.*(next->second));
}

}  // namespace linkcast::kineto
