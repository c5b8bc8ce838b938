#include "validate/diagnosis/diagnose_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/table.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/gpu_models.hpp"
#include "validate/claim.hpp"
#include "validate/diagnosis/fleet.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::diagnosis {
namespace {

/// Of "Rank 3 ... device 3 [0x3b] NAME" and "Device: 3, NAME, pciBusID: 3b": the first node's.
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
  static const Regex sum(R"(\bSUM [a-z]+(_[a-z]+)+ [0-9.]+)");  // stands alone where more was cut off
  const std::string content = file_text(path);
  const std::vector<std::pair<const char*, const char*>> words{
      {"measurement/1", "measurement"},
      {"\"test_categories\"", "dcgm"},  // which may hold what nvbandwidth printed
      {"nvbandwidth", "nvbandwidth"},
      {"GPU Bandwidth Latency Test", "p2pBandwidthLatencyTest"},
      {"D\\D", "p2pBandwidthLatencyTest"},  // where the title was cut off
      {"OSU MPI", "osu"},
      {"message rate (msg/s)", "ucx_perftest"},
      {"#bytes     #iterations", "perftest"},
      {"\"nccl_version\"", "nccl-tests"},  // as JSON, which names neither the program nor a column of its table
      {"nccl-tests", "nccl-tests"},
      {"busbw", "nccl-tests"}};
  for (const auto& [word, format] : words)
    if (content.find(word) != std::string::npos) return format;
  if (sum.find(content)) return "nvbandwidth";
  return "";
}

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
                       "': name the platform that it was run on, or set force");
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

namespace {

/// @throws InputError  with what makes a measurement of the file, where it is what a benchmark printed
Measurement measurement_of(const std::string& path) {
  try {
    return read_measurement(path);
  } catch (const InputError&) {
    const std::string format = std::filesystem::exists(path) ? log_format(path) : "measurement";
    if (format.empty() || format == "measurement") throw;
    throw InputError(path + ": is what " + format + " prints: 'linkcast import " + format +
                     "' makes a measurement of it, 'linkcast diagnose' takes it as it is");
  }
}

/// A claim is easily given in the place of a file.
void refuse_claims(const std::string& data_dir, const std::vector<std::string>& files) {
  const auto missing =
      std::find_if(files.begin(), files.end(), [](const std::string& path) { return !std::filesystem::exists(path); });
  if (missing == files.end()) return;
  for (const validate::Claim& claim : validate::load_claims(data_dir + "/validate/claims"))
    if (claim.id == *missing)
      throw InputError("validate: " + *missing + " is a claim, and no file: give claims or measurements, not both");
}

}  // namespace

std::vector<validate::Comparison> compare_files(catalogue::Catalogue& catalogue, const CompareRequest& request,
                                                const std::function<void(const validate::Comparison&)>& each) {
  refuse_claims(catalogue.data_dir(), request.files);
  std::vector<validate::Comparison> compared;
  bool any = false;
  for (const std::string& path : request.files) {
    const Measurement measurement = measurement_of(path);
    const catalogue::MachinePtr machine = catalogue.edited(
        catalogue.machine(request.platform.empty() ? measurement.topology : request.platform), request.edits);
    compared.push_back(validate::compare(catalogue, measurement, request.limits, machine));
    const validate::Comparison& comparison = compared.back();
    any = any || !comparison.points.empty();
    if (!any && path == request.files.back())
      throw InputError(path + ": nothing to compare: " + comparison.unanswered.front());
    if (each) each(comparison);
  }
  return compared;
}

namespace {

void check_library(const std::string& library) {
  if (!library.empty()) static_cast<void>(libraries().get(library));  // throws on an unknown one, with the known ones
}

/// Files of the baseline too, each name once.
std::vector<std::string> fleet_names(const LogRequest& request) {
  std::vector<std::string> names = request.files;
  for (const std::string& path : request.baseline) {
    const auto same = [&](const std::string& name) {
      std::error_code none;
      return name == path || std::filesystem::equivalent(name, path, none);
    };
    if (std::none_of(names.begin(), names.end(), same)) names.push_back(path);
  }
  return names;
}

/// Causes of the slow logs beside the others.
std::map<std::string, Ranking> fleet_causes(catalogue::Catalogue& catalogue, const LogRequest& request,
                                            const std::vector<DiagnosedLog>& logs,
                                            const std::vector<FleetMember>& members) {
  std::map<std::string, Ranking> causes;
  if (request.platform.empty()) return causes;
  const catalogue::MachinePtr machine = catalogue.edited(catalogue.machine(request.platform), request.edits);
  std::vector<validate::Comparison> compared;
  for (const DiagnosedLog& log : logs) {
    if (!request.force) check_gpus(log, catalogue.machine(request.platform)->platform(), request.platform);
    compared.push_back(validate::compare(catalogue, log.measurement, {}, machine));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].slow) continue;
    std::vector<validate::Comparison> rest = compared;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Bench bench(catalogue, request.platform, request.edits, logs[i].measurement);
    causes.emplace(members[i].name, causes_beside(bench, rest));
  }
  return causes;
}

}  // namespace

DiagnosedFile diagnose_file(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path) {
  check_library(request.format.library);
  const Platform& platform = catalogue.machine(request.platform)->platform();
  const DiagnosedLog log = read_log(request.format, platform.topology().name, path);
  if (!request.force) check_gpus(log, platform, request.platform);
  Bench bench(catalogue, request.platform, request.edits, log.measurement);
  if (bench.comparison().points.empty()) throw InputError(path + ": " + bench.comparison().unanswered.front());
  Diagnosis found = bench.diagnose();
  std::string bus;
  if (const auto likely = likely_kinds(found); !likely.empty() && names_one(likely.front()))
    bus = bus_text(log, platform, likely.front().candidates.front().part);
  return {path, facts_of(log), std::move(bench), std::move(found), bus, library_text(request.format, log)};
}

bool DiagnosedFleet::normal() const {
  return std::none_of(members.begin(), members.end(), [](const FleetMember& member) { return member.slow; });
}

DiagnosedFleet diagnose_fleet(catalogue::Catalogue& catalogue, const LogRequest& request) {
  check_library(request.format.library);
  const std::string topology =
      request.platform.empty() ? "fleet" : catalogue.machine(request.platform)->platform().topology().name;
  std::vector<DiagnosedLog> logs;
  std::vector<FleetLog> fleet;
  for (const std::string& path : fleet_names(request)) {
    logs.push_back(read_log(request.format, topology, path));
    fleet.push_back(fleet_log(path, logs.back().measurement));
  }
  DiagnosedFleet out{fleet_of(fleet), {}};
  out.causes = fleet_causes(catalogue, request, logs, out.members);
  return out;
}

Json to_json(const DiagnosedFile& file) {
  Json json = to_json(file.found);
  json["file"] = file.path;
  json["log"] = file.facts;
  return json;
}

Json to_json(const DiagnosedFleet& fleet) {
  Json out = Json::array();
  for (const FleetMember& member : fleet.members) {
    out.push_back(to_json(member));
    const auto found = fleet.causes.find(member.name);
    if (found == fleet.causes.end()) continue;
    out.back()["causes"] = Json::array();
    for (const RankedKind& kind : likely_kinds(found->second)) out.back()["causes"].push_back(to_json(kind));
  }
  return out;
}

namespace {

std::string decimals(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string percent_text(double share) { return decimals(100 * share, 1) + " %"; }

/// Verdict, why, and what would decide.
void print_verdict(std::ostream& out, const std::string& path, const Diagnosis& found) {
  out << path << " against " << found.comparison.platform << ": " << found.comparison.points.size() << " points, ";
  if (!found.judged.empty() && found.judged.size() < found.comparison.points.size())
    out << found.judged.size() << " of them judged (the others may be host-bound), ";
  out << text_of(found.verdict);
  if (found.normal()) {
    out << ": slower by 1.5 times or more is excluded\n";
    return;
  }
  out << ", " << found.slow << " slow, " << found.fast << " fast\n" << why_text(found) << '\n';
  for (const std::string& text : odd_texts(found)) out << "slower: " << text << '\n';
}

void print_causes(std::ostream& out, const std::vector<RankedKind>& kinds, bool of_collectives) {
  if (kinds.empty()) return;
  std::vector<std::vector<std::string>> rows{{"cause", "likelihood", "where", "best fit"}};
  for (const RankedKind& kind : kinds)
    rows.push_back({std::string(text_of(kind.kind)), percent_text(kind.share), parts_text(kind), fit_text(kind)});
  out << linkcast::table_text(rows);
  if (undecided(kinds))
    out << "cannot tell between " << text_of(kinds[0].kind) << " and " << text_of(kinds[1].kind) << '\n';
  constexpr double kSure = 0.9;  // source: ours, nine of ten
  if (of_collectives && (!names_one(kinds.front()) || kinds.front().share < kSure))
    out << "this log cannot tell which: p2pBandwidthLatencyTest or nvbandwidth, and diagnose again\n";
}

}  // namespace

std::string text_of(const DiagnosedFile& file) {
  const Diagnosis& found = file.found;
  const validate::Comparison& comparison = found.comparison;
  std::ostringstream out;
  print_verdict(out, file.path, found);
  if (const std::string said = facts_text(file.facts); !said.empty()) out << "the log says: " << said << '\n';
  if (found.host > 0) out << found.host << " slower than expected and host-bound: says nothing about links\n";
  if (2 * found.fast > static_cast<int>(comparison.points.size()))
    out << "most of it is faster than expected: is " << comparison.platform << " the machine, with all its links?\n";
  print_causes(out, likely_kinds(found), file.facts.contains("nodes"));
  if (const std::string next = next_step(found); !next.empty())
    out << (found.faulty() ? "next: " : "would decide: ") << next << '\n';
  out << table_text(found);
  if (!file.bus.empty()) out << file.bus << '\n';
  if (!file.library.empty()) out << "expected of " << file.library << '\n';
  return out.str();
}

std::string text_of(const DiagnosedFleet& fleet) {
  std::ostringstream out;
  std::vector<std::vector<std::string>> rows{{"log", "median of the others", "", "slow part"}};
  for (const FleetMember& member : fleet.members) {
    std::string part;
    if (member.slow) {
      const RankedKind& kind = member.ranking.kinds.front();
      part = parts_text(kind) + ", " + decimals(kind.candidates.front().times, 2) + " times";
    }
    rows.push_back(
        {member.name, "times " + decimals(std::exp(member.median), 3), member.slow ? "slow" : "alike", part});
  }
  out << linkcast::table_text(rows);
  for (const auto& [name, ranking] : fleet.causes) {
    out << name << " beside the others:\n";
    const std::vector<RankedKind> kinds = likely_kinds(ranking);
    print_causes(out, kinds, false);
    if (!kinds.empty()) out << "next: " << next_step(kinds.front().kind) << '\n';
  }
  return out.str();
}

}  // namespace linkcast::diagnosis
