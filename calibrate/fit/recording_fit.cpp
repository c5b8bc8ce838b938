#include "calibrate/fit/recording_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

/// One call of PyTorch without the profiler and with it: seconds, and events that the profiler wrote down.
struct Recordings {
  double plain_s = 0, cuda_s = 0, both_s = 0;
  double launches = 0;
  double calls = 0;  ///< of CUDA that start nothing
  double operators = 0;

  [[nodiscard]] bool complete() const { return cuda_s > 0 && both_s > 0; }
  [[nodiscard]] double cuda_cost_s() const { return cuda_s - plain_s; }
  [[nodiscard]] double cpu_cost_s() const { return both_s - cuda_s; }
};

using Call = std::tuple<std::string, std::vector<int>, double>;  ///< operation, GPUs, bytes

Call call_of(const LaunchPoint& p) { return {p.op, p.gpus, p.size_B}; }

bool is_usual(const LaunchPoint& p) {
  return p.launch == "pytorch" && !p.async && p.sends == 1 && p.communicators == 1 && p.times_s.count("short") > 0;
}

double median_s(const LaunchPoint& p) { return p.times_s.at("short")[kLaunchMedian]; }

void read_recorded(const LaunchPoint& p, Recordings& into) {
  const double runtime = p.events.at("runtime"), cpu = p.events.at("cpu");
  if (p.recording == "cuda") {
    into.cuda_s = median_s(p);
    into.launches = std::round(p.events.at("gpu"));
    into.operators -= cpu;
  } else if (p.recording == "cpu_cuda") {
    into.both_s = median_s(p);
    into.operators += cpu;
  }
  // what other threads poll is counted too: the call's own are the fewest seen
  into.calls = into.calls > 0 ? std::min(into.calls, runtime) : runtime;
}

/// Of one record, which is one occasion.
std::vector<Recordings> recordings_of(const LaunchRecord& record) {
  std::map<Call, Recordings> calls;
  std::map<Call, double> plain_s;
  for (const LaunchPoint& p : record.points) {
    if (!is_usual(p)) continue;
    if (p.recording.empty())
      plain_s[call_of(p)] = median_s(p);
    else
      read_recorded(p, calls[call_of(p)]);
  }
  std::vector<Recordings> list;
  for (auto& [call, recordings] : calls) {
    if (!recordings.complete()) continue;
    const auto plain = plain_s.find(call);
    if (plain == plain_s.end())
      throw InputError(record.path, "/points", "records " + std::get<0>(call) + ", and has no such call unrecorded");
    recordings.plain_s = plain->second;
    recordings.calls = std::round(recordings.calls) - recordings.launches;
    list.push_back(recordings);
  }
  return list;
}

}  // namespace

void fit_recording(FitContext& context, const std::vector<LaunchRecord>& launches) {
  std::vector<Recordings> lone, with_calls;  // operators that launch a kernel; what calls CUDA in other ways too
  for (const LaunchRecord& record : launches)
    for (const Recordings& one : recordings_of(record)) (one.calls > 0 ? with_calls : lone).push_back(one);
  if (lone.empty() || with_calls.empty()) return;
  const auto set = [&](const ParameterKey& key, const std::vector<Recordings>& calls, const auto& cost_s) {
    std::vector<double> values;
    for (const Recordings& one : calls) values.push_back(cost_s(one));
    const MedianEstimate estimate = estimate_median(values);
    const double value = std::max(0.0, estimate.value);
    context.set(key, value, estimate.stderr_);
    return value;
  };
  const double launch_s =
      set(key::recording_launch(), lone, [](const Recordings& one) { return one.cuda_cost_s() / one.launches; });
  set(key::recording_call(), with_calls,
      [&](const Recordings& one) { return (one.cuda_cost_s() - launch_s * one.launches) / one.calls; });
  const double operator_s =
      set(key::recording_operator(), lone, [](const Recordings& one) { return one.cpu_cost_s() / one.operators; });
  set(key::recording_collective(), with_calls,
      [&](const Recordings& one) { return one.cpu_cost_s() - operator_s * one.operators; });
}

}  // namespace linkcast::fit
