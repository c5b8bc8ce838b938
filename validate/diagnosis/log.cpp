#include "validate/diagnosis/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_log.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/forecast_mark.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::diagnosis {
namespace {

/// Bus ids in "Rank 3 ... device 3 [0x3b] NAME" and "Device: 3, NAME, pciBusID: 3b": the first node's.
std::map<int, std::string> buses_of(const std::string& text) {
  static const Regex rank(R"(Rank\s+\d+\s.*\sdevice\s+(\d{1,4})\s+\[([0-9a-fA-Fx:.]+)\])"),
      device(R"(Device: (\d{1,4}), .+, pciBusID: (\w+),)");
  std::map<int, std::string> buses;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    for (const Regex* form : {&rank, &device})
      if (const Match match = form->find(line)) buses.emplace(std::stoi(match[1]), match[2]);
  return buses;
}

/// The two digits of "0x3b", "3b", "0000:3b:00" or "0000:3b:00.0", in lower case; 0x3b000 of old versions, too.
std::string bus_digits(const std::string& bus) {
  static const Regex form(R"((?:0x|[0-9a-fA-F]{4,8}:)?([0-9a-fA-F]{1,2})(?:000|:.*)?)");
  const Match match = form.whole(bus);
  if (!match) return "";
  std::string digits = match[1];
  std::transform(digits.begin(), digits.end(), digits.begin(), [](unsigned char ch) { return std::tolower(ch); });
  return digits.size() == 1 ? "0" + digits : digits;
}

/// @throws InputError  none is known
std::string format_of(const std::string& path) {
  if (const std::string format = log_format(path); !format.empty()) return format;
  if (file_text(path).find("DCGM_FI_") != std::string::npos)
    throw InputError(path +
                     ": fields of DCGM say how busy a machine is, not what it can: 'dcgmi diag -r 3 --json' measures");
  throw InputError(
      path +
      ": is no measurement and no output of nccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU, perftest, "
      "ucx_perftest or DCGM; "
      "set format to what it is");
}

const std::string kNcclTests = "nccl-tests", kHosts = "hosts";  // format, and its option

std::set<std::string> hosts_of(const NcclRun& run) {
  std::set<std::string> hosts;
  for (const NcclRank& rank : run.ranks) hosts.insert(rank.host);
  return hosts;
}

/// Whether a version such as 2.19 is among "NCCL 2.18 and 2.19", "NCCL 2.23 to 2.26" or "NCCL 2.22".
bool includes(const std::string& versions, const std::string& version) {
  static const Regex range(R"((\d+)\.(\d+)(?:(?: and | to |-)(\d+)\.(\d+))?)"),
      one(R"((\d{1,6})\.(\d{1,6}).*)");  // of a file, which may say anything
  const Match ends = range.find(versions), wanted = one.whole(version);
  if (!ends || !wanted) return false;
  const auto number = [](const Match& match, std::size_t at) {
    return std::pair(std::stoi(match[at]), std::stoi(match[at + 1]));
  };
  const auto last = ends.has(3) ? number(ends, 3) : number(ends, 1);
  return number(ends, 1) <= number(wanted, 1) && number(wanted, 1) <= last;
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

std::string log_format(const std::string& path) {
  static const Regex sum(R"(\bSUM [a-z]+(_[a-z]+)+ [0-9.]+)");      // stands alone where more was cut off
  static const Regex own(R"re("schema"\s*:\s*"([a-z-]+)/\d+")re");  // may quote what benchmarks print
  const std::string content = file_text(path);
  if (const Match record = own.find(content)) return record[1] == "measurement" ? "measurement" : "";
  const std::vector<std::pair<const char*, const char*>> words{
      {"\"test_categories\"", "dcgm"},  // which may hold what nvbandwidth printed
      {"nvbandwidth", "nvbandwidth"},
      {"GPU Bandwidth Latency Test", "p2pBandwidthLatencyTest"},
      {"D\\D", "p2pBandwidthLatencyTest"},  // where the title was cut off
      {"OSU MPI", "osu"},
      {"message rate (msg/s)", "ucx_perftest"},
      {"#bytes     #iterations", "perftest"},
      {"#bytes #iterations", "perftest"},
      {"\"test_info\"", "perftest"},
      {"RocmBandwidthTest Version", "rocm-bandwidth-test"},
      {"\"coll_perf\"", "nccl-inspector"},
      {"nccl_dtype,num_gpus", "aiconfigurator"},
      {"\"nccl_version\"", "nccl-tests"},  // as JSON, which names neither the program nor a column of its table
      {"nccl-tests", "nccl-tests"},
      {"busbw", "nccl-tests"}};
  for (const auto& [word, format] : words)
    if (content.find(word) != std::string::npos) return format;
  if (sum.find(content)) return "nvbandwidth";
  return "";
}

namespace {

// The first figure of a program without warm-up is cold where its repetition is so many times shorter. source: ours, a
// machine so much slower is not normal
constexpr double kCold = 1.5;

/// p2pBandwidthLatencyTest does not warm up: its first cell holds what the first copy of all takes, and the same copy
/// is in the next matrix. source: NVIDIA/cuda-samples, p2pBandwidthLatencyTest.cu, outputBandwidthMatrix()
void drop_cold_figure(DiagnosedLog& log) {
  std::vector<MeasuredPoint>& points = log.measurement.points;
  if (points.empty() || points.front().time_s.size() < 2) return;
  std::vector<double>& times = points.front().time_s;
  const double again_s = *std::max_element(times.begin() + 1, times.end());
  if (times.front() < kCold * again_s) return;
  log.left_out = fmt::format(
      "the first figure printed, {} -> {}, is cold: it took {:.1f} times its repetition, and the "
      "program does not warm up",
      points.front().source, points.front().target, times.front() / again_s);
  times.erase(times.begin());
}

}  // namespace

DiagnosedLog read_log(const LogFormat& o, const std::string& topology, const std::string& path) {
  const std::string format = o.format.empty() ? format_of(path) : o.format;
  DiagnosedLog log;
  Json record;
  if (format == "measurement") {
    log.measurement = read_measurement(path);
    record = read_json_file(path);
  } else {
    const ImportRequest request{{path}, "box", topology, o.options};
    expect_import(format, request.files);
    record = import_record(format, request);
    if (record.value("schema", "") != "measurement/1") throw InputError("format: " + format + " gives no measurement");
    log.measurement = parse_measurement(record, path);
  }
  log.gpus = models_of(record);
  log.version = record.value("environment", Json::object()).value("library_version", log.measurement.library_version);
  log.buses = buses_of(file_text(path));
  if (is_forecast(log.measurement.source))
    log.left_out = "any measurement: the file says that it is a " + std::string(kForecastMark);
  if (format == "p2pBandwidthLatencyTest") drop_cold_figure(log);
  if (format == kNcclTests) {
    const auto said = o.options.find(kHosts);
    for (const NcclRun& run : read_nccl_runs(path))
      for (const NcclRank& rank : run.ranks)
        if (said == o.options.end() || joined(hosts_of(run), ",") == said->second) log.hosts.insert(rank.host);
  }
  if (!o.library.empty()) log.measurement.library = o.library;
  return log;
}

std::vector<LogPart> parts_of_log(const LogFormat& format, const std::string& path) {
  const std::vector<LogPart> whole{{path, path, format}};
  if (format.options.contains(kHosts) || (format.format.empty() ? log_format(path) : format.format) != kNcclTests)
    return whole;
  std::vector<LogPart> parts;
  std::set<std::set<std::string>> known;
  for (const NcclRun& run : read_nccl_runs(path)) {
    const std::set<std::string> hosts = hosts_of(run);
    if (hosts.empty()) return whole;
    if (!known.insert(hosts).second) continue;
    parts.push_back({path, fmt::format("{} ({})", path, joined(hosts, " ")), format});
    parts.back().format.options[kHosts] = joined(hosts, ",");
  }
  return parts.size() > 1 ? parts : whole;
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
                       "': name the platform that it was run on, or set force");
  }
}

Json facts_of(const DiagnosedLog& log) {
  const Measurement& m = log.measurement;
  Json facts = Json::object();
  if (!log.gpus.empty()) facts["gpus"] = log.gpus;
  if (!log.left_out.empty()) facts["left_out"] = log.left_out;
  if (m.collectives.empty()) return facts;
  if (!m.library.empty()) facts["library"] = m.library;
  if (!m.library_version.empty()) facts["library_version"] = m.library_version;
  if (const std::string& launch = m.collectives.front().launch; !launch.empty()) facts["launch"] = launch;
  facts["nodes"] = m.collectives.front().nodes;
  if (m.nvls) facts["nvls"] = *m.nvls;
  return facts;
}

std::string bus_text(const DiagnosedLog& log, const Platform& platform, const std::string& part) {
  std::string text;
  for (const auto& [number, bus] : log.buses) {
    const std::string id = fmt::format("gpu{}", number);
    if (!Regex(id + R"(\b)").find(part)) continue;
    text += (text.empty() ? "" : ", ") + id + " is device [" + bus + "] of the log";
    for (const Device& device : platform.topology().devices)
      if (device.kind == DeviceKind::kGpu && device.id != id && !device.bus_id.empty() &&
          bus_digits(device.bus_id) == bus_digits(bus))
        text += " (the platform has " + device.id + " there: option gpus says how the log numbers them)";
  }
  return text;
}

std::string library_text(const LogFormat& format, const DiagnosedLog& log) {
  const Measurement& m = log.measurement;
  if (m.collectives.empty() || m.library.empty()) return "";
  if (!format.library.empty()) return m.library + ", as given";
  std::string versions;  // "NCCL 2.18 and 2.19" of "NCCL 2.18 and 2.19: rings and trees by search"
  for (const PluginInfo& info : libraries().list())
    if (info.name == m.library) versions = info.summary.substr(0, info.summary.find(':'));
  if (log.version.empty() || includes(versions, log.version)) return m.library + " (" + versions + ")";
  return m.library + " (" + versions + "), the nearest known to the file's " + log.version;
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

}  // namespace linkcast::diagnosis
