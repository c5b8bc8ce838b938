#include "sim/records/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "sim/base/file_hash.hpp"
#include "sim/base/ranges.hpp"
#include "sim/records/launch_record.hpp"

namespace linkcast {
namespace {

/// @param unit  s or B/s
std::vector<double> positive(ObjectReader& r, const std::string& key, std::string_view unit) {
  auto values = r.required<std::vector<double>>(key);
  if (values.empty()) r.fail(key, "must hold at least one repetition");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string wrong = values[i] > 0 ? range_refusal(unit, values[i]) : "must be above 0";
    if (!wrong.empty()) throw InputError(r.file(), fmt::format("{}/{}", r.pointer(key), i), wrong);
  }
  return values;
}

std::vector<double> times_of(ObjectReader& r, double size_B) {
  if (r.has("time_s") == r.has("bandwidth_Bps")) r.fail("", "exactly one of time_s and bandwidth_Bps is needed");
  if (r.has("time_s")) return positive(r, "time_s", "s");
  auto values = positive(r, "bandwidth_Bps", "B/s");
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
  group.engine = read_spelled<CopyUnit>(r, "engine");
  if (r.has("direction")) group.direction = read_spelled<CopyDirection>(r, "direction");
  read_run_flags(r);
  const Json& flows = r.raw("flows");
  if (!flows.is_array() || flows.empty()) r.fail("flows", "must be a non-empty array of [source, target, size_B]");
  for (const Json& flow : flows) {
    if (!flow.is_array() || flow.size() != 3 || !flow[0].is_string() || !flow[1].is_string() || !flow[2].is_number())
      r.fail("flows", "each must be [source, target, size_B]");
    group.flows.push_back({flow[0].get<std::string>(), flow[1].get<std::string>(), flow[2].get<double>()});
  }
  group.time_s = positive(r, "time_s", "s");
  group.flow_times_s = r.required<std::vector<std::vector<double>>>("flow_times_s");
  if (group.flow_times_s.size() != group.flows.size()) r.fail("flow_times_s", "must hold one list a flow");
  r.finish();
  return group;
}

double size_of(ObjectReader& r, const std::string& key) {
  const double size = r.required<double>(key);
  if (!(size >= 1)) r.fail(key, "must be at least 1");
  if (size > kLargest_B) r.fail(key, "must be at most 2^53");
  return size;
}

/// Where a point runs: its devices, and whether they belong to two nodes.
void read_ends(ObjectReader& r, MeasuredPoint& point) {
  point.transport = read_spelled<Carrier>(r, "transport");
  point.source = r.required<std::string>("source");
  point.target = r.required<std::string>("target");
  point.via = r.optional<std::string>("via").value_or("");
  if (point.via.empty() == (point.transport == Carrier::kRelay))
    r.fail("via", "a relay needs the relaying device, no other transport has one");
  point.between_nodes = r.optional<bool>("between_nodes").value_or(false);
  if (point.between_nodes != is_network(point.transport) && point.transport != Carrier::kMpi)
    r.fail("between_nodes", "is true for the transports between nodes, and only for those and mpi");
  const bool processes = is_message(point.transport);  // two of them may share a device
  if (!processes && (point.source == point.target) != (point.transport == Carrier::kLocal))
    r.fail("target", "source and target are the same device for local copies, and only for those");
}

MeasuredPoint read_point(ObjectReader r) {
  MeasuredPoint point;
  read_ends(r, point);
  if (r.has("direction")) point.direction = read_spelled<CopyDirection>(r, "direction");
  point.bidirectional = r.optional<bool>("bidirectional").value_or(false);
  if (r.has("engine")) point.engine = read_spelled<CopyUnit>(r, "engine");
  point.pageable = r.optional<bool>("pageable").value_or(false);
  read_run_flags(r);
  point.size_B = size_of(r, "size_B");
  if (r.has("working_set_B")) point.working_set_B = size_of(r, "working_set_B");
  if (r.has("chunk_B")) {
    if (point.transport != Carrier::kRelay) r.fail("chunk_B", "only relayed copies are sent in chunks");
    point.chunk_B = size_of(r, "chunk_B");
    if (point.chunk_B >= point.size_B) point.chunk_B = 0;
  }
  point.pairs = r.optional<int>("pairs").value_or(1);
  point.in_a_row = r.optional<int>("in_a_row").value_or(1);
  if (point.pairs < 1) r.fail("pairs", "must be at least 1");
  if (point.in_a_row < 1) r.fail("in_a_row", "must be at least 1");
  point.time_s = times_of(r, point.size_B);
  r.finish();
  return point;
}

bool of_several(const ObjectReader& r) { return r.has("pairs") || r.has("in_a_row"); }

MeasuredCollective read_collective(ObjectReader r, int place) {
  MeasuredCollective c;
  c.point = place;
  c.op = read_spelled<NcclOp>(r, "op");
  c.gpus = r.required<std::vector<int>>("gpus");
  c.nodes = r.optional<int>("nodes").value_or(1);
  if (c.nodes < 1) r.fail("nodes", "must be at least 1");
  if (c.gpus.size() * static_cast<std::size_t>(c.nodes) < 2) r.fail("gpus", "a collective has at least two members");
  for (std::size_t i = 0; i < c.gpus.size(); ++i)
    if (c.gpus[i] < 0 || std::count(c.gpus.begin(), c.gpus.end(), c.gpus[i]) > 1)
      r.fail(fmt::format("gpus/{}", i), "each member is named once, by its number");
  if (r.has("algorithm")) c.algorithm = read_spelled<ForcedAlgorithm>(r, "algorithm");
  if (r.has("protocol")) c.protocol = r.choice("protocol", {"LL", "LL128", "Simple"});
  if (r.has("launch")) c.launch = r.choice("launch", launch_kinds());
  c.channels = r.optional<int>("channels").value_or(0);
  c.in_place = r.optional<bool>("in_place").value_or(false);
  if (r.has("with"))
    for (ObjectReader& other : r.objects("with")) {
      c.with.push_back({other.required<std::string>("op"), other.required<std::vector<int>>("gpus"), 0});
      c.with.back().size_B = size_of(other, "size_B");
      other.finish();
    }
  read_run_flags(r);
  c.size_B = size_of(r, "size_B");
  c.time_s = positive(r, "time_s", "s");
  r.finish();
  return c;
}

std::optional<double> figure(ObjectReader& r, const std::string& key) {
  const auto value = r.optional<double>(key);
  if (value && !(*value > 0)) r.fail(key, "must be above 0");
  const std::string wrong = value ? range_refusal(key.ends_with("_Bps") ? "B/s" : "s", *value) : "";
  if (!wrong.empty()) r.fail(key, wrong);
  return value;
}

MeasuredSpread read_spread(ObjectReader r) {
  MeasuredPoint ends;
  read_ends(r, ends);
  if (!ends.between_nodes) r.fail("between_nodes", "figures of a distribution are of messages between nodes");
  MeasuredSpread spread{ends.transport, ends.source, ends.target, r.required<std::string>("distance")};
  spread.service_level = r.required<int>("service_level");
  if (spread.service_level < 0) r.fail("service_level", "must be 0 or more");
  spread.size_B = size_of(r, "size_B");
  spread.repetitions = r.required<int>("repetitions");
  if (spread.repetitions < 2) r.fail("repetitions", "must be at least 2");
  spread.mean_time_s = figure(r, "mean_time_s");
  spread.p95_time_s = figure(r, "p95_time_s");
  spread.max_time_s = figure(r, "max_time_s");
  spread.mean_Bps = figure(r, "mean_bandwidth_Bps");
  spread.min_Bps = figure(r, "min_bandwidth_Bps");
  if (spread.mean_time_s.has_value() == spread.mean_Bps.has_value())
    r.fail("", "exactly one of mean_time_s and mean_bandwidth_Bps is needed");
  if (spread.mean_time_s && spread.max_time_s && *spread.max_time_s <= *spread.mean_time_s)
    r.fail("max_time_s", "must be above the mean");
  if (spread.mean_Bps && spread.min_Bps && *spread.min_Bps >= *spread.mean_Bps)
    r.fail("min_bandwidth_Bps", "must be below the mean");
  r.finish();
  return spread;
}

}  // namespace

double version_of(const std::string& text) {
  constexpr double kMinor = 10;
  std::istringstream in(text);
  int major = 0, minor = 0;
  char dot = 0;
  if (!(in >> major) || major < 1) return 0;
  if (in >> dot && dot == '.') in >> minor;
  return minor >= 0 && minor < kMinor ? major + minor / kMinor : 0;
}

bool Measurement::of_base_costs() const { return bench == "nccl_base"; }

Measurement read_measurement(const std::string& path) { return parse_measurement(read_json_file(path), path); }

Measurement parse_measurement(const Json& json, const std::string& path) {
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
  m.timing = read_spelled<CopyTiming>(r, "timing");
  m.library = r.optional<std::string>("library").value_or("");
  m.library_version = r.optional<std::string>("library_version").value_or("");
  const bool numbered = m.library.starts_with("mpi-") ? version_of(m.library_version) > 0
                                                      : std::isdigit(static_cast<unsigned char>(m.library_version[0]));
  if (!m.library_version.empty() && !numbered) r.fail("library_version", "must begin with numbers, as 4.0.5");
  m.precision = r.optional<double>("precision").value_or(0);
  if (!(m.precision >= 0 && m.precision < 1)) r.fail("precision", "must be 0 or more and below 1");
  r.object("environment");  // free text about the machine: recorded, not interpreted
  r.object("method");
  if (m.library_version.empty() && json.contains("method") && json["method"].is_object())
    m.library_version = json["method"].value("nccl", "");
  if (json.contains("method") && json["method"].contains("settings") && json["method"]["settings"].is_string()) {
    const auto settings = json["method"]["settings"].get<std::string>();
    m.peer_access = settings.find("NCCL_P2P_DISABLE=1") == std::string::npos;
    if (settings.find("NCCL_NVLS_ENABLE=") != std::string::npos)
      m.nvls = settings.find("NCCL_NVLS_ENABLE=0") == std::string::npos;
  }
  m.notes = r.optional<std::vector<std::string>>("notes").value_or(std::vector<std::string>{});
  int place = -1;
  for (ObjectReader& point : r.objects("points")) {
    ++place;
    if (point.has("status") && point.raw("status") == "waived")
      ++m.waived;
    else if (point.has("flows"))
      m.flows.push_back(read_flows(point));
    else if (point.has("repetitions"))
      m.spreads.push_back(read_spread(point));
    else if (point.has("op"))
      m.collectives.push_back(read_collective(point, place));
    else
      (of_several(point) ? m.several : point.has("working_set_B") ? m.loads : m.points).push_back(read_point(point));
  }
  if (m.points.empty() && m.several.empty() && m.flows.empty() && m.loads.empty() && m.collectives.empty() &&
      m.spreads.empty() && m.waived == 0)
    r.fail("points", "holds no point");
  r.finish();
  return m;
}

}  // namespace linkcast
