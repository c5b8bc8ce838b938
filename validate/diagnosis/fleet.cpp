#include "validate/diagnosis/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "sim/base/statistics.hpp"

namespace linkcast::diagnosis {
namespace {

using Times = std::map<std::string, double>;

/// By all that tells points apart; of equal ones the first and second, ...
std::vector<std::string> keys_of(const validate::Comparison& comparison) {
  std::map<std::string, int> seen;
  std::vector<std::string> keys;
  for (const validate::ComparedPoint& p : comparison.points) {
    const std::string key = p.transport + "|" + p.variant + "|" + p.ends + "|" + to_text(Bytes{p.size_B});
    keys.push_back(fmt::format("{}|{}", key, seen[key]++));
  }
  return keys;
}

Times times_of(const validate::Comparison& comparison) {
  Times times;
  const std::vector<std::string> keys = keys_of(comparison);
  for (std::size_t i = 0; i < keys.size(); ++i) times[keys[i]] = comparison.points[i].measured_s;
  return times;
}

}  // namespace

Ranking causes_beside(const Bench& bench, const std::vector<validate::Comparison>& others, double tolerance) {
  std::vector<Times> all;
  for (const validate::Comparison& other : others) all.push_back(times_of(other));
  const std::vector<std::string> keys = keys_of(bench.comparison());
  std::vector<Judged> points;
  std::vector<double> over;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < bench.judged().size(); ++k) {
    const std::size_t place = bench.judged()[k];
    std::vector<double> logs;
    for (const Times& times : all)
      if (const auto found = times.find(keys[place]); found != times.end()) logs.push_back(std::log(found->second));
    if (logs.empty()) continue;
    const validate::ComparedPoint& point = bench.comparison().points[place];
    points.push_back(judged(point));
    over.push_back(std::log(point.measured_s) - median(logs));
    points.back().shared_sigma = tolerance * std::abs(over.back());  // nothing is forecast but what a fault changes
    points.back().box_sigma = scatter_of(points.back().family, point.size_B).own;  // as two occasions on one machine
    kept.push_back(k);
  }
  std::vector<Effect> effects = bench.ranker().effects();
  for (Effect& effect : effects)
    for (std::vector<double>& shifts : effect.shifts) {
      std::vector<double> some;
      for (const std::size_t k : kept) some.push_back(shifts[k]);
      shifts = std::move(some);
    }
  return Ranker(points, std::move(effects), false).rank(over);
}

namespace {

template <class Belongs>
void add_part(const std::vector<Judged>& points, const std::string& part, Belongs belongs,
              std::vector<Effect>& effects) {
  Effect effect;
  effect.cause.part = part;
  effect.cause.graded = true;
  effect.cause.trials.push_back({2, part + " slower"});
  std::vector<double> shifts;
  for (const Judged& point : points) shifts.push_back(belongs(point) ? std::log(2.0) : 0);
  if (std::none_of(shifts.begin(), shifts.end(), [](double shift) { return shift > 0; })) return;
  effect.shifts.push_back(std::move(shifts));
  effects.push_back(std::move(effect));
}

}  // namespace

std::vector<Effect> slow_parts(const std::vector<Judged>& points) {
  std::vector<Effect> effects;
  std::set<std::string> groups, gpus;
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Judged& point : points) {
    groups.insert(point.group);
    gpus.insert(point.gpus.begin(), point.gpus.end());
    if (point.gpus.size() == 2) pairs.insert(std::minmax(point.gpus[0], point.gpus[1]));
  }
  const auto add = [&](const std::string& part, auto belongs) { add_part(points, part, belongs, effects); };
  add("everything", [](const Judged&) { return true; });
  add("large sizes", [](const Judged& p) { return p.size_B >= kLargeFrom_B; });
  add("small sizes", [](const Judged& p) { return p.size_B < kLargeFrom_B; });
  if (groups.size() > 1)
    for (const std::string& group : groups) add(group, [&](const Judged& p) { return p.group == group; });
  for (const std::string& gpu : gpus)
    add(gpu, [&](const Judged& p) { return std::find(p.gpus.begin(), p.gpus.end(), gpu) != p.gpus.end(); });
  for (const auto& [a, b] : pairs)
    add(a + " and " + b, [&a = a, &b = b](const Judged& p) {  // named: Clang before 16 takes no others
      return p.gpus.size() == 2 && std::minmax(p.gpus[0], p.gpus[1]) == std::minmax(a, b);
    });
  return effects;
}

// source: 1.4826 of the median absolute deviation, NIST e-Handbook 1.3.5.6
double robust_sigma(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return 1.4826 * median(std::move(values));
}

double updated_sigma(double sigma, double own_sigma, std::size_t figures) {
  const auto count = static_cast<double>(figures);
  return std::sqrt((kNoiseFreedom * sigma * sigma + count * own_sigma * own_sigma) / (kNoiseFreedom + count));
}

namespace {

constexpr std::size_t kLeastOthers = 2;  // source: ours, of two logs nothing tells which is odd

std::string key_of(const MeasuredPoint& p) {
  std::string key = p.transport;
  for (const std::string& word : {p.engine.name(), p.direction.name(), p.via})
    if (!word.empty()) key += " " + word;
  if (p.bidirectional) key += " both ways";
  if (p.pageable) key += " pageable";
  if (p.between_nodes) key += " between nodes";
  return key;
}

void add(FleetLog& log, const std::string& key, Judged judged, const std::vector<double>& times) {
  judged.scatter = scatter_of(judged.family, judged.size_B);
  log.points.emplace(key, std::move(judged));
  log.time_s.emplace(key, median(times));
}

/// The times of one point in the other logs.
std::vector<double> others(const std::vector<FleetLog>& logs, std::size_t but, const std::string& key) {
  std::vector<double> logs_of_times;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto found = logs[i].time_s.find(key);
    if (i != but && found != logs[i].time_s.end()) logs_of_times.push_back(std::log(found->second));
  }
  return logs_of_times;
}

class Member {
 public:
  Member(const std::vector<FleetLog>& logs, std::size_t index) : logs_(logs), index_(index) {
    for (const auto& [key, judged] : logs[index].points) {
      const std::vector<double> rest = others(logs, index, key);
      if (rest.size() < kLeastOthers) continue;
      Point point{key, judged, std::log(logs[index].time_s.at(key)) - median(rest), rest};
      points_.push_back(std::move(point));
    }
  }

  [[nodiscard]] FleetMember judge() {
    FleetMember member;
    member.name = logs_[index_].name;
    if (points_.empty()) return member;
    learn_scatter();
    std::vector<Judged> judged;
    for (const Point& point : points_) {
      judged.push_back(point.judged);
      member.points.push_back(point.key);
      member.over_median.push_back(point.over);
    }
    member.median = median(member.over_median);
    const Ranker ranker(judged, slow_parts(judged), false);
    member.ranking = ranker.rank(member.over_median);
    member.slow = member.ranking.faulty();
    return member;
  }

 private:
  struct Point {
    std::string key;
    Judged judged;
    double over = 0;
    std::vector<double> others;
  };

  /// Scatter of single figures and of whole groups among the other logs.
  void learn_scatter() {
    std::map<std::string, std::vector<double>> single, whole;
    std::map<std::string, std::map<std::size_t, std::vector<double>>> of_log;
    for (const Point& point : points_) {
      const double middle = median(point.others);
      for (std::size_t k = 0; k < point.others.size(); ++k)
        of_log[point.judged.group][k].push_back(point.others[k] - middle);
    }
    for (const auto& [group, logs] : of_log)
      for (const auto& [log, values] : logs) {
        whole[group].push_back(median(values));
        for (const double value : values) single[group].push_back(value - median(values));
      }
    for (Point& point : points_) {
      Judged& judged = point.judged;
      const std::string& group = judged.group;
      const double own = updated_sigma(judged.scatter.own, robust_sigma(single[group]), single[group].size());
      const double box = updated_sigma(judged.scatter.own, robust_sigma(whole[group]), whole[group].size());
      // the median of n figures is itself uncertain by pi / 2n of their variance
      const double of_median = std::sqrt(1 + std::numbers::pi / 2 / static_cast<double>(point.others.size()));
      judged.scatter.own = own * of_median;
      judged.box_sigma = box * of_median;
      judged.shared_sigma = 0;
    }
  }

  const std::vector<FleetLog>& logs_;
  std::size_t index_;
  std::vector<Point> points_;
};

}  // namespace

FleetLog fleet_log(const std::string& name, const Measurement& measurement, const std::set<std::string>& hosts) {
  FleetLog log{name, {hosts.begin(), hosts.end()}};
  for (const MeasuredPoint& p : measurement.points) {
    Judged judged;
    judged.group = key_of(p);
    judged.family = family_of_copies(p.transport, measurement.timing == CopyTiming::kSingle,
                                     p.engine == CopyUnit::kCopyEngine && p.direction == CopyDirection::kRead);
    judged.size_B = p.size_B;
    judged.by_host = crosses_host(p);
    for (const std::string& end : {p.source, p.target})
      if (end.find("gpu") != std::string::npos && (judged.gpus.empty() || judged.gpus.front() != end))
        judged.gpus.push_back(end);
    add(log, judged.group + " " + p.source + " -> " + p.target + " " + to_text(Bytes{p.size_B}), judged, p.time_s);
  }
  for (const MeasuredCollective& c : measurement.collectives) {
    Judged judged;
    judged.group = fmt::format("{} x{}", c.op.name(), c.gpus.size() * static_cast<std::size_t>(c.nodes));
    if (c.nodes > 1) judged.group += fmt::format(" on {} nodes", c.nodes);
    judged.family = "collective";
    judged.size_B = c.size_B;
    add(log,
        fmt::format("{} {}{}{}{}", judged.group, c.algorithm.name(), c.protocol, c.in_place ? "in place " : "",
                    to_text(Bytes{c.size_B})),
        judged, c.time_s);
  }
  return log;
}

std::vector<FleetMember> fleet_of(const std::vector<FleetLog>& logs) {
  if (logs.size() <= kLeastOthers)
    throw InputError(fmt::format("baseline: {} logs: three at least, or nothing tells which is odd", logs.size()));
  std::vector<FleetMember> members;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    members.push_back(Member(logs, i).judge());
    if (members.back().points.empty())
      throw InputError(logs[i].name + ": has no point in common with two others of the baseline");
  }
  return members;
}

Json to_json(const FleetMember& member) {
  Json parts = Json::array(), points = Json::array();
  if (member.slow)
    for (const Candidate& one : member.ranking.kinds.front().candidates)
      parts.push_back({{"part", one.part}, {"times", one.times}});
  for (std::size_t i = 0; i < member.points.size(); ++i)
    points.push_back({{"point", member.points[i]}, {"over_median", std::exp(member.over_median[i])}});
  return {{"file", member.name},
          {"normal", !member.slow},
          {"over_median", std::exp(member.median)},
          {"log10_slow_over_alike", member.ranking.log_ratio / std::log(10)},
          {"log10_alarm", member.ranking.alarm / std::log(10)},
          {"parts", parts},
          {"points", points}};
}

}  // namespace linkcast::diagnosis
