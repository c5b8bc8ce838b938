#include "validate/diagnosis/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "sim/base/parse.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/table.hpp"

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
  if (!diagnosis.faulty()) return {};
  if (diagnosis.known_cause) return likely_kinds(diagnosis.ranking);
  RankedKind unknown{CauseKind::kUnknown, 0, 1, {}};
  for (const Level& level : odd_levels(diagnosis.levels))
    if (unknown.candidates.size() < kMostLevels)
      unknown.candidates.push_back({level.part, level.part + " slower", level.times});
  if (unknown.candidates.empty()) unknown.candidates.push_back({"everything", "figures scatter"});
  return {unknown};
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
           {"why", why_text(diagnosis)},
           {"points", comparison.points.size()},
           {"judged", diagnosis.judged.size()},
           {"slow", diagnosis.slow},
           {"fast", diagnosis.fast},
           {"host_bound", diagnosis.host},
           {"misfit", diagnosis.ranking.misfit}};
  out["log10_faulty_over_healthy"] =
      diagnosis.ranking.kinds.empty() ? Json() : Json(diagnosis.ranking.log_ratio / std::log(10));
  out["log10_alarm"] = diagnosis.ranking.kinds.empty() ? Json() : Json(diagnosis.ranking.alarm / std::log(10));
  const SizeClass* worst = least_sure(diagnosis.classes);
  out["slower_at_most"] = worst == nullptr ? Json() : Json(worst->slower);
  out["levels"] = Json::array();
  for (const Level& level : diagnosis.levels) out["levels"].push_back(json_of(level));
  if (const std::string next = next_step(diagnosis); !next.empty()) out["next"] = next;
  out["causes"] = Json::array();
  for (const RankedKind& kind : likely_kinds(diagnosis)) out["causes"].push_back(to_json(kind));
  out["table"] = out["off"] = Json::array();
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    const Finding finding = diagnosis.findings[i];
    out["table"].push_back(json_of(comparison.points[i], finding));
    if (finding != Finding::kFine && finding != Finding::kUnclear) out["off"].push_back(out["table"].back());
  }
  out["unanswered"] = comparison.unanswered;
  return out;
}

namespace {

bool between_nodes(const Diagnosis& diagnosis) {
  const std::vector<validate::ComparedPoint>& points = diagnosis.comparison.points;
  return std::any_of(points.begin(), points.end(), [](const auto& point) { return point.query.value("nodes", 1) > 1; });
}

/// The check that would decide where the log leaves it open.
std::string deciding_step(const Diagnosis& diagnosis) {
  std::vector<std::string> steps;
  const SizeClass* worst = least_sure(diagnosis.classes);
  std::set<double> sizes;
  for (const validate::ComparedPoint& point : diagnosis.comparison.points) sizes.insert(point.size_B);
  const bool collective = diagnosis.comparison.points.front().query.value("kind", "") == "collective";
  if (collective && sizes.size() < kRepeats) steps.emplace_back("more sizes (-b 8 -e 8G -f 2)");
  if (diagnosis.judged.empty() || diagnosis.host > 0)
    steps.emplace_back("larger sizes, or CUDA graphs (-G 1), which take the host out");
  if (between_nodes(diagnosis)) steps.emplace_back("the same program on one node, then on pairs of nodes");
  if (worst != nullptr && worst->width >= kNotNormal) {
    steps.emplace_back("a log of a machine of the kind that is known to be good, as baseline");
    steps.emplace_back("'linkcast measure' on this machine, which makes the intervals narrow");
  }
  if (steps.empty()) steps.emplace_back("the same run again on an idle machine");
  return linkcast::joined(steps, "; or ");
}

}  // namespace

std::string next_step(const Diagnosis& diagnosis) {
  if (diagnosis.normal()) return "";
  if (!diagnosis.faulty()) return deciding_step(diagnosis);
  if (diagnosis.known_cause || !diagnosis.no_access.empty()) {
    const std::vector<RankedKind> kinds = likely_kinds(diagnosis);
    const std::string first(next_step(kinds.front().kind));
    return undecided(kinds) ? first + "; or " + std::string(next_step(kinds[1].kind)) : first;
  }
  if (odd_levels(diagnosis.levels).empty()) return "nvidia-smi pmon -c 1; run it again on an idle machine";
  return std::string(next_step(CauseKind::kUnknown));
}

std::string why_text(const Diagnosis& diagnosis) {
  if (diagnosis.normal()) return "";
  const SizeClass* worst = least_sure(diagnosis.classes);
  if (diagnosis.faulty()) {
    std::vector<std::string> parts;
    for (const SizeClass& of : diagnosis.classes)
      if (of.repeats) parts.push_back(of.part);
    if (parts.empty()) return diagnosis.no_access + " without peer access";
    return fmt::format("slower than healthy machines reach: {}", linkcast::joined(parts));
  }
  if (worst == nullptr) return "every point may be host-bound";
  if (worst->slower >= kNotNormal)
    return fmt::format("{} may be up to {} times slower than a healthy machine: the interval is {} times wide",
                       worst->part, fixed(worst->slower, 1), fixed(worst->width, 1));
  if (diagnosis.accused)
    return "the curve is unlike that of a healthy machine, but too few points are slow beyond what these reach";
  return fmt::format("{} points are slow, and what issues them may be", diagnosis.slow + diagnosis.host);
}

std::vector<std::string> odd_texts(const Diagnosis& diagnosis) {
  if (!diagnosis.faulty() || diagnosis.known_cause || !diagnosis.no_access.empty()) return {};
  std::vector<std::string> texts;
  for (const Level& level : odd_levels(diagnosis.levels))
    if (texts.size() < kMostLevels)
      texts.push_back(level.part + " " + fixed(level.times, 2) + " times (a healthy machine: to " +
                      fixed(level.least, 2) + ")");
  if (texts.empty()) texts.emplace_back("its figures scatter more than those of any machine that was measured");
  return texts;
}

bool undecided(const std::vector<RankedKind>& kinds) {
  return kinds.size() > 1 && kinds[0].log_ratio - kinds[1].log_ratio < std::log(kSameEvidence);
}

namespace {

// Rows that fit a screen. source: ours
constexpr std::size_t kMostRows = 40;

/// Points of one size of a curve, or one slow copy.
struct Row {
  std::string name, ends;
  std::vector<std::size_t> places;
};

std::vector<Row> rows_of(const Diagnosis& diagnosis) {
  const std::vector<validate::ComparedPoint>& points = diagnosis.comparison.points;
  std::map<std::pair<std::string, double>, std::size_t> known;
  std::vector<Row> rows, slow;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const validate::ComparedPoint& p = points[i];
    const std::string name = p.variant.empty() ? p.transport : p.transport + " " + p.variant;
    const auto [found, added] = known.try_emplace({name, p.size_B}, rows.size());
    if (added) rows.push_back({name, "", {}});
    rows[found->second].places.push_back(i);
    if (diagnosis.findings[i] == Finding::kSlow && p.query.value("kind", "") != "collective")
      slow.push_back({name, p.ends, {i}});
  }
  for (Row& one : slow)
    if (rows.size() < kMostRows) rows.push_back(std::move(one));
  return rows;
}

/// "slow", or "slow 2 of 56".
std::string finding_text(const Diagnosis& diagnosis, const Row& row) {
  for (const Finding finding : {Finding::kSlow, Finding::kHost, Finding::kUnclear, Finding::kFast}) {
    const auto of = [&](std::size_t place) { return diagnosis.findings[place] == finding; };
    const auto count = static_cast<std::size_t>(std::count_if(row.places.begin(), row.places.end(), of));
    if (count == row.places.size()) return text_of(finding);
    if (count > 0) return fmt::format("{} {} of {}", text_of(finding), count, row.places.size());
  }
  return text_of(Finding::kFine);
}

}  // namespace

std::string table_text(const Diagnosis& diagnosis) {
  std::vector<std::vector<std::string>> lines{
      {"", "", "size", "measured", "expected", "90 % interval", "times", "measured bus", "expected", ""}};
  const std::vector<Row> rows = rows_of(diagnosis);
  const std::size_t step = (rows.size() + kMostRows - 1) / kMostRows;
  std::size_t left = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row& row = rows[k];
    const std::string finding = finding_text(diagnosis, row);
    if (k % step != 0 && finding == text_of(Finding::kFine)) {
      ++left;
      continue;
    }
    const auto middle = [&](auto value) {
      std::vector<double> values;
      for (const std::size_t place : row.places) values.push_back(value(diagnosis.comparison.points[place]));
      return median(values);
    };
    const double measured = middle([](const auto&p) { return p.measured_s; }),
                 expected = middle([](const auto&p) { return p.predicted_s; }),
                 moved = middle([](const auto&p) { return p.moved_B; });
    const auto rate = [&](double time_s) { return moved > 0 ? to_text(BytesPerSecond{moved / time_s}) : "-"; };
    lines.push_back({row.name, row.ends, to_text(Bytes{diagnosis.comparison.points[row.places.front()].size_B}),
                     to_text(Seconds{measured}), to_text(Seconds{expected}),
                     to_text(Seconds{middle([](const auto& p) { return p.low_s; })}) + " to " +
                         to_text(Seconds{middle([](const auto& p) { return p.high_s; })}),
                     fixed(measured / expected, 2), rate(measured), rate(expected), finding});
  }
  std::string text = linkcast::table_text(lines);
  if (left > 0) text += fmt::format("and {} sizes that are fine, in the JSON answer\n", left);
  return text;
}

}  // namespace linkcast::diagnosis
