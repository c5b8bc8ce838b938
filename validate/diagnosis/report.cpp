#include "validate/diagnosis/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace linkcast::diagnosis {
namespace {

// A kind of fault that has less of the likelihood is not worth a line. source: ours
constexpr double kLeastShare = 0.01;

// Means that are worth a line of a log without a known cause. source: ours
constexpr std::size_t kMostLevels = 3;

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

/// "25 %" of 1.25 times.
std::string percent_over(double times) { return fixed(100 * (times - 1), 0) + " %"; }

Json json_of(const Level& level) {
  return {{"part", level.part}, {"points", level.places.size()}, {"times", level.times},  {"low", level.low},
          {"high", level.high}, {"least", level.least},          {"chance", level.chance}};
}

Json json_of(const validate::ComparedPoint& p, Finding finding) {
  return {{"transport", p.transport},
          {"variant", p.variant},
          {"ends", p.ends},
          {"size_B", p.size_B},
          {"measured_s", p.measured_s},
          {"expected_s", p.predicted_s},
          {"low_s", p.low_s},
          {"high_s", p.high_s},
          {"factor", p.measured_s / p.predicted_s},
          {"measured_Bps", p.moved_B / p.measured_s},
          {"expected_Bps", p.moved_B / p.predicted_s},
          {"finding", text_of(finding)}};
}

}  // namespace

Json to_json(const RankedKind& kind) {
  Json parts = Json::array();
  for (const Candidate& one : kind.candidates)
    parts.push_back({{"part", one.part}, {"text", one.text}, {"times", one.times}, {"edits", one.edits}});
  return {{"cause", text_of(kind.kind)},
          {"share", kind.share},
          {"log10_over_healthy", kind.log_ratio / std::log(10)},
          {"parts", parts},
          {"next", next_step(kind.kind)}};
}

std::vector<RankedKind> likely_kinds(const Ranking& ranking) {
  std::vector<RankedKind> likely;
  for (const RankedKind& kind : ranking.kinds)
    if (kind.share >= kLeastShare) likely.push_back(kind);
  return likely;
}

std::vector<RankedKind> likely_kinds(const Diagnosis& diagnosis) {
  if (!diagnosis.no_access.empty())
    return {{CauseKind::kPeers, 0, 1, {{diagnosis.no_access, "P2P off, as the log itself says"}}}};
  return diagnosis.verdict == Verdict::kFault ? likely_kinds(diagnosis.ranking) : std::vector<RankedKind>{};
}

std::string parts_text(const RankedKind& kind) {
  std::vector<std::string> parts;
  for (const Candidate& one : kind.candidates)
    if (std::find(parts.begin(), parts.end(), one.part) == parts.end()) parts.push_back(one.part);
  if (parts.size() == 1) return parts.front();
  return fmt::format("one of {} ({}, {}{})", parts.size(), parts[0], parts[1], parts.size() > 2 ? ", ..." : "");
}

bool names_one(const RankedKind& kind) {
  return std::all_of(kind.candidates.begin(), kind.candidates.end(),
                     [&](const Candidate& one) { return one.part == kind.candidates.front().part; });
}

std::string fit_text(const RankedKind& kind) {
  const Candidate& best = kind.candidates.front();
  std::string text = best.text;
  const std::size_t at = text.find(best.part);
  if (!names_one(kind) && at != std::string::npos) text.replace(at, best.part.size(), "one");
  if (best.times <= 1) return text;
  return text + " " + fixed(best.times, 2) + " times";
}

Json to_json(const Diagnosis& diagnosis) {
  const validate::Comparison& comparison = diagnosis.comparison;
  Json out{{"platform", comparison.platform},
           {"normal", diagnosis.normal()},
           {"verdict", text_of(diagnosis.verdict)},
           {"points", comparison.points.size()},
           {"judged", diagnosis.judged.size()},
           {"slow", diagnosis.slow},
           {"fast", diagnosis.fast},
           {"host_bound", diagnosis.host},
           {"misfit", diagnosis.ranking.misfit}};
  out["log10_faulty_over_healthy"] =
      diagnosis.ranking.kinds.empty() ? Json() : Json(diagnosis.ranking.log_ratio / std::log(10));
  out["log10_alarm"] = diagnosis.ranking.kinds.empty() ? Json() : Json(diagnosis.ranking.alarm / std::log(10));
  out["levels"] = Json::array();
  for (const Level& level : diagnosis.levels) out["levels"].push_back(json_of(level));
  if (const std::string next = next_step(diagnosis); !next.empty()) out["next"] = next;
  out["causes"] = Json::array();
  for (const RankedKind& kind : likely_kinds(diagnosis)) out["causes"].push_back(to_json(kind));
  out["off"] = Json::array();
  for (std::size_t i = 0; i < comparison.points.size(); ++i)
    if (diagnosis.findings[i] != Finding::kNormal)
      out["off"].push_back(json_of(comparison.points[i], diagnosis.findings[i]));
  out["unanswered"] = comparison.unanswered;
  return out;
}

std::string next_step(const Diagnosis& diagnosis) {
  if (diagnosis.normal()) return "";
  if (const std::vector<RankedKind> likely = likely_kinds(diagnosis); !likely.empty())
    return std::string(next_step(likely.front().kind));
  if (odd_levels(diagnosis.levels).empty()) return "nvidia-smi pmon -c 1; run it again on an idle machine";
  return "nvidia-smi -q -d PERFORMANCE,CLOCK,ECC; the same run on more machines of the kind, as baseline";
}

std::vector<std::string> odd_texts(const Diagnosis& diagnosis) {
  if (diagnosis.verdict != Verdict::kOdd) return {};
  std::vector<std::string> texts;
  for (const Level& level : odd_levels(diagnosis.levels))
    if (texts.size() < kMostLevels)
      texts.push_back(level.part + " " + fixed(level.times, 2) + " times (a healthy machine: to " +
                      fixed(level.least, 2) + ")");
  if (texts.empty()) texts.emplace_back("its figures scatter more than those of any machine that was measured");
  return texts;
}

std::string blind_text(const Diagnosis& diagnosis) {
  if (diagnosis.levels.empty()) return "";
  const Level& all = diagnosis.levels.front();
  std::string text = "a machine " + percent_over(all.least) + " slower everywhere would look the same";
  if (diagnosis.levels.size() > 1 && diagnosis.levels[1].part == all.part + " from 1 MiB on")
    text += " (" + percent_over(diagnosis.levels[1].least) + " from 1 MiB on)";
  return text + ": of healthy ones 90 % lie " + percent_over(all.low) + " to +" + percent_over(all.high) +
         " from what is expected";
}

std::vector<std::size_t> telling_points(const Diagnosis& diagnosis, const Bench& bench, std::size_t most) {
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i)
    if (diagnosis.findings[i] != Finding::kNormal) telling.push_back(i);
  if (diagnosis.verdict != Verdict::kFault || !diagnosis.no_access.empty() || telling.size() >= most) return telling;
  const Candidate& best = diagnosis.ranking.kinds.front().candidates.front();
  const std::vector<double>& shifts = bench.ranker().shifts_of(best);
  std::vector<std::size_t> order(shifts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shifts[a] > shifts[b]; });
  for (const std::size_t k : order) {
    const std::size_t place = diagnosis.judged[k];
    if (telling.size() >= most || shifts[k] < kTelling) break;
    if (std::find(telling.begin(), telling.end(), place) == telling.end()) telling.push_back(place);
  }
  return telling;
}

}  // namespace linkcast::diagnosis
