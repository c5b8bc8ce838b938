#include "sim/records/launch_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/file_hash.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast {
namespace {

int count_of(ObjectReader& r, const std::string& key) {
  const int value = r.optional<int>(key).value_or(1);
  if (value < 1) r.fail(key, "must be at least 1");
  return value;
}

std::string text_of(ObjectReader& r, const std::string& key) {
  std::string text = r.required<std::string>(key);
  if (text.empty()) r.fail(key, "must not be empty");
  return text;
}

std::vector<int> read_gpus(ObjectReader& r) {
  std::vector<int> gpus = r.required<std::vector<int>>("gpus");
  if (gpus.empty()) r.fail("gpus", "names no GPU");
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu) {
    if (*gpu < 0) r.fail("gpus", fmt::format("GPUs count from 0: {} is none", *gpu));
    if (std::find(gpus.begin(), gpu, *gpu) != gpu) r.fail("gpus", fmt::format("names GPU {} twice", *gpu));
  }
  return gpus;
}

LaunchQuantiles quantiles(ObjectReader& r, const std::string& key) {
  const auto values = r.required<std::vector<double>>(key);
  LaunchQuantiles found{};
  if (values.size() != found.size()) r.fail(key, "must hold five quantiles: 5, 25, 50, 75 and 95 %");
  if (!std::is_sorted(values.begin(), values.end())) r.fail(key, "quantiles must not fall");
  if (!(values.front() > 0)) r.fail(key, "must be above 0");
  std::copy(values.begin(), values.end(), found.begin());
  return found;
}

std::map<std::string, LaunchQuantiles> read_times(ObjectReader r) {
  std::map<std::string, LaunchQuantiles> times;
  for (const char* key : {"steady", "short", "rest", "rest_issue", "issue", "device"})
    if (r.has(key)) times.emplace(key, quantiles(r, key));
  if (times.empty()) r.fail("", "holds no time");
  r.finish();
  return times;
}

std::map<std::string, double> read_events(ObjectReader r) {
  std::map<std::string, double> events;
  for (const char* key : {"cpu", "runtime", "gpu"}) {
    events[key] = r.required<double>(key);
    if (!(events[key] >= 0)) r.fail(key, "must be 0 or more");
  }
  r.finish();
  return events;
}

/// What was issued, and how; of a waived point as much as it says.
LaunchPoint read_identity(ObjectReader& r, bool waived) {
  const auto says = [&](const char* key) { return !waived || r.has(key); };
  LaunchPoint point;
  if (says("launch")) point.launch = r.choice("launch", launch_kinds());
  if (says("issuers")) point.issuers = r.choice("issuers", {"one_thread", "threads", "processes"});
  if (says("op")) point.op = text_of(r, "op");
  if (says("gpus")) point.gpus = read_gpus(r);
  if (says("size_B")) {
    point.size_B = r.required<double>("size_B");
    if (point.size_B < 1 || point.size_B != std::floor(point.size_B))
      r.fail("size_B", "must be a whole number of bytes, at least 1");
  }
  point.sends = count_of(r, "sends");
  point.communicators = count_of(r, "communicators");
  if (r.has("calls_per_graph")) point.calls_per_graph = count_of(r, "calls_per_graph");
  if (says("launch") && (point.launch == "graph") != (point.calls_per_graph > 0))
    r.fail("calls_per_graph", "belongs to launch 'graph', and to no other");
  if (r.has("round")) point.round = count_of(r, "round");
  point.async = r.optional<bool>("async").value_or(false);
  if (r.has("recording")) point.recording = r.choice("recording", {"cuda", "cpu_cuda", "cpu_cuda_shapes"});
  return point;
}

LaunchPoint read_launch_point(ObjectReader& r, bool waived) {
  LaunchPoint point = read_identity(r, waived);
  if (waived) {
    text_of(r, "reason");
  } else {
    if (!point.recording.empty()) point.events = read_events(r.object("events"));
    point.times_s = read_times(r.object("times_s"));
  }
  r.finish();
  return point;
}

/// The points, each of them once.
void read_points(ObjectReader& r, LaunchRecord& record) {
  const auto identity = [](const LaunchPoint& p) {
    return std::tuple(p.launch, p.issuers, p.op, p.gpus, p.size_B, p.sends, p.communicators, p.calls_per_graph, p.async,
                      p.recording);
  };
  std::map<decltype(identity(LaunchPoint())), std::string> places;
  for (ObjectReader& one : r.objects("points")) {
    const bool waived = one.choice("status", {"ok", "waived"}) == "waived";
    LaunchPoint point = read_launch_point(one, waived);
    const auto [first, is_new] = places.emplace(identity(point), one.pointer());
    if (!is_new) one.fail("", "is the point " + first->second + " once more");
    if (waived)
      ++record.waived;
    else
      record.points.push_back(std::move(point));
  }
  if (places.empty()) r.fail("points", "holds no point");
}

}  // namespace

const std::vector<std::string>& launch_kinds() {
  static const std::vector<std::string> names = {"graph", "process", "single_process", "pytorch", "queue"};
  return names;
}

LaunchRecord read_launch_record(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("launch/1");
  LaunchRecord record;
  record.path = path;
  record.sha256 = sha256_of_file(path);
  record.id = text_of(r, "id");
  record.machine = text_of(r, "machine");
  record.topology = text_of(r, "topology");
  record.bench = text_of(r, "bench");
  text_of(r, "source");
  r.choice("timing", {"host"});
  ObjectReader environment = r.object("environment");  // the rest is recorded, not interpreted
  if (const auto gpus = environment.optional<std::vector<std::string>>("gpu_names"); gpus && !gpus->empty())
    record.gpu = gpus->front();
  record.host_cpu = text_of(environment, "host_cpu");
  record.host_cores = environment.required<int>("host_cores");
  if (record.host_cores < 1) environment.fail("host_cores", "must be at least 1");
  r.object("method");
  r.required<std::vector<std::string>>("notes");
  read_points(r, record);
  r.finish();
  return record;
}

}  // namespace linkcast
