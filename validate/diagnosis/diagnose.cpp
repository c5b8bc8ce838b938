#include "validate/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/statistics.hpp"
#include "validate/diagnosis/causes_of.hpp"
#include "validate/diagnosis/noise.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::diagnosis {
namespace {

using Pair = std::pair<std::string, std::string>;

/// Pairs of which all that a predicate takes have no access.
template <class Takes>
bool all_refused(const std::set<Pair>& able, const std::set<Pair>& refused, Takes takes) {
  bool any = false;
  for (const Pair& pair : able) {
    if (!takes(pair)) continue;
    any = true;
    if (refused.count(pair) == 0) return false;
  }
  return any;
}

/// Whether the predicate takes every refused pair, and every pair that it takes is refused.
template <class Takes>
bool are(const std::set<Pair>& able, const std::set<Pair>& refused, Takes takes) {
  return std::all_of(refused.begin(), refused.end(), takes) && all_refused(able, refused, takes);
}

}  // namespace

NoAccess without_access(const Platform& platform, const Measurement& measurement) {
  if (measurement.source.rfind("p2pBandwidthLatencyTest", 0) != 0) return {};
  std::set<Pair> peers, twice, able, refused;
  for (const MeasuredPoint& p : measurement.points) {
    if (p.transport == Carrier::kPeer) peers.emplace(p.source, p.target);
    if (p.transport == Carrier::kStaged && p.time_s.size() > 1)
      twice.emplace(p.source, p.target);  // with P2P off and on
  }
  for (const auto& pairs : {peers, twice})
    for (const Pair& pair : pairs) {
      const auto from = platform.topology().find(pair.first), to = platform.topology().find(pair.second);
      if (!from || !to || !platform.peer_route(*from, *to)) continue;
      able.insert(pair);
      if (peers.count(pair) == 0) refused.insert(pair);
    }
  if (refused.empty()) return {};
  const auto socket = [&](const std::string& id) { return platform.socket_of(*platform.topology().find(id)); };
  if (are(able, refused, [](const Pair&) { return true; })) return {refused, "all pairs"};
  if (are(able, refused, [&](const Pair& p) { return socket(p.first) != socket(p.second); }))
    return {refused, "pairs across sockets"};
  for (const Device& device : platform.topology().devices) {
    if (device.kind == DeviceKind::kGpu &&
        are(able, refused, [&](const Pair& p) { return p.first == device.id || p.second == device.id; }))
      return {refused, device.id};
    const auto cpu = platform.topology().find(device.id);
    if (device.kind == DeviceKind::kCpu &&
        are(able, refused, [&](const Pair& p) { return socket(p.first) == *cpu && socket(p.second) == *cpu; }))
      return {refused, "GPUs of " + device.id};
  }
  return {refused,
          fmt::format("{} pairs, {} -> {} the first", refused.size(), refused.begin()->first, refused.begin()->second)};
}

namespace {

constexpr int kHalvings = 60;       // source: ours, far below what is printed
constexpr double kSlowest = 1e100;  // source: ours, beyond the widest interval

std::string kind_text(const validate::ComparedPoint& point) {
  return point.variant.empty() ? point.transport : point.transport + " " + point.variant;
}

/// ln(times) that a healthy machine reaches by this chance.
double least_of(const Covariance& variance, double chance) {
  double low = 0, high = std::log(kSlowest);
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    (HealthyNoise::chance(variance, middle) > chance ? low : high) = middle;
  }
  return high;
}

}  // namespace

Levels::Levels(const HealthyNoise& noise, const std::vector<validate::ComparedPoint>& points, double alarm) {
  std::set<std::vector<std::size_t>> known;
  const auto add = [&](const std::string& name, auto belongs) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (belongs(points[i])) places.push_back(i);
    if (!places.empty() && known.insert(places).second) parts_.push_back({name, places, noise.of_mean(places)});
  };
  const auto add_sizes = [&](const std::string& name, auto belongs) {
    add(name, belongs);
    add(name + " from 1 MiB on", [&](const auto& p) { return belongs(p) && p.size_B >= kLargeFrom_B; });
    add(name + " below 1 MiB", [&](const auto& p) { return belongs(p) && p.size_B < kLargeFrom_B; });
  };
  add_sizes("everything", [](const auto&) { return true; });
  std::set<std::string> kinds;
  for (const validate::ComparedPoint& point : points) kinds.insert(kind_text(point));
  for (const std::string& kind : kinds) add_sizes(kind, [&](const auto& p) { return kind_text(p) == kind; });
  for (Part& part : parts_)  // Bonferroni: each its part of the chance
    part.least = std::exp(least_of(part.variance, alarm / static_cast<double>(parts_.size())));
}

std::vector<Level> Levels::of(const std::vector<double>& residuals) const {
  std::vector<Level> levels;
  for (const Part& part : parts_) {
    double sum = 0;
    for (const std::size_t place : part.places) sum += residuals[place];
    const double mean = sum / static_cast<double>(part.places.size());
    const double sigma = std::sqrt(part.variance.model + part.variance.figures);
    levels.push_back({part.name, part.places, std::exp(mean), std::exp(-kNinetyPercentSigmas * sigma),
                      std::exp(kNinetyPercentSigmas * sigma), part.least, HealthyNoise::chance(part.variance, mean)});
  }
  return levels;
}

std::vector<Level> odd_levels(const std::vector<Level>& levels) {
  std::vector<Level> odd;
  for (const Level& level : levels)
    if (level.times > level.least) odd.push_back(level);
  std::stable_sort(odd.begin(), odd.end(), [](const Level& a, const Level& b) { return a.chance < b.chance; });
  return odd;
}

namespace {

std::vector<std::size_t> not_host_bound(const validate::Comparison& comparison) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < comparison.points.size(); ++i)
    if (!comparison.points[i].host) places.push_back(i);
  return places;
}

std::vector<validate::ComparedPoint> some_of(const validate::Comparison& comparison,
                                             const std::vector<std::size_t>& places) {
  std::vector<validate::ComparedPoint> some;
  for (const std::size_t place : places) some.push_back(comparison.points[place]);
  return some;
}

Ranker ranker_of(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits,
                 const std::vector<validate::ComparedPoint>& points, const validate::Comparison& comparison) {
  std::vector<Judged> all;
  for (const validate::ComparedPoint& point : points) all.push_back(judged(point));
  return {
      all,
      effects_of(catalogue, platform, edits, points, causes_of(catalogue.machine(platform)->platform(), comparison)),
      true};
}

// A point is slower than its like by that many times what they differ by. source: ours, the usual three; whether it is
// a fault the ranking says
constexpr double kLikeSigmas = 3;
constexpr std::size_t kFewestAlike = 4;  // source: ours, a majority that one slow end leaves alone
constexpr double kMadToSigma = 1.4826;   // source: of a normal distribution, 1 / its third quartile

/// Which points are slower than others of the same kind of route and the same size in this log.
/// @param residuals  ln(measured / expected) of each point
std::vector<bool> slow_among_like(const std::vector<Judged>& points, const std::vector<double>& residuals) {
  std::map<std::pair<std::string, double>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < points.size(); ++i) alike[{points[i].group, points[i].size_B}].push_back(i);
  std::vector<bool> slow(points.size(), false);
  for (const auto& [key, places] : alike) {
    if (places.size() < kFewestAlike) continue;
    std::vector<double> logs, apart;
    for (const std::size_t place : places) logs.push_back(residuals[place]);
    const double usual = median(logs);
    for (const double log : logs) apart.push_back(std::abs(log - usual));
    const Scatter& scatter = points[places.front()].scatter;
    const double sigma = std::max(std::hypot(scatter.gpu, scatter.gpu, scatter.own), kMadToSigma * median(apart));
    for (const std::size_t place : places)
      slow[place] = residuals[place] - usual > std::max(kLikeSigmas * sigma, kTelling);
  }
  return slow;
}

void call_slow(std::size_t place, Diagnosis& diagnosis) {
  Finding& finding = diagnosis.findings[place];
  if (finding == Finding::kSlow) return;
  diagnosis.fast -= finding == Finding::kFast ? 1 : 0;
  diagnosis.host -= finding == Finding::kHost ? 1 : 0;
  finding = Finding::kSlow;
  ++diagnosis.slow;
}

// Half of the chance of a false alarm is of means, half of this.
bool noisy(const Diagnosis& diagnosis) { return diagnosis.slow > 0 && diagnosis.ranking.misfit < kOddAlarm / 2; }

}  // namespace

Bench::Bench(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits,
             const Measurement& like)
    : comparison_(validate::compare(catalogue, like, {}, catalogue.edited(catalogue.machine(platform), edits))),
      judged_(not_host_bound(comparison_)),
      no_access_(without_access(catalogue.edited(catalogue.machine(platform), edits)->platform(), like)),
      reaches_(reaches_of(catalogue.machine(platform)->platform(), comparison_.points)),
      ranker_(ranker_of(catalogue, platform, edits, some_of(comparison_, judged_), comparison_)),
      levels_(ranker_.noise(), some_of(comparison_, judged_), kOddAlarm / 2) {}

Diagnosis Bench::diagnose(const std::vector<double>& measured_s) const {
  Diagnosis diagnosis{comparison_, {}, 0, 0, 0, judged_, {}, {}};
  diagnosis.no_access = no_access_.where;
  std::vector<validate::ComparedPoint>& points = diagnosis.comparison.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!measured_s.empty()) points[i].measured_s = measured_s[i];
    diagnosis.findings.push_back(finding_of(points[i], reaches_[i]));
    diagnosis.slow += diagnosis.findings.back() == Finding::kSlow ? 1 : 0;
    diagnosis.host += diagnosis.findings.back() == Finding::kHost ? 1 : 0;
    diagnosis.fast += diagnosis.findings.back() == Finding::kFast ? 1 : 0;
  }
  std::vector<double> residuals;
  for (const std::size_t place : judged_)
    residuals.push_back(std::log(points[place].measured_s / points[place].predicted_s));
  diagnosis.ranking = ranker_.rank(residuals);
  diagnosis.levels = levels_.of(residuals);
  if (!no_access_.where.empty()) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (no_access_.pairs.contains({points[i].query.value("src", ""), points[i].query.value("dst", "")}))
        call_slow(i, diagnosis);
  } else if (!judged_.empty()) {
    find_faults(residuals, diagnosis);
  }
  conclude(diagnosis);
  return diagnosis;
}

/// A fault makes something slow. A log whose shape alone is unlike that of a healthy machine shows an error of the
/// forecast: faults that slow no slow point down do not count. Points of a collective are slow by themselves alone;
/// copies among others of their kind, too.
void Bench::find_faults(const std::vector<double>& residuals, Diagnosis& diagnosis) const {
  Ranking& ranking = diagnosis.ranking;
  const std::vector<Level> odd = odd_levels(diagnosis.levels);
  if (!ranking.faulty() && odd.empty() && !noisy(diagnosis)) return;
  const auto copy = [&](std::size_t k) { return !validate::asks_collective(comparison_.points[judged_[k]].query); };
  std::vector<Judged> points;
  for (const std::size_t place : judged_) points.push_back(diagnosis::judged(comparison_.points[place]));
  std::vector<bool> slow = slow_among_like(points, residuals);
  for (std::size_t k = 0; k < judged_.size(); ++k)
    slow[k] = (slow[k] && copy(k)) || diagnosis.findings[judged_[k]] == Finding::kSlow;
  for (const Level& level : odd)
    for (const std::size_t k : level.places)
      if (copy(k) && residuals[k] >= std::log(level.least)) slow[k] = true;
  // slow, or slower than expected by more than half of what the fault would cost
  const auto slowed = [&](const Candidate& candidate, std::size_t k) {
    const double shift = ranker_.shifts_of(candidate)[k];
    return shift > kTelling && (slow[k] || (copy(k) && residuals[k] > shift / 2));
  };
  const auto slows = [&](const Candidate& candidate) {
    for (std::size_t k = 0; k < slow.size(); ++k)
      if (slowed(candidate, k)) return true;
    return false;
  };
  diagnosis.accused = true;
  Ranking slowing = ranking;
  slowing.keep(
      [&](const RankedKind& kind) { return std::any_of(kind.candidates.begin(), kind.candidates.end(), slows); });
  if (slowing.faulty()) {
    ranking = std::move(slowing);
    diagnosis.known_cause = true;
    const std::vector<Candidate>& candidates = ranking.kinds.front().candidates;
    const Candidate& first = *std::find_if(candidates.begin(), candidates.end(), slows);
    std::vector<bool> explained(slow.size());
    for (std::size_t k = 0; k < slow.size(); ++k) explained[k] = slow[k] || slowed(first, k);
    slow = explained;
  }
  for (std::size_t k = 0; k < slow.size(); ++k)
    if (slow[k]) call_slow(judged_[k], diagnosis);
}

/// Faulty needs both: times that are unlikely for a healthy machine, and slow points that repeat. Normal needs neither,
/// and intervals that exclude a machine 1.5 times slower.
void Bench::conclude(Diagnosis& diagnosis) const {
  const std::vector<validate::ComparedPoint>& points = diagnosis.comparison.points;
  diagnosis.classes = size_classes(points, judged_, diagnosis.findings);
  const auto repeats = [](const SizeClass& of) { return of.repeats; };
  const bool slow = std::any_of(diagnosis.classes.begin(), diagnosis.classes.end(), repeats);
  const SizeClass* worst = least_sure(diagnosis.classes);
  std::set<double> host_sizes;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (diagnosis.findings[i] == Finding::kHost) host_sizes.insert(points[i].size_B);
  if (!diagnosis.no_access.empty() || (diagnosis.accused && slow))
    diagnosis.verdict = Verdict::kFaulty;
  else if (worst == nullptr || worst->slower >= kNotNormal || slow || diagnosis.accused ||
           host_sizes.size() >= kRepeats)
    diagnosis.verdict = Verdict::kCannotTell;
  if (!diagnosis.faulty()) diagnosis.known_cause = false;
}

}  // namespace linkcast::diagnosis
