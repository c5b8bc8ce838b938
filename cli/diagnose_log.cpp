#include "cli/diagnose_log.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "cli/trace_out.hpp"
#include "sim/records/gpu_model_names.hpp"
#include "sim/records/object_reader.hpp"
#include "sim/records/whole_file.hpp"

namespace linkcast::cli {
namespace {

/// By words that each program prints and the others do not.
std::string format_of(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw InputError(path + ": cannot be read");
  const std::string content = read_whole(file, path);
  const std::vector<std::pair<const char*, const char*>> words{
      {"measurement/1", "measurement"},
      {"nvbandwidth", "nvbandwidth"},
      {"GPU Bandwidth Latency Test", "p2pBandwidthLatencyTest"},
      {"D\\D", "p2pBandwidthLatencyTest"},  // where the title was cut off
      {"OSU MPI", "osu"},
      {"\"nccl_version\"", "nccl-tests"},  // as JSON, which names neither the program nor a column of its table
      {"nccl-tests", "nccl-tests"},
      {"busbw", "nccl-tests"}};
  for (const auto& [word, format] : words)
    if (content.find(word) != std::string::npos) return format;
  throw InputError(path +
                   ": is no measurement and no output of nccl-tests, nvbandwidth, p2pBandwidthLatencyTest or OSU; "
                   "--format says what it is");
}

/// Models that a record's environment names, each once, in their order.
std::vector<std::string> models_of(const Json& record) {
  std::vector<std::string> models;
  const auto add = [&](const Json& name) {
    if (name.is_string() && std::find(models.begin(), models.end(), name.get<std::string>()) == models.end())
      models.push_back(name.get<std::string>());
  };
  const Json environment = record.value("environment", Json::object());
  for (const char* key : {"gpu", "gpus", "gpu_names"}) {
    if (!environment.contains(key)) continue;
    if (environment[key].is_array())
      for (const Json& name : environment[key]) add(name);
    else
      add(environment[key]);
  }
  return models;
}

}  // namespace

DiagnosedLog read_log(const DiagnoseOptions& o, const std::string& topology, const std::string& path) {
  const std::string format = o.format.empty() ? format_of(path) : o.format;
  DiagnosedLog log;
  Json record;
  if (format == "measurement") {
    log.measurement = read_measurement(path);
    record = read_json_file(path);
  } else {
    const ImportRequest request{{path}, "box", topology, key_values(o.options, "import")};
    record = import_record(format, request);
    if (record.value("schema", "") != "measurement/1")
      throw InputError("--format: " + format + " gives no measurement");
    log.measurement = parse_measurement(record, path);
  }
  log.gpus = models_of(record);
  if (!o.library.empty()) log.measurement.library = o.library;
  return log;
}

void check_gpus(const DiagnosedLog& log, const Platform& platform, const std::string& name) {
  std::set<std::string_view> known;
  std::string here;
  for (const Device& device : platform.topology().devices) {
    if (device.kind != DeviceKind::kGpu) continue;
    if (here.empty()) here = device.model;
    const auto model = find_gpu_model(device.model);
    if (!model) return;  // nothing to compare with
    known.insert(model->words);
  }
  for (const std::string& printed : log.gpus) {
    const auto model = find_gpu_model(printed);
    if (model && known.count(model->words) == 0)
      throw InputError(log.measurement.path + ": is of '" + printed + "', " + name + " has '" + here +
                       "': say the --platform that it was run on, or --force");
  }
}

Json facts_of(const DiagnosedLog& log) {
  const Measurement& m = log.measurement;
  Json facts = Json::object();
  if (!log.gpus.empty()) facts["gpus"] = log.gpus;
  if (m.collectives.empty()) return facts;
  if (!m.library.empty()) facts["library"] = m.library;
  if (!m.library_version.empty()) facts["library_version"] = m.library_version;
  if (const std::string& launch = m.collectives.front().launch; !launch.empty()) facts["launch"] = launch;
  facts["nodes"] = m.collectives.front().nodes;
  if (m.nvls) facts["nvls"] = *m.nvls;
  return facts;
}

std::string facts_text(const Json& facts) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  for (const Json& gpu : facts.value("gpus", Json::array())) add(gpu.get<std::string>());
  for (const char* key : {"library", "launch"})
    if (facts.contains(key)) add(facts[key].get<std::string>());
  if (facts.contains("nodes")) add(facts["nodes"].dump() + (facts["nodes"] == 1 ? " node" : " nodes"));
  if (facts.contains("nvls")) add(facts["nvls"] == true ? "NVLS on" : "NVLS off");
  return text;
}

}  // namespace linkcast::cli
