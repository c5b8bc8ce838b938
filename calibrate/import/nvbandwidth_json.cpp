// JSON of nvbandwidth -j: {"nvbandwidth": {"version", "testcases": [{"name", "status", "bandwidth_description",
// "bandwidth_matrix", "sum"}], ...}}. Keys that are not needed are passed over.
#include "calibrate/import/nvbandwidth_log.hpp"
#include "sim/base/foreign_json.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The first key with this ending: bandwidth_matrix, latency_matrix.
std::string key_ending(const Json& object, const std::string& end) {
  for (const auto& [key, value] : object.items())
    if (ends_with(key, end)) return key;
  return "";
}

std::string cell_text(const Json& cell, const ObjectReader& test, const std::string& key) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_null()) return "N/A";
  if (!cell.is_number()) test.fail(key, "each cell must be a number, as such or as text, or N/A");
  return cell.dump();
}

NvbandwidthMatrix read_matrix_of(const Json& object, ObjectReader& test) {
  NvbandwidthMatrix matrix;
  const std::string title = key_ending(object, "_description"), key = key_ending(object, "_matrix");
  if (title.empty() || key.empty())
    test.fail("", "a test that passed needs bandwidth_description and bandwidth_matrix");
  matrix.title = test.required<std::string>(title);
  matrix.place = test.file() + ":" + test.pointer(title);
  const Json& rows = test.raw(key);
  if (!rows.is_array() || rows.empty()) test.fail(key, "must be a non-empty array of rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].empty() || rows[i].size() != rows[0].size())
      test.fail(key + "/" + std::to_string(i), "must be an array as long as the first row");
    matrix.cells.emplace_back();
    matrix.places.push_back(test.file() + ":" + test.pointer(key) + "/" + std::to_string(i));
    for (const Json& cell : rows[i]) matrix.cells.back().push_back(cell_text(cell, test, key));
  }
  return matrix;
}

void read_testcase(const Json& object, ObjectReader& reader, NvbandwidthLog& log) {
  const auto name = reader.required<std::string>("name");
  const std::string status = reader.choice("status", {"Passed", "Waived", "Error", "Not Found", "Running"});
  if (status != "Passed" && status != "Waived") reader.fail("status", "test " + name + " did not pass: " + status);
  if (log.tests.empty() || log.tests.back().name != name)
    log.tests.push_back({name, reader.file() + ":" + reader.pointer(), false, {}});
  if (status == "Waived")
    log.tests.back().waived = true;
  else
    log.tests.back().matrices.push_back(read_matrix_of(object, reader));
}

/// "0: NVIDIA H100 80GB HBM3: 00000000:0f:00" to the name between the number and the bus id.
std::string gpu_name(const std::string& text) {
  const std::size_t begin = text.find(": ");
  if (begin == std::string::npos) return text;
  return text.substr(begin + 2, text.find(": ", begin + 2) - begin - 2);
}

/// The object that holds "nvbandwidth", at any depth, as such or as text: DCGM's diagnosis passes on what it printed.
/// @returns  null if there is none
Json holder_of(const Json& json, int depth = 0) {
  constexpr int kDeepest = 12;  // of DCGM's results. source: ours
  if (json.is_object() && json.contains("nvbandwidth") && json["nvbandwidth"].is_object()) return json;
  if (json.is_string() && json.get_ref<const std::string&>().find("\"testcases\"") != std::string::npos) {
    const Json inside = parse_foreign_json(json.get_ref<const std::string&>(), "what nvbandwidth printed");
    return inside.is_object() && inside.contains("nvbandwidth") ? inside : Json();
  }
  if (depth > kDeepest || !json.is_structured()) return {};
  for (const Json& part : json)
    if (Json found = holder_of(part, depth + 1); !found.is_null()) return found;
  return {};
}

}  // namespace

NvbandwidthLog read_nvbandwidth_json(const TextFile& file) {
  const Json all = parse_json(file.text(), file.path());
  const Json json = all.is_object() && all.contains("nvbandwidth") ? all : holder_of(all);
  if (json.is_null()) throw InputError(file.path(), "/nvbandwidth", "missing key: no JSON of nvbandwidth");
  ObjectReader whole(json, file.path());
  ObjectReader r = whole.object("nvbandwidth");
  if (r.has("error")) r.fail("error", "the run failed: " + r.raw("error").dump());
  NvbandwidthLog log;
  log.complete = true;
  log.version = r.required<std::string>("version");
  if (!log.version.empty() && log.version.front() == 'v') log.version.erase(0, 1);
  for (const char* key : {"CUDA Runtime Version", "CUDA Driver Version", "Driver Version"})
    if (r.has(key)) {
      const Json& value = r.raw(key);
      log.facts.emplace_back(fact_key(key), value.is_string() ? value.get<std::string>() : value.dump());
    }
  if (const auto names = r.optional<std::vector<std::string>>("GPU Device list"))
    for (const std::string& name : *names) log.gpus.push_back(gpu_name(name));
  const Json& tests = r.raw("testcases");
  auto readers = r.objects("testcases");
  if (readers.empty()) r.fail("testcases", "holds no test");
  for (std::size_t i = 0; i < readers.size(); ++i) read_testcase(tests[i], readers[i], log);
  return log;
}

}  // namespace linkcast
