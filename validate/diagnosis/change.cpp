#include "validate/diagnosis/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "sim/base/parse.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/table.hpp"

namespace linkcast::diagnosis {
namespace {

// A figure changed by more than so many times what such runs differ by. source: ours, the usual three
constexpr double kChangeSigmas = 3;
// Sizes further apart say nothing of each other's scatter. source: ours
constexpr double kNeighbours = 4;
// Host costs are in what takes below it. source: ours, as the ranges of noise.cpp
constexpr double kHostSizes_B = 65536;
// Start-up and rate together are no worse an account of a change than that: steps of rings and trees differ.
// source: ours
constexpr double kAccount = 1.3;
// Variance of a second difference over that of one figure. source: 1 + 4 + 1, of independent figures
constexpr double kSecondDifference = 6;
constexpr std::size_t kChangedCopies = 2;  // source: ours, as of one log: two ends or two times

bool is_curve(const Judged& judged) { return judged.family == "collective"; }

double over(const ChangedPoint& point) { return std::log(point.after_s / point.before_s); }

/// Places of the points of one size.
using Sizes = std::map<double, std::vector<std::size_t>>;

std::map<std::string, Sizes> curves_of(const std::vector<ChangedPoint>& points) {
  std::map<std::string, Sizes> curves;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (is_curve(points[i].judged)) curves[points[i].judged.group][points[i].judged.size_B].push_back(i);
  return curves;
}

template <class Value>
double middle(const std::vector<ChangedPoint>& points, const std::vector<std::size_t>& places, Value value) {
  std::vector<double> values;
  for (const std::size_t place : places) values.push_back(value(points[place]));
  return median(std::move(values));
}

int range_of(double size_B) { return size_B < kHostSizes_B ? 0 : size_B < kLargeFrom_B ? 1 : 2; }

/// Scatter of the figures of each curve and range of sizes by in place and out of place, and by neighbouring sizes.
class Scatters {
 public:
  explicit Scatters(const std::vector<ChangedPoint>& points) {
    for (const auto& [group, sizes] : curves_of(points)) {
      std::vector<std::pair<double, double>> curve;
      for (const auto& [size_B, places] : sizes) {
        curve.emplace_back(size_B, middle(points, places, over));
        for (std::size_t k = 1; k < places.size(); ++k)
          of(group, size_B).push_back((over(points[places[k]]) - over(points[places[k - 1]])) / std::numbers::sqrt2);
      }
      for (std::size_t k = 1; k + 1 < curve.size(); ++k)
        if (curve[k + 1].first <= kNeighbours * curve[k].first && curve[k].first <= kNeighbours * curve[k - 1].first)
          of(group, curve[k].first)
              .push_back((curve[k - 1].second - 2 * curve[k].second + curve[k + 1].second) /
                         std::sqrt(kSecondDifference));
    }
  }

  /// @param known  of one figure, from elsewhere
  double updated(const Judged& judged, double known) const {
    const auto found = seen_.find({judged.group, range_of(judged.size_B)});
    return found == seen_.end() ? known : updated_sigma(known, robust_sigma(found->second), found->second.size());
  }

 private:
  std::vector<double>& of(const std::string& group, double size_B) { return seen_[{group, range_of(size_B)}]; }
  std::map<std::pair<std::string, int>, std::vector<double>> seen_;
};

/// Two occasions on the same hosts, or two machines of one type. Between nodes other traffic counts as much as other
/// machines (assumed).
double shared_by_all(const Judged& judged, bool same_hosts, bool between_nodes) {
  if (same_hosts && !between_nodes) return judged.scatter.own;
  return box_sigma(judged.by_host || (!same_hosts && judged.size_B < kHostSizes_B));
}

std::vector<ChangedPoint> points_of(const FleetLog& before, const FleetLog& after) {
  std::vector<ChangedPoint> points;
  for (const auto& [key, judged] : after.points)
    if (const auto found = before.time_s.find(key); found != before.time_s.end())
      points.push_back({key, judged, found->second, after.time_s.at(key)});
  if (points.empty())
    throw InputError(
        fmt::format("{}: has no point in common with {}: no operation of as many GPUs and nodes, of one "
                    "size",
                    after.name, before.name));
  const bool same = !before.hosts.empty() && before.hosts == after.hosts, several = after.hosts.size() > 1;
  const Scatters scatters(points);
  for (ChangedPoint& point : points) {
    Judged& judged = point.judged;
    judged.box_sigma = shared_by_all(judged, same, several);
    judged.shared_sigma = 0;
    judged.scatter.own = scatters.updated(judged, std::numbers::sqrt2 * judged.scatter.own);
    judged.scatter.gpu *= std::numbers::sqrt2;
    const double sigma = std::hypot(judged.box_sigma, judged.scatter.own, judged.scatter.gpu);
    point.usual = std::exp(kChangeSigmas * sigma);
    const double times = point.after_s / point.before_s;
    point.change = times > point.usual ? Change::kSlower : 1 / times > point.usual ? Change::kFaster : Change::kAlike;
  }
  return points;
}

/// One curve, or one copy, in one range of sizes.
struct Part {
  std::string name;
  bool curve = false;
  Sizes sizes{};
};

std::vector<Part> parts_of(const std::vector<ChangedPoint>& points) {
  std::map<std::string, Part> parts;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Judged& judged = points[i].judged;
    const std::string name = judged.group + (judged.size_B >= kLargeFrom_B ? " from 1 MiB on" : " below 1 MiB");
    Part& part = parts[name];
    part.name = name;
    part.curve = is_curve(judged);
    part.sizes[judged.size_B].push_back(i);
  }
  std::vector<Part> all;
  for (auto& [name, part] : parts) all.push_back(std::move(part));
  return all;
}

struct Judgement {
  bool repeats = false;  ///< slower in three neighbouring sizes, or in two copies
  bool odd = false;      ///< some size alone is so slow that it is not normal
  double at_most = 1;    ///< slower, in the three neighbouring sizes that are least sure
};

Judgement judge(const std::vector<ChangedPoint>& points, const Part& part) {
  std::vector<double> most;
  std::vector<bool> slow;
  std::size_t copies = 0;
  Judgement found;
  for (const auto& [size_B, places] : part.sizes) {
    const auto slower = static_cast<std::size_t>(std::count_if(
        places.begin(), places.end(), [&](std::size_t place) { return points[place].change == Change::kSlower; }));
    slow.push_back(2 * slower > places.size());
    copies += slower;
    found.odd = found.odd || (slow.back() && middle(points, places, over) >= std::log(kNotNormal));
    most.push_back(middle(points, places, [](const ChangedPoint& p) {
      return over(p) + kNinetyPercentSigmas / kChangeSigmas * std::log(p.usual);
    }));
  }
  const std::size_t run = std::min(kRepeats, slow.size());
  found.repeats = !part.curve && copies >= kChangedCopies;
  double at_most = 0;
  for (std::size_t first = 0; first + run <= slow.size(); ++first) {
    at_most = std::max(at_most, median(std::vector<double>(most.begin() + static_cast<std::ptrdiff_t>(first),
                                                           most.begin() + static_cast<std::ptrdiff_t>(first + run))));
    if (part.curve && slow.size() >= kRepeats &&
        std::all_of(slow.begin() + static_cast<std::ptrdiff_t>(first),
                    slow.begin() + static_cast<std::ptrdiff_t>(first + run), [](bool s) { return s; }))
      found.repeats = true;
  }
  found.at_most = std::exp(at_most);
  return found;
}

/// One size of a curve.
struct Step {
  double size_B, before_s, after_s, usual;
};

/// after = before + startup + size * rest, by least squares of relative errors; neither below 0.
std::pair<double, double> additions(const std::vector<Step>& steps) {
  double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
  for (const Step& s : steps) {
    const double a = 1 / s.after_s, b = s.size_B / s.after_s, y = (s.after_s - s.before_s) / s.after_s;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a * y;
    by += b * y;
  }
  const double det = aa * bb - ab * ab;
  if (det > 0) {
    const double startup = (ay * bb - by * ab) / det, rest = (by * aa - ay * ab) / det;
    if (startup >= 0 && rest >= 0) return {startup, rest};
  }
  const double startup = std::max(0.0, ay / aa), rest = std::max(0.0, by / bb);
  return startup * ay > rest * by ? std::pair(startup, 0.0) : std::pair(0.0, rest);
}

/// The longest run of sizes that are slower than start-up and rate account for; some size on each side is not.
std::optional<ChangedCurve::Sizes> sizes_apart(const std::vector<Step>& steps, double startup_s, double rest) {
  const auto unlike = [&](const Step& s) {
    return s.after_s / (s.before_s + startup_s + rest * s.size_B) > std::max(s.usual, kAccount);
  };
  std::size_t best = 0, at = 0;
  for (std::size_t first = 1; first < steps.size(); ++first) {
    if (unlike(steps[first - 1])) continue;
    std::size_t last = first;
    while (last < steps.size() && unlike(steps[last])) ++last;
    if (last == steps.size() || last - first <= best) continue;
    best = last - first;
    at = first;
  }
  if (best < 2) return std::nullopt;
  ChangedCurve::Sizes apart{steps[at].size_B, steps[at + best - 1].size_B};
  std::vector<double> times;
  for (std::size_t k = at; k < at + best; ++k) times.push_back(steps[k].after_s / steps[k].before_s);
  apart.times = median(times);
  return apart;
}

/// Without the sizes that stand apart, which are found by what the smallest and the largest sizes say.
ChangedCurve curve_of(const std::string& group, const std::vector<Step>& steps) {
  ChangedCurve curve{group};
  std::vector<Step> ends = steps;
  const auto [startup_s, rest] = additions(ends);
  curve.apart = sizes_apart(steps, startup_s, rest);
  if (!curve.apart) {  // a bump in the middle draws both up: without the slowest third
    std::sort(ends.begin(), ends.end(),
              [](const Step& a, const Step& b) { return a.after_s / a.before_s < b.after_s / b.before_s; });
    ends.resize(ends.size() - ends.size() / 3);
    const auto [low_s, low_rest] = additions(ends);
    curve.apart = sizes_apart(steps, low_s, low_rest);
  }
  ends = steps;
  if (curve.apart)
    std::erase_if(ends,
                  [&](const Step& s) { return s.size_B >= curve.apart->from_B && s.size_B <= curve.apart->to_B; });
  const auto [more_s, more] = additions(ends);
  const Step &small = steps.front(), &large = steps.back();
  if (1 + more_s / small.before_s > small.usual) {
    curve.startup_s = more_s;
    curve.startup_times = 1 + more_s / small.before_s;
  }
  if (const double times = 1 + more * large.size_B / large.before_s; times > large.usual) curve.rate_times = times;
  return curve;
}

std::vector<ChangedCurve> slower_curves(const std::vector<ChangedPoint>& points) {
  std::vector<ChangedCurve> curves;
  for (const auto& [group, sizes] : curves_of(points)) {
    std::vector<Step> steps;
    bool slower = false;
    for (const auto& [size_B, places] : sizes) {
      steps.push_back({size_B, middle(points, places, [](const auto& p) { return p.before_s; }),
                       middle(points, places, [](const auto& p) { return p.after_s; }),
                       middle(points, places, [](const auto& p) { return p.usual; })});
      slower = slower || steps.back().after_s > steps.back().before_s * steps.back().usual;
    }
    if (slower && steps.size() >= kRepeats) curves.push_back(curve_of(group, steps));
  }
  return curves;
}

}  // namespace

const char* text_of(Change change) {
  return change == Change::kSlower ? "slower" : change == Change::kFaster ? "faster" : "alike";
}

LogChange change_between(const FleetLog& before, const FleetLog& after) {
  LogChange change{points_of(before, after), {}};
  std::vector<Judged> judged;
  std::vector<double> logs;
  for (const ChangedPoint& point : change.points) {
    judged.push_back(point.judged);
    logs.push_back(over(point));
    change.slower += point.change == Change::kSlower ? 1 : 0;
    change.faster += point.change == Change::kFaster ? 1 : 0;
  }
  change.ranking = Ranker(judged, slow_parts(judged), false).rank(logs);
  bool odd = false;
  for (const Part& part : parts_of(change.points)) {
    const Judgement found = judge(change.points, part);
    if (found.repeats) change.parts.push_back(part.name);
    odd = odd || found.odd;
    change.slower_at_most = std::max(change.slower_at_most, found.at_most);
  }
  const bool unlike = change.ranking.faulty() || change.ranking.misfit < kOddAlarm;
  if (unlike && !change.parts.empty())
    change.verdict = Verdict::kFaulty;
  else if (!change.parts.empty() || odd || change.slower_at_most >= kNotNormal)
    change.verdict = Verdict::kCannotTell;
  if (change.slower > 0) change.curves = slower_curves(change.points);
  return change;
}

Json to_json(const LogChange& change) {
  Json curves = Json::array(), table = Json::array();
  for (const ChangedCurve& c : change.curves) {
    curves.push_back({{"curve", c.group},
                      {"startup_s", c.startup_s},
                      {"startup_times", c.startup_times},
                      {"rate_times", c.rate_times}});
    if (c.apart)
      curves.back()["apart"] = {{"from_B", c.apart->from_B}, {"to_B", c.apart->to_B}, {"times", c.apart->times}};
  }
  for (const ChangedPoint& p : change.points)
    table.push_back({{"point", p.key},
                     {"size_B", p.judged.size_B},
                     {"before_s", p.before_s},
                     {"after_s", p.after_s},
                     {"times", p.after_s / p.before_s},
                     {"usual", p.usual},
                     {"finding", text_of(p.change)}});
  return {{"verdict", text_of(change.verdict)},
          {"normal", change.verdict == Verdict::kNormal},
          {"points", change.points.size()},
          {"slower", change.slower},
          {"faster", change.faster},
          {"slower_at_most", change.slower_at_most},
          {"parts", change.parts},
          {"log10_slow_over_alike", change.ranking.log_ratio / std::log(10)},
          {"log10_alarm", change.ranking.alarm / std::log(10)},
          {"curves", curves},
          {"table", table}};
}

namespace {

std::string times_text(double times) { return fmt::format("{:.2f} times", times); }

// Copies that fit a screen. source: ours
constexpr std::size_t kMostCopies = 20;

}  // namespace

std::vector<std::string> curve_texts(const LogChange& change) {
  std::vector<std::string> texts;
  for (const ChangedCurve& c : change.curves) {
    std::vector<std::string> parts;
    if (c.apart)
      parts.push_back(fmt::format("{} to {} alone {}: another protocol or algorithm", to_text(Bytes{c.apart->from_B}),
                                  to_text(Bytes{c.apart->to_B}), times_text(c.apart->times)));
    if (c.startup_s > 0)
      parts.push_back(fmt::format("start-up {} longer ({} at the smallest size)", to_text(Seconds{c.startup_s}),
                                  times_text(c.startup_times)));
    if (c.rate_times > 1) parts.push_back("rate " + times_text(c.rate_times) + " slower at the largest size");
    if (!parts.empty() && !c.apart && c.startup_s <= 0) parts.emplace_back("start-up as it was");
    if (!parts.empty() && !c.apart && c.rate_times <= 1) parts.emplace_back("rate as it was");
    if (!parts.empty()) texts.push_back(c.group + ": " + joined(parts));
  }
  return texts;
}

std::string table_text(const LogChange& change) {
  std::vector<std::vector<std::string>> rows{{"", "size", "before", "after", "times", "such runs differ by", ""}};
  const std::vector<ChangedPoint>& points = change.points;
  for (const auto& [group, sizes] : curves_of(points))
    for (const auto& [size_B, places] : sizes) {
      const double before_s = middle(points, places, [](const auto&p) { return p.before_s; }),
                   after_s = middle(points, places, [](const auto&p) { return p.after_s; }),
                   usual = middle(points, places, [](const auto&p) { return p.usual; });
      rows.push_back({group, to_text(Bytes{size_B}), to_text(Seconds{before_s}), to_text(Seconds{after_s}),
                      fmt::format("{:.2f}", after_s / before_s), fmt::format("{:.2f}", usual),
                      text_of(after_s > before_s * usual   ? Change::kSlower
                              : after_s * usual < before_s ? Change::kFaster
                                                           : Change::kAlike)});
    }
  std::vector<const ChangedPoint*> copies;
  for (const ChangedPoint& p : points)
    if (!is_curve(p.judged) && p.change != Change::kAlike) copies.push_back(&p);
  std::stable_sort(copies.begin(), copies.end(),
                   [](const auto* a, const auto* b) { return std::abs(over(*a)) > std::abs(over(*b)); });
  for (std::size_t k = 0; k < std::min(copies.size(), kMostCopies); ++k) {
    const ChangedPoint& p = *copies[k];
    rows.push_back({p.key, "", to_text(Seconds{p.before_s}), to_text(Seconds{p.after_s}),
                    fmt::format("{:.2f}", p.after_s / p.before_s), fmt::format("{:.2f}", p.usual), text_of(p.change)});
  }
  std::string text = rows.size() > 1 ? linkcast::table_text(rows) : "";
  if (copies.size() > kMostCopies)
    text += fmt::format("and {} copies more, in the JSON answer\n", copies.size() - kMostCopies);
  return text;
}

}  // namespace linkcast::diagnosis
