#include "validate/diagnosis/diagnose_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "sim/base/table.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/gpu_models.hpp"
#include "validate/diagnosis/found_platform.hpp"
#include "validate/diagnosis/nodes.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::diagnosis {
namespace {

/// A log that is compared with others.
struct ReadLog {
  std::string name;
  DiagnosedLog log;
  FleetLog times;
};

/// Files of the baseline too, each once; a file with runs on several sets of nodes in parts.
std::vector<LogPart> parts_of(const LogRequest& request) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    const auto same = [&](const std::string& name) {
      std::error_code none;
      return name == path || std::filesystem::equivalent(name, path, none);
    };
    if (std::none_of(paths.begin(), paths.end(), same)) paths.push_back(path);
  };
  std::for_each(request.files.begin(), request.files.end(), add);
  std::for_each(request.baseline.begin(), request.baseline.end(), add);
  std::vector<LogPart> parts;
  for (const std::string& path : paths)
    for (LogPart& part : parts_of_log(request.format, path)) parts.push_back(std::move(part));
  return parts;
}

std::vector<ReadLog> read_logs(catalogue::Catalogue& catalogue, const LogRequest& request,
                               const std::vector<LogPart>& parts) {
  const std::string topology =
      request.platform.empty() ? "fleet" : catalogue.machine(request.platform)->platform().topology().name;
  std::vector<ReadLog> logs;
  for (const LogPart& part : parts) {
    DiagnosedLog log = read_log(part.format, topology, part.path);
    FleetLog times = fleet_log(part.name, log.measurement, log.hosts);
    logs.push_back({part.name, std::move(log), std::move(times)});
  }
  return logs;
}

std::vector<FleetLog> times_of(const std::vector<ReadLog>& logs) {
  std::vector<FleetLog> times;
  for (const ReadLog& log : logs) times.push_back(log.times);
  return times;
}

/// Causes of the slow logs against the others.
std::map<std::string, Ranking> fleet_causes(catalogue::Catalogue& catalogue, const LogRequest& request,
                                            const std::vector<ReadLog>& logs, const std::vector<FleetMember>& members) {
  std::map<std::string, Ranking> causes;
  if (request.platform.empty()) return causes;
  const catalogue::MachinePtr machine = catalogue.edited(catalogue.machine(request.platform), request.edits);
  std::vector<validate::Comparison> compared;
  for (const auto& [name, log, times] : logs) {
    if (!request.force) check_gpus(log, catalogue.machine(request.platform)->platform(), request.platform);
    compared.push_back(validate::compare(catalogue, log.measurement, {}, machine));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].slow) continue;
    std::vector<validate::Comparison> rest = compared;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Bench bench(catalogue, request.platform, request.edits, logs[i].log.measurement);
    causes.emplace(members[i].name, causes_beside(bench, rest));
  }
  return causes;
}

// Forecasts of a fault that changes much are off by that share of ln(times). source: assumed, 1.25 in a factor of 2.4
constexpr double kCauseTolerance = 0.25;

void check_alike(const ReadLog& before, const ReadLog& after, bool force) {
  if (force || before.log.gpus.empty() || after.log.gpus.empty()) return;
  const std::string &a = before.log.gpus.front(), &b = after.log.gpus.front();
  if (a != b && !same_gpu_model(a, b))
    throw InputError(after.name + ": is of '" + b + "', " + before.name + " of '" + a +
                     "': other GPUs differ by more than faults (set force)");
}

/// The platform that is given, or the one shipped that fits; empty: none or several do.
std::string platform_for(catalogue::Catalogue& catalogue, const LogRequest& request, const DiagnosedLog& log) {
  if (!request.platform.empty()) return request.platform;
  const FoundPlatforms found = platforms_of(catalogue, log);
  return found.fits.size() == 1 ? found.fits.front() : "";
}

DiagnosedChange diagnose_change(catalogue::Catalogue& catalogue, const LogRequest& request,
                                const std::vector<ReadLog>& logs) {
  const ReadLog &after = logs.front(), &before = logs.back();
  check_alike(before, after, request.force);
  DiagnosedChange out{before.name, after.name, facts_of(before.log), facts_of(after.log),
                      change_between(before.times, after.times)};
  out.facts_before["hosts"] = before.times.hosts;
  out.facts_after["hosts"] = after.times.hosts;
  if (out.change.verdict != Verdict::kFaulty) return out;
  const std::string id = platform_for(catalogue, request, after.log);
  if (id.empty()) return out;
  const catalogue::MachinePtr machine = catalogue.edited(catalogue.machine(id), request.edits);
  if (!request.force) check_gpus(after.log, machine->platform(), id);
  const Bench bench(catalogue, id, request.edits, after.log.measurement);
  if (bench.comparison().points.empty()) return out;
  out.platform = id;
  out.causes =
      causes_beside(bench, {validate::compare(catalogue, before.log.measurement, {}, machine)}, kCauseTolerance);
  return out;
}

/// "library nccl-2.18 -> nccl-2.27", of what both logs say and differ in.
std::vector<std::string> changed_facts(const DiagnosedChange& change) {
  const auto text = [](const Json& value) {
    if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
    return joined(value.get<std::vector<std::string>>(), " ");
  };
  std::vector<std::string> facts;
  for (const char* key : {"gpus", "library", "library_version", "launch", "nvls", "hosts"}) {
    const Json before = change.facts_before.value(key, Json()), after = change.facts_after.value(key, Json());
    if (before.empty() || after.empty() || before == after) continue;
    facts.push_back(fmt::format("{} {} -> {}", key, text(before), text(after)));
  }
  return facts;
}

bool between_nodes(const DiagnosedChange& change) { return change.facts_after.value("nodes", 1) > 1; }

/// Next commands; empty: none.
std::string next_step(const DiagnosedChange& change) {
  if (change.change.verdict == Verdict::kNormal) return "";
  std::vector<std::string> steps;
  if (change.causes && !likely_kinds(*change.causes).empty())
    steps.emplace_back(next_step(likely_kinds(*change.causes).front().kind));
  if (between_nodes(change))
    steps.emplace_back("the same on pairs of nodes, all logs together: the node that slow ones share is named");
  if (change.change.verdict == Verdict::kCannotTell)
    steps.emplace_back("each of both once more: more runs show the noise");
  if (steps.empty()) steps.emplace_back("set platform to this machine, which tries causes out");
  return joined(steps, "; ");
}

}  // namespace

bool DiagnosedFleet::normal() const {
  return std::none_of(members.begin(), members.end(), [](const FleetMember& member) { return member.slow; });
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

Json to_json(const DiagnosedChange& change) {
  Json out = to_json(change.change);
  out["file"] = change.after;
  out["baseline"] = change.before;
  out["log"] = change.facts_after;
  out["log_before"] = change.facts_before;
  out["changed"] = changed_facts(change);
  if (const std::string next = next_step(change); !next.empty()) out["next"] = next;
  out["causes"] = Json::array();
  if (!change.causes) return out;
  out["platform"] = change.platform;
  for (const RankedKind& kind : likely_kinds(*change.causes)) out["causes"].push_back(to_json(kind));
  return out;
}

std::string text_of(const DiagnosedFleet& fleet) {
  std::ostringstream out;
  std::vector<std::vector<std::string>> rows{{"log", "median of the others", "", "slow part"}};
  for (const FleetMember& member : fleet.members) {
    std::string part;
    if (member.slow) {
      const RankedKind& kind = member.ranking.kinds.front();
      part = parts_text(kind) + ", " + fmt::format("{:.2f} times", kind.candidates.front().times);
    }
    rows.push_back(
        {member.name, fmt::format("times {:.3f}", std::exp(member.median)), member.slow ? "slow" : "alike", part});
  }
  out << linkcast::table_text(rows);
  for (const auto& [name, ranking] : fleet.causes) {
    out << name << " against the others:\n";
    const std::vector<RankedKind> kinds = likely_kinds(ranking);
    out << causes_text(kinds, false);
    if (!kinds.empty()) out << "next: " << next_step(kinds.front().kind) << '\n';
  }
  return out.str();
}

std::string text_of(const DiagnosedChange& change) {
  const LogChange& c = change.change;
  std::ostringstream out;
  out << fmt::format("{} after {}: {} points in both, {}", change.after, change.before, c.points.size(),
                     text_of(c.verdict));
  if (c.verdict == Verdict::kNormal)
    out << fmt::format(": slower by {:.2f} times or more is excluded\n", c.slower_at_most);
  else
    out << fmt::format(", {} slower, {} faster\n", c.slower, c.faster);
  if (!c.parts.empty()) out << "slower than such runs differ by: " << joined(c.parts) << '\n';
  if (c.verdict == Verdict::kCannotTell && c.parts.empty())
    out << fmt::format(
        "may be up to {:.1f} times slower: fewer than three neighbouring sizes say so, or such runs "
        "scatter as much\n",
        c.slower_at_most);
  if (2 * c.faster > c.points.size()) out << "most of it is faster: is " << change.before << " the slow one?\n";
  for (const std::string& fact : changed_facts(change)) out << "changed: " << fact << '\n';
  for (const std::string& text : curve_texts(c)) out << text << '\n';
  if (change.causes) {
    const std::string causes = causes_text(likely_kinds(*change.causes), change.facts_after.contains("nodes"));
    if (!causes.empty()) out << "causes of the change, tried out on " << change.platform << ":\n" << causes;
  }
  if (const std::string next = next_step(change); !next.empty())
    out << (c.verdict == Verdict::kFaulty ? "next: " : "would decide: ") << next << '\n';
  out << table_text(c);
  return out.str();
}

namespace {

class Answering {
 public:
  Answering(catalogue::Catalogue& catalogue, const LogRequest& request, const EachPart& each)
      : catalogue_(catalogue), request_(request), each_(each) {
    if (!request.platform.empty()) use(request.platform);
  }

  LogAnswer run() {
    if (!request_.format.library.empty())
      static_cast<void>(libraries().get(request_.format.library));  // throws on an unknown one, with the known ones
    const std::vector<LogPart> parts = parts_of(request_);
    if (request_.baseline.empty()) {
      const bool several = parts.size() > kTwo && add_nodes(parts);
      if (!several || !request_.platform.empty()) add_files();
    } else {
      add_beside(parts);
    }
    return std::move(answer_);
  }

 private:
  static constexpr std::size_t kTwo = 2;

  void use(const std::string& platform) {
    std::vector<std::string>& used = answer_.platforms;
    if (!platform.empty() && std::find(used.begin(), used.end(), platform) == used.end()) used.push_back(platform);
  }
  void say(const std::string& text, Verdict verdict, const std::vector<std::string>& warnings = {}) {
    answer_.text += text;
    answer_.verdict = worse(answer_.verdict, verdict);
    if (each_) each_(text, verdict, warnings);
  }

  void add_files() {
    answer_.json["files"] = Json::array();
    for (const std::string& path : request_.files) {
      const DiagnosedFile file = diagnose_file(catalogue_, request_, path);
      use(file.platform);
      answer_.json["files"].push_back(to_json(file));
      say(text_of(file), file.found.verdict, file.found.comparison.unanswered);
    }
  }

  /// @returns whether the logs are of several sets of nodes
  bool add_nodes(const std::vector<LogPart>& parts) {
    return add_nodes(times_of(read_logs(catalogue_, request_, parts)));
  }
  bool add_nodes(const std::vector<FleetLog>& times) {
    if (!of_other_nodes(times)) return false;
    const NodeComparison nodes = compare_nodes(times);
    answer_.json["nodes"] = to_json(nodes);
    say(text_of(nodes), nodes.verdict);
    return true;
  }

  void add_beside(const std::vector<LogPart>& parts) {
    const std::vector<ReadLog> logs = read_logs(catalogue_, request_, parts);
    if (logs.size() == kTwo) {
      const DiagnosedChange change = diagnose_change(catalogue_, request_, logs);
      use(change.platform);
      answer_.json["change"] = to_json(change);
      say(text_of(change), change.change.verdict);
      return;
    }
    if (add_nodes(times_of(logs))) return;
    DiagnosedFleet fleet{fleet_of(times_of(logs)), {}};
    fleet.causes = fleet_causes(catalogue_, request_, logs, fleet.members);
    answer_.json["fleet"] = to_json(fleet);
    say(text_of(fleet), fleet.normal() ? Verdict::kNormal : Verdict::kFaulty);
  }

  catalogue::Catalogue& catalogue_;
  const LogRequest& request_;
  const EachPart& each_;
  LogAnswer answer_;
};

}  // namespace

LogAnswer diagnose_logs(catalogue::Catalogue& catalogue, const LogRequest& request, const EachPart& each) {
  return Answering(catalogue, request, each).run();
}

}  // namespace linkcast::diagnosis
