#include "cli/diagnose_print.hpp"

#include <cmath>
#include <iostream>

#include "cli/diagnose_log.hpp"
#include "cli/texts.hpp"
#include "sim/log/log.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostLines = 12;

std::string rate(double bytes, double time_s) {
  return bytes > 0 ? to_text(BytesPerSecond{bytes / time_s}) : std::string("-");
}

void print_points(const diagnosis::Diagnosis& found, const diagnosis::Bench& bench) {
  const std::vector<std::size_t> telling = diagnosis::telling_points(found, bench, kMostLines);
  std::vector<std::vector<std::string>> rows{
      {"", "", "size", "measured", "expected", "times", "measured bus", "expected"}};
  for (const std::size_t place : telling) {
    if (rows.size() > kMostLines) break;
    const validate::ComparedPoint& p = found.comparison.points[place];
    const diagnosis::Finding finding = found.findings[place];
    rows.push_back({(finding == diagnosis::Finding::kNormal ? std::string("inside") : text_of(finding)) + ": " +
                        p.transport + " " + p.variant,
                    p.ends.front() == 'x' ? "" : p.ends, to_text(Bytes{p.size_B}), to_text(Seconds{p.measured_s}),
                    to_text(Seconds{p.predicted_s}), fixed(p.measured_s / p.predicted_s, 2),
                    rate(p.moved_B, p.measured_s), rate(p.moved_B, p.predicted_s)});
  }
  if (rows.size() > 1) print_table(rows);
  if (telling.size() >= rows.size()) std::cout << "and " << telling.size() - rows.size() + 1 << " more, see --json\n";
}

/// Verdict, and how many points are off by themselves.
void print_verdict(const std::string& path, const diagnosis::Diagnosis& found) {
  std::cout << path << " against " << found.comparison.platform << ": " << found.comparison.points.size()
            << " points, ";
  if (!found.judged.empty() && found.judged.size() < found.comparison.points.size())
    std::cout << found.judged.size() << " of them judged (the others may be host-bound), ";
  std::cout << text_of(found.verdict);
  if (!found.normal()) {
    std::cout << ", " << found.slow << " slow, " << found.fast << " fast\n";
    for (const std::string& text : diagnosis::odd_texts(found)) std::cout << "slower: " << text << '\n';
    return;
  }
  std::cout << '\n';
  if (found.slow + found.fast > 0)
    std::cout << "beyond their own intervals lie " << found.slow << " (slower) and " << found.fast
              << " (faster): no more than healthy machines and forecasts are off by together\n";
  if (const std::string blind = diagnosis::blind_text(found); !blind.empty()) std::cout << blind << '\n';
}

void print_causes(const std::vector<diagnosis::RankedKind>& kinds, bool of_collectives) {
  if (kinds.empty()) return;
  std::vector<std::vector<std::string>> rows{{"cause", "likelihood", "where", "best fit"}};
  for (const diagnosis::RankedKind& kind : kinds)
    rows.push_back(
        {std::string(text_of(kind.kind)), percent(kind.share), diagnosis::parts_text(kind), diagnosis::fit_text(kind)});
  print_table(rows);
  std::cout << "next: " << diagnosis::next_step(kinds.front().kind) << '\n';
  constexpr double kSure = 0.9;  // source: ours, nine of ten
  if (of_collectives && (!diagnosis::names_one(kinds.front()) || kinds.front().share < kSure))
    std::cout << "this log cannot tell which: p2pBandwidthLatencyTest or nvbandwidth, and diagnose again\n";
}

}  // namespace

void print_diagnosis(const std::string& path, const Json& facts, const diagnosis::Diagnosis& found,
                     const diagnosis::Bench& bench) {
  const validate::Comparison& comparison = found.comparison;
  print_verdict(path, found);
  if (const std::string said = facts_text(facts); !said.empty()) std::cout << "the log says: " << said << '\n';
  if (found.host > 0) std::cout << found.host << " slower than expected and host-bound: says nothing about links\n";
  if (found.judged.empty()) std::cout << "every point may be host-bound: larger sizes would tell of links\n";
  if (2 * found.fast > static_cast<int>(comparison.points.size()))
    std::cout << "most of it is faster than expected: is " << comparison.platform
              << " the machine, with all its links?\n";
  const std::vector<diagnosis::RankedKind> likely = diagnosis::likely_kinds(found);
  print_causes(likely, facts.contains("nodes"));
  if (likely.empty() && !found.normal()) std::cout << "next: " << diagnosis::next_step(found) << '\n';
  print_points(found, bench);
  for (const std::string& error : comparison.unanswered) log::Log("cli").warning("{}", error);
}

void print_fleet(const std::vector<diagnosis::FleetMember>& members,
                 const std::map<std::string, diagnosis::Ranking>& causes) {
  std::vector<std::vector<std::string>> rows{{"log", "median of the others", "", "slow part"}};
  for (const diagnosis::FleetMember& member : members) {
    std::string part;
    if (member.slow) {
      const diagnosis::RankedKind& kind = member.ranking.kinds.front();
      part = diagnosis::parts_text(kind) + ", " + fixed(kind.candidates.front().times, 2) + " times";
    }
    rows.push_back({member.name, "times " + fixed(std::exp(member.median), 3), member.slow ? "slow" : "alike", part});
  }
  print_table(rows);
  for (const auto& [name, ranking] : causes) {
    std::cout << name << " beside the others:\n";
    print_causes(diagnosis::likely_kinds(ranking), false);
  }
}

}  // namespace linkcast::cli
