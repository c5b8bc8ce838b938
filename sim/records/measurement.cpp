#include "sim/records/measurement.hpp"

#include "sim/records/file_hash.hpp"

namespace linkcast {
namespace {

constexpr double kLargest_B = 9007199254740992.0;  // source: 2^53, every whole number up to it is a double

std::vector<double> positive(ObjectReader& r, const std::string& key) {
  auto values = r.required<std::vector<double>>(key);
  if (values.empty()) r.fail(key, "must hold at least one repetition");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(values[i] > 0)) throw InputError(r.file(), r.pointer(key) + "/" + std::to_string(i), "must be above 0");
  return values;
}

std::vector<double> times_of(ObjectReader& r, double size_B) {
  if (r.has("time_s") == r.has("bandwidth_Bps")) r.fail("", "exactly one of time_s and bandwidth_Bps is needed");
  if (r.has("time_s")) return positive(r, "time_s");
  auto values = positive(r, "bandwidth_Bps");
  const double payloads = r.optional<double>("payload_count").value_or(1);
  if (!(payloads > 0)) r.fail("payload_count", "must be above 0");
  for (double& value : values) value = size_B * payloads / value;
  return values;
}

/// Facts about the run of a point that no fit uses. @throws InputError  if the data were wrong
void read_run_flags(ObjectReader& r) {
  if (r.has("status")) r.choice("status", {"ok"});
  if (!r.optional<bool>("verified").value_or(true)) r.fail("verified", "the copied data were wrong: not a measurement");
  r.optional<bool>("held_start");
}

MeasuredFlows read_flows(ObjectReader r) {
  MeasuredFlows group;
  group.pattern = r.required<std::string>("pattern");
  group.engine = r.choice("engine", {"ce", "sm"});
  if (r.has("direction")) group.direction = r.choice("direction", {"read", "write"});
  read_run_flags(r);
  const Json& flows = r.raw("flows");
  if (!flows.is_array() || flows.empty()) r.fail("flows", "must be a non-empty array of [source, target, size_B]");
  for (const Json& flow : flows) {
    if (!flow.is_array() || flow.size() != 3 || !flow[0].is_string() || !flow[1].is_string() || !flow[2].is_number())
      r.fail("flows", "each must be [source, target, size_B]");
    group.flows.push_back({flow[0].get<std::string>(), flow[1].get<std::string>(), flow[2].get<double>()});
  }
  group.time_s = positive(r, "time_s");
  group.flow_times_s = r.required<std::vector<std::vector<double>>>("flow_times_s");
  if (group.flow_times_s.size() != group.flows.size()) r.fail("flow_times_s", "must hold one list a flow");
  r.finish();
  return group;
}

MeasuredPoint read_point(ObjectReader r) {
  MeasuredPoint point;
  point.transport = r.choice("transport", {"local", "peer", "relay", "staged", "host"});
  point.source = r.required<std::string>("source");
  point.target = r.required<std::string>("target");
  point.via = r.optional<std::string>("via").value_or("");
  if (point.via.empty() == (point.transport == "relay"))
    r.fail("via", "a relay needs the relaying device, no other transport has one");
  if ((point.source == point.target) != (point.transport == "local"))
    r.fail("target", "source and target are the same device for local copies, and only for those");
  if (r.has("direction")) point.direction = r.choice("direction", {"read", "write"});
  point.bidirectional = r.optional<bool>("bidirectional").value_or(false);
  if (r.has("engine")) point.engine = r.choice("engine", {"ce", "sm"});
  point.pageable = r.optional<bool>("pageable").value_or(false);
  read_run_flags(r);
  point.size_B = r.required<double>("size_B");
  if (!(point.size_B >= 1)) r.fail("size_B", "must be at least 1");
  if (point.size_B > kLargest_B) r.fail("size_B", "must be at most 2^53");
  point.time_s = times_of(r, point.size_B);
  r.finish();
  return point;
}

}  // namespace

Measurement read_measurement(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("measurement/1");
  Measurement m;
  m.path = path;
  m.sha256 = sha256_of_file(path);
  m.id = r.required<std::string>("id");
  m.machine = r.required<std::string>("machine");
  m.topology = r.required<std::string>("topology");
  m.bench = r.required<std::string>("bench");
  m.source = r.required<std::string>("source");
  m.timing = r.choice("timing", {"back_to_back", "single"});
  r.object("environment");  // free text about the machine: recorded, not interpreted
  r.object("method");
  m.notes = r.optional<std::vector<std::string>>("notes").value_or(std::vector<std::string>{});
  for (ObjectReader& point : r.objects("points")) {
    if (point.has("status") && point.raw("status") == "waived")
      ++m.waived;
    else if (point.has("flows"))
      m.flows.push_back(read_flows(point));
    else
      m.points.push_back(read_point(point));
  }
  if (m.points.empty() && m.flows.empty() && m.waived == 0) r.fail("points", "holds no point");
  r.finish();
  return m;
}

}  // namespace linkcast
