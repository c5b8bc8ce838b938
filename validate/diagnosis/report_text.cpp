#include "validate/diagnosis/report_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "sim/base/parse.hpp"
#include "sim/base/table.hpp"
#include "validate/diagnosis/fleet.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::diagnosis {
namespace {

constexpr std::size_t kMostLines = 12;

std::string decimals(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string percent_text(double share) { return decimals(100 * share, 1) + " %"; }

std::string rate_text(double bytes, double time_s) {
  return bytes > 0 ? to_text(BytesPerSecond{bytes / time_s}) : std::string("-");
}

void print_points(std::ostream& out, const Diagnosis& found, const Bench& bench) {
  const std::vector<std::size_t> telling = telling_points(found, bench, kMostLines);
  std::vector<std::vector<std::string>> rows{
      {"", "", "size", "measured", "expected", "times", "measured bus", "expected"}};
  for (const std::size_t place : telling) {
    if (rows.size() > kMostLines) break;
    const validate::ComparedPoint& p = found.comparison.points[place];
    const Finding finding = found.findings[place];
    rows.push_back({(finding == Finding::kNormal ? std::string("inside") : text_of(finding)) + ": " + p.transport +
                        " " + p.variant,
                    p.ends.front() == 'x' ? "" : p.ends, to_text(Bytes{p.size_B}), to_text(Seconds{p.measured_s}),
                    to_text(Seconds{p.predicted_s}), decimals(p.measured_s / p.predicted_s, 2),
                    rate_text(p.moved_B, p.measured_s), rate_text(p.moved_B, p.predicted_s)});
  }
  if (rows.size() > 1) out << table_text(rows);
  if (telling.size() >= rows.size()) out << "and " << telling.size() - rows.size() + 1 << " more in the JSON answer\n";
}

/// Verdict, and how many points are off by themselves.
void print_verdict(std::ostream& out, const std::string& path, const Diagnosis& found) {
  out << path << " against " << found.comparison.platform << ": " << found.comparison.points.size() << " points, ";
  if (!found.judged.empty() && found.judged.size() < found.comparison.points.size())
    out << found.judged.size() << " of them judged (the others may be host-bound), ";
  out << text_of(found.verdict);
  if (!found.normal()) {
    out << ", " << found.slow << " slow, " << found.fast << " fast\n";
    for (const std::string& text : odd_texts(found)) out << "slower: " << text << '\n';
    return;
  }
  out << '\n';
  if (found.slow + found.fast > 0)
    out << "beyond their own intervals lie " << found.slow << " (slower) and " << found.fast
        << " (faster): no more than healthy machines and forecasts are off by together\n";
  if (const std::string blind = blind_text(found); !blind.empty()) out << blind << '\n';
}

void print_causes(std::ostream& out, const std::vector<RankedKind>& kinds, bool of_collectives) {
  if (kinds.empty()) return;
  std::vector<std::vector<std::string>> rows{{"cause", "likelihood", "where", "best fit"}};
  for (const RankedKind& kind : kinds)
    rows.push_back({std::string(text_of(kind.kind)), percent_text(kind.share), parts_text(kind), fit_text(kind)});
  out << table_text(rows);
  out << "next: " << next_step(kinds.front().kind) << '\n';
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
  if (found.judged.empty()) out << "every point may be host-bound: larger sizes would tell of links\n";
  if (2 * found.fast > static_cast<int>(comparison.points.size()))
    out << "most of it is faster than expected: is " << comparison.platform << " the machine, with all its links?\n";
  const std::vector<RankedKind> likely = likely_kinds(found);
  print_causes(out, likely, file.facts.contains("nodes"));
  if (likely.empty() && !found.normal()) out << "next: " << next_step(found) << '\n';
  print_points(out, found, file.bench);
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
  out << table_text(rows);
  for (const auto& [name, ranking] : fleet.causes) {
    out << name << " beside the others:\n";
    print_causes(out, likely_kinds(ranking), false);
  }
  return out.str();
}

}  // namespace linkcast::diagnosis
