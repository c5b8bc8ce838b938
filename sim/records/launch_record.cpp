#include "sim/records/launch_record.hpp"

#include <algorithm>

#include "sim/records/object_reader.hpp"

namespace linkcast {
namespace {

int count_of(ObjectReader& r, const std::string& key) {
  const int value = r.optional<int>(key).value_or(1);
  if (value < 1) r.fail(key, "must be at least 1");
  return value;
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

LaunchPoint read_launch_point(ObjectReader& r) {
  LaunchPoint point;
  point.launch = r.choice("launch", {"graph", "process", "single_process", "pytorch"});
  point.issuers = r.choice("issuers", {"one_thread", "threads", "processes"});
  point.op = r.required<std::string>("op");
  point.gpus = r.required<std::vector<int>>("gpus");
  if (point.gpus.empty()) r.fail("gpus", "names no GPU");
  point.size_B = r.required<double>("size_B");
  if (!(point.size_B > 0)) r.fail("size_B", "must be above 0");
  point.sends = count_of(r, "sends");
  point.communicators = count_of(r, "communicators");
  if (r.has("calls_per_graph")) point.calls_per_graph = count_of(r, "calls_per_graph");
  if ((point.launch == "graph") != (point.calls_per_graph > 0))
    r.fail("calls_per_graph", "belongs to launch 'graph', and to no other");
  point.async = r.optional<bool>("async").value_or(false);
  if (r.has("recording")) {
    point.recording = r.choice("recording", {"cuda", "cpu_cuda", "cpu_cuda_shapes"});
    point.events = read_events(r.object("events"));
  }
  r.choice("status", {"ok"});
  point.times_s = read_times(r.object("times_s"));
  r.finish();
  return point;
}

}  // namespace

LaunchRecord read_launch_record(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("launch/1");
  LaunchRecord record;
  record.id = r.required<std::string>("id");
  record.machine = r.required<std::string>("machine");
  record.topology = r.required<std::string>("topology");
  record.bench = r.required<std::string>("bench");
  r.required<std::string>("source");
  r.choice("timing", {"host"});
  ObjectReader environment = r.object("environment");  // the rest is recorded, not interpreted
  record.host_cpu = environment.required<std::string>("host_cpu");
  record.host_cores = environment.required<int>("host_cores");
  r.object("method");
  r.required<std::vector<std::string>>("notes");
  for (ObjectReader& point : r.objects("points")) {
    if (point.has("status") && point.raw("status") == "waived")
      ++record.waived;
    else
      record.points.push_back(read_launch_point(point));
  }
  if (record.points.empty() && record.waived == 0) r.fail("points", "holds no point");
  r.finish();
  return record;
}

}  // namespace linkcast
