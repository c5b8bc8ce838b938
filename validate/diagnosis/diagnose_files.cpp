#include "validate/diagnosis/diagnose_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <tuple>

#include "sim/base/table.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/forecast_mark.hpp"
#include "validate/claim.hpp"
#include "validate/diagnosis/found_platform.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::diagnosis {
namespace {

Measurement measured(const std::string& path) {
  Measurement m = read_measurement(path);
  refuse_forecast(m.source, path, "no forecast is held against it");
  return m;
}

/// @throws InputError  with what makes a measurement of the file, where it is what a benchmark printed; it is a
/// forecast
Measurement measurement_of(const std::string& path) {
  try {
    return measured(path);
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

}  // namespace

namespace {

/// @param chosen  why this platform, where the log decided; empty: it was given
DiagnosedFile diagnose_against(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path,
                               const std::string& id, const std::string& chosen) {
  const Platform& platform = catalogue.machine(id)->platform();
  const DiagnosedLog log = read_log(request.format, platform.topology().name, path);
  if (!request.force && chosen.empty()) check_gpus(log, platform, id);
  Bench bench(catalogue, id, request.edits, log.measurement);
  if (bench.comparison().points.empty()) throw InputError(path + ": " + bench.comparison().unanswered.front());
  Diagnosis found = bench.diagnose();
  std::string bus;
  if (const auto likely = likely_kinds(found); !likely.empty() && names_one(likely.front()))
    bus = bus_text(log, platform, likely.front().candidates.front().part);
  const Json facts = facts_of(log);
  return {path,
          facts,
          std::move(bench),
          std::move(found),
          bus,
          library_text(request.format, log),
          id,
          chosen,
          facts.value("nodes", 1) > 1 ? network_text(platform) : ""};
}

/// Why the log decided on a platform, and which others it may be.
std::string chosen_text(const FoundPlatforms& found, const std::string& id) {
  std::vector<std::string> others = found.variants;
  std::copy_if(found.fits.begin(), found.fits.end(), std::inserter(others, others.begin()),
               [&](const std::string& fit) { return fit != id; });
  const char* which = found.fits.size() > 1 ? "the likeliest of the shipped machines " : "the one shipped machine ";
  std::string text = id + ": " + which + (found.alike ? "that is nearly " : "of ") + found.said;
  if (!others.empty()) text += "; set platform to " + joined(others, " or ") + " if it is one";
  return text;
}

/// Whether a log is liker the first one's platform: not faulty, then fewer points slow or fast, then surer.
bool is_liker(const DiagnosedFile& one, const DiagnosedFile& other) {
  const auto rank = [](const Diagnosis& found) {
    const SizeClass* const worst = least_sure(found.classes);
    return std::tuple(found.faulty(), found.slow + found.fast, !found.normal(), worst == nullptr ? 0 : worst->slower);
  };
  return rank(one.found) < rank(other.found);
}

}  // namespace

DiagnosedFile diagnose_file(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path) {
  check_library(request.format.library);
  if (!request.platform.empty()) return diagnose_against(catalogue, request, path, request.platform, "");
  FoundPlatforms found = platforms_of(catalogue, read_log(request.format, "box", path));
  if (found.fits.empty() || (found.fits.size() > 1 && !found.alike_links))
    throw UndecidedPlatform(path, std::move(found));
  std::optional<DiagnosedFile> likest;
  for (const std::string& id : found.fits) {
    DiagnosedFile file = diagnose_against(catalogue, request, path, id, chosen_text(found, id));
    if (!likest || is_liker(file, *likest)) likest.emplace(std::move(file));
  }
  return std::move(*likest);
}

Json to_json(const DiagnosedFile& file) {
  Json json = to_json(file.found);
  json["file"] = file.path;
  json["log"] = file.facts;
  if (!file.chosen.empty()) json["chosen"] = file.chosen;
  if (!file.network.empty()) json["network"] = file.network;
  return json;
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

}  // namespace

std::string causes_text(const std::vector<RankedKind>& kinds, bool of_collectives) {
  if (kinds.empty()) return "";
  std::ostringstream out;
  std::vector<std::vector<std::string>> rows{{"cause", "likelihood", "where", "best fit"}};
  for (const RankedKind& kind : kinds)
    rows.push_back({std::string(text_of(kind.kind)), percent_text(kind.share), parts_text(kind), fit_text(kind)});
  out << linkcast::table_text(rows);
  if (undecided(kinds))
    out << "cannot tell between " << text_of(kinds[0].kind) << " and " << text_of(kinds[1].kind) << '\n';
  constexpr double kSure = 0.9;  // source: ours, nine of ten
  if (of_collectives && (!names_one(kinds.front()) || kinds.front().share < kSure))
    out << "this log cannot tell which: p2pBandwidthLatencyTest or nvbandwidth, and diagnose again\n";
  return out.str();
}

std::string text_of(const DiagnosedFile& file) {
  const Diagnosis& found = file.found;
  const validate::Comparison& comparison = found.comparison;
  std::ostringstream out;
  if (!file.chosen.empty()) out << file.chosen << '\n';
  print_verdict(out, file.path, found);
  if (const std::string said = facts_text(file.facts); !said.empty()) out << "the log says: " << said << '\n';
  if (file.facts.contains("left_out")) out << "left out: " << file.facts["left_out"].get<std::string>() << '\n';
  if (!file.network.empty())
    out << "network of " << comparison.platform << ": " << file.network << "; the log does not show it\n";
  if (found.host > 0) out << found.host << " slower than expected and host-bound: says nothing about links\n";
  if (2 * found.fast > static_cast<int>(comparison.points.size()))
    out << "most of it is faster than expected: is " << comparison.platform << " the machine, with all its links?\n";
  const int nodes = file.facts.value("nodes", 0);
  const std::vector<RankedKind> kinds = likely_kinds(found);
  out << causes_text(kinds, nodes == 1);
  if (nodes > 1 && undecided(kinds))
    out << "which of them this log does not show: the same on one node, then on pairs of nodes, all logs of these "
           "together\n";
  if (const std::string next = next_step(found); !next.empty())
    out << (found.faulty() ? "next: " : "would decide: ") << next << '\n';
  out << table_text(found);
  if (!file.bus.empty()) out << file.bus << '\n';
  if (!file.library.empty()) out << "expected of " << file.library << '\n';
  return out.str();
}

}  // namespace linkcast::diagnosis
