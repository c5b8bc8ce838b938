#include "validate/emulation/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/xml_node.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"
#include "sim/records/measurement.hpp"
#include "validate/emulation/study.hpp"

namespace linkcast {
namespace {

using topology_import::XmlNode;

double speed_of(const XmlNode& graph) {
  std::istringstream text(graph.text("speedintra"));
  double value = 0;
  if (!(text >> value) || !text.eof() || value < 0) graph.fail("speedintra", "is no speed in GB/s");
  return value;
}

/// NCCL writes 0 and 0x1 to 0xf since 2.19, 0 to 15 before.
int gpu_of(const XmlNode& node) {
  const std::string text = node.text("dev");
  if (!text.starts_with("0x")) return node.number("dev", 0);
  constexpr int kHex = 16;
  int gpu = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, gpu, kHex);
  if (read.ec != std::errc() || read.ptr != end || gpu < 0) node.fail("dev", "'" + text + "' is no GPU's number");
  return gpu;
}

DumpedGraph graph_of(const XmlNode& node) {
  DumpedGraph graph;
  graph.id = node.number("id", 0);
  graph.pattern = node.number("pattern", 0);
  graph.channels = node.number("nchannels", 0);
  graph.speed_GBps = speed_of(node);
  graph.path_class = node.text("typeintra");
  graph.one_order = node.number("samechannels", 0) != 0;
  for (const XmlNode& channel : node.children("channel")) {
    graph.orders.emplace_back();
    for (const XmlNode& gpu : channel.children("gpu")) graph.orders.back().push_back(gpu_of(gpu));
  }
  if (static_cast<int>(graph.orders.size()) != graph.channels)
    node.fail("nchannels", fmt::format("{} channels follow", graph.orders.size()));
  return graph;
}

}  // namespace

std::vector<DumpedGraph> read_graph_dump(const std::string& path) {
  const topology_import::XmlFile file(path);
  const topology_import::XmlNode root = file.root_named("graphs", "not what NCCL_GRAPH_DUMP_FILE writes");
  std::vector<DumpedGraph> graphs;
  for (const XmlNode& graph : root.children("graph")) graphs.push_back(graph_of(graph));
  return graphs;
}

}  // namespace linkcast

namespace linkcast::emulation {

namespace fs = std::filesystem;
namespace {

constexpr double kFrom_B = 1048576;  // source: the sizes that links decide, from 1 MiB on
constexpr double kSameSpeed = 0.01;  // source: NCCL prints speeds with one or two digits
constexpr int kRing = 0, kTree = 1;  // source: NCCL's graph dump, attribute id

using Key = std::pair<std::string, double>;  // operation, size

/// What was found of one case.
struct Found {
  std::map<Key, std::vector<double>> times_s{};
  std::vector<DumpedGraph> graphs{};
  std::vector<std::string> waived{};  ///< why points were not measured
};

using Cases = std::map<std::string, Found>;

Found& case_at(Cases& cases, const std::string& id, const fs::path& file) {
  const auto known = cases.find(id);
  if (known == cases.end()) throw InputError(file.string() + ": '" + id + "' is no case of study.json");
  return known->second;
}

void add_times(const Measurement& measurement, Found& found) {
  for (const MeasuredCollective& one : measurement.collectives) {
    if (one.in_place) continue;
    std::vector<double>& times = found.times_s[{one.op, one.size_B}];
    times.insert(times.end(), one.time_s.begin(), one.time_s.end());
  }
}

/// A record of linkcast-bench, whose method names the case.
void read_record(const fs::path& path, Cases& cases) {
  const Json json = read_json_file(path.string());
  const std::string id = json.is_object() && json.contains("method") ? json["method"].value("case", "") : "";
  if (id.empty())
    throw InputError(path.string(), "/method/case", "names no case: a record of linkcast-bench --emulate?");
  Found& found = case_at(cases, id, path);
  const Measurement measurement = parse_measurement(json, path.string());
  add_times(measurement, found);
  if (measurement.waived > 0)
    for (const Json& point : json["points"])
      if (point.value("status", "") == "waived") {
        found.waived.push_back(point.value("reason", ""));
        break;
      }
}

/// What a file's name has before its n-th dot; ids of cases have none.
std::string part_of(const fs::path& path, int n) {
  std::istringstream name(path.filename().string());
  std::string part;
  for (int i = 0; i <= n; ++i) std::getline(name, part, '.');
  return part;
}

/// "<case>.<operation>[.<occasion>].log" of nccl-tests.
void read_log(const fs::path& path, const std::string& machine, Cases& cases) {
  if (!path.stem().has_extension())
    throw InputError(path.string() + ": a log is called CASE.OPERATION.log or CASE.OPERATION.OCCASION.log");
  Found& found = case_at(cases, part_of(path, 0), path);
  const ImportRequest request{{path.string()}, "emulated", machine, {{"op", part_of(path, 1)}}};
  add_times(parse_measurement(import_record("nccl-tests", request), path.string()), found);
}

Cases read_results(const fs::path& folder, const Json& study) {
  Cases cases;
  for (const Json& one : study["cases"]) cases[one["id"].get<std::string>()];
  const fs::path results = folder / "results";
  if (!fs::is_directory(results)) throw InputError(results.string() + ": no results: run run.sh on the machine first");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(results)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  constexpr const char* kGraph = ".graph.xml";
  for (const fs::path& file : files) {
    if (file.filename().string().ends_with(kGraph)) {
      const auto read = read_graph_dump(file.string());
      std::vector<DumpedGraph>& graphs = case_at(cases, part_of(file, 0), file).graphs;
      graphs.insert(graphs.end(), read.begin(), read.end());
    } else if (file.extension() == ".json")
      read_record(file, cases);
    else if (file.extension() == ".log")
      read_log(file, study["machine"].get<std::string>(), cases);
  }
  return cases;
}

/// A ring from its lowest GPU on; a tree's chain as it is.
std::vector<std::vector<int>> normal(std::vector<std::vector<int>> orders, bool rings) {
  if (rings)
    for (std::vector<int>& order : orders)
      std::rotate(order.begin(), std::min_element(order.begin(), order.end()), order.end());
  return orders;
}

/// Forecast and chosen side by side. @param found  channels that the search is forecast to find; used are the least of
/// rings and trees
Json graph_row(const Json& forecast, const DumpedGraph& chosen, bool rings) {
  const auto expected = normal(forecast[rings ? "channels" : "trees"].get<std::vector<std::vector<int>>>(), rings);
  auto orders = normal(chosen.orders, rings);
  const auto searched =
      rings ? forecast.value("rings_found", static_cast<int>(expected.size())) : static_cast<int>(expected.size());
  const double speed = forecast[rings ? "library_channel_bandwidth_Bps" : "library_tree_bandwidth_Bps"].get<double>();
  orders.resize(std::min(orders.size(), expected.size()));
  const bool same_channels = searched == chosen.channels, same_order = orders == expected;
  const std::string path_class = forecast[rings ? "path_class" : "tree_class"].get<std::string>();
  const bool same_speed = std::abs(speed / kGiga - chosen.speed_GBps) <= kSameSpeed * chosen.speed_GBps;
  return {{"equal", same_channels && same_order && same_speed && path_class == chosen.path_class},
          {"channels", {{"forecast", searched}, {"chosen", chosen.channels}}},
          {"orders", {{"forecast", expected}, {"chosen", normal(chosen.orders, rings)}, {"equal", same_order}}},
          {"path_class", {{"forecast", path_class}, {"chosen", chosen.path_class}}},
          {"speed_Bps", {{"forecast", speed}, {"chosen", chosen.speed_GBps * kGiga}}}};
}

/// Of several occasions the first one that is not as forecast.
void put_graph(Json& row, const char* name, Json graph) {
  if (!row.contains(name) || row[name]["equal"].get<bool>()) row[name] = std::move(graph);
}

struct Errors {
  std::vector<double> relative;
  int inside = 0;
};

Json case_row(const Json& asked, const Json& forecast, const Found& found, std::map<std::string, Errors>& errors) {
  Json row{{"id", asked["id"]}, {"about", asked["about"]}, {"times", Json::array()}};
  for (const DumpedGraph& graph : found.graphs) {
    if (graph.id == kRing) put_graph(row, "rings", graph_row(forecast, graph, true));
    if (graph.id == kTree) put_graph(row, "trees", graph_row(forecast, graph, false));
  }
  if (!found.waived.empty()) row["waived"] = found.waived.front();
  for (const Json& expected : forecast["times"]) {
    const auto times = found.times_s.find({expected["op"].get<std::string>(), expected["size_B"].get<double>()});
    if (times == found.times_s.end()) continue;
    const double measured_s = median(times->second), time_s = expected["time_s"].get<double>();
    Json time = expected;
    time["measured_s"] = measured_s;
    time["error"] = time_s / measured_s - 1;
    time["inside"] =
        expected["time_low_s"].get<double>() <= measured_s && measured_s <= expected["time_high_s"].get<double>();
    if (times->first.second >= kFrom_B) {
      Errors& all = errors[times->first.first];
      all.relative.push_back(std::abs(time_s / measured_s - 1));
      all.inside += time["inside"].get<bool>() ? 1 : 0;
    }
    row["times"].push_back(std::move(time));
  }
  return row;
}

Json operations_of(const std::map<std::string, Errors>& errors) {
  Json rows = Json::array();
  for (const auto& [op, all] : errors) {
    constexpr double kMost = 0.95;  // source: what a 95th percentile is
    const auto points = static_cast<double>(all.relative.size());
    rows.push_back({{"op", op},
                    {"points", all.relative.size()},
                    {"median_error", median(all.relative)},
                    {"p95_error", quantile(all.relative, kMost)},
                    {"inside", static_cast<double>(all.inside) / points}});
  }
  return rows;
}

Json read_with_schema(const fs::path& path, const char* schema) {
  Json json = read_json_file(path.string());
  ObjectReader(json, path.string()).schema(schema);
  if (!json.contains("cases") || !json["cases"].is_array())
    throw InputError(path.string(), "/cases", "must be an array");
  return json;
}

}  // namespace

Json compare_study(const std::string& folder) {
  const Json study = read_with_schema(fs::path(folder) / "study.json", "emulation/1");
  const Json forecast = read_with_schema(fs::path(folder) / "forecast.json", "emulation-forecast/1");
  const Cases cases = read_results(folder, study);
  std::map<std::string, const Json*> expected;
  for (const Json& one : forecast["cases"]) expected[one["id"].get<std::string>()] = &one;
  std::map<std::string, Errors> errors;
  Json out{{"schema", "emulation-comparison/1"}, {"cases", Json::array()}};
  int compared = 0, equal = 0;
  for (const Json& asked : study["cases"]) {
    const auto id = asked["id"].get<std::string>();
    if (!expected.count(id)) throw InputError(folder + "/forecast.json", "/cases", "has no forecast of '" + id + "'");
    Json row = case_row(asked, *expected[id], cases.at(id), errors);
    for (const char* graph : {"rings", "trees"})
      if (row.contains(graph)) {
        ++compared;
        equal += row[graph]["equal"].get<bool>() ? 1 : 0;
      }
    out["cases"].push_back(std::move(row));
  }
  out["operations"] = operations_of(errors);
  out["graphs"] = {{"compared", compared}, {"equal", equal}};
  return out;
}

}  // namespace linkcast::emulation
