#include "validate/diagnosis/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "sim/base/statistics.hpp"
#include "sim/query/query.hpp"
#include "validate/diagnosis/noise.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::diagnosis {
namespace {

// A fault that changes no time by more than this is not seen. source: ours, far below what is printed
constexpr double kUnseen = 1e-3;

class Asker {
 public:
  Asker(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits)
      : catalogue_(catalogue), platform_(platform), edits_(edits) {}

  /// ln(time with the fault / time without). @returns nothing where it cannot be forecast
  [[nodiscard]] std::optional<double> shift(const validate::ComparedPoint& point, const Trial& trial) const {
    Json query = point.query;
    query["platform"] = platform_;
    Json edits = edits_;
    for (const Json& own : query.value("edits", Json::array())) edits.push_back(own);
    for (const std::string& edit : trial.edits) edits.push_back(edit);
    query["edits"] = edits;
    const Json before = query;
    if (trial.twist) trial.twist(query);
    if (trial.edits.empty() && query == before) return 0;
    Json result = asked(query);
    if (result.contains("error") && validate::asks_for(Carrier::kPeer, query)) {  // the driver copies through the host
      query["transport"] = "staged";
      for (const char* key : {"direction", "engine"}) query.erase(key);
      result = asked(query);
    }
    if (result.contains("error")) return std::nullopt;
    return std::log(result.at("time_s").get<double>() / point.predicted_s);
  }

 private:
  [[nodiscard]] Json asked(const Json& query) const {
    try {
      return query::answer(catalogue_, query);
    } catch (const InputError& error) {
      return {{"error", error.what()}};
    }
  }

  catalogue::Catalogue& catalogue_;
  const std::string& platform_;
  Json edits_;
};

std::optional<std::vector<double>> shifts_of(const Asker& asker, const std::vector<validate::ComparedPoint>& points,
                                             const Trial& trial) {
  std::vector<double> shifts;
  for (const validate::ComparedPoint& point : points) {
    const std::optional<double> shift = asker.shift(point, trial);
    if (!shift || !std::isfinite(*shift)) return std::nullopt;
    shifts.push_back(*shift);
  }
  return shifts;
}

bool seen(const std::vector<double>& shifts) {
  return std::any_of(shifts.begin(), shifts.end(), [](double shift) { return std::abs(shift) > kUnseen; });
}

std::optional<Effect> effect_of(const Asker& asker, const std::vector<validate::ComparedPoint>& points, Cause cause) {
  Effect effect{cause, {}};
  effect.cause.trials.clear();
  // The worst first: what it does not change the slighter ones do not either.
  if (cause.graded) {
    const auto worst = shifts_of(asker, points, cause.trials.back());
    if (!worst || !seen(*worst)) return std::nullopt;
  }
  for (Trial& trial : cause.trials) {
    const auto shifts = shifts_of(asker, points, trial);
    if (!shifts && cause.graded) return std::nullopt;
    if (!shifts || (!cause.graded && !seen(*shifts))) continue;
    effect.cause.trials.push_back(std::move(trial));
    effect.shifts.push_back(*shifts);
  }
  if (effect.shifts.empty()) return std::nullopt;
  return effect;
}

}  // namespace

std::vector<Effect> effects_of(catalogue::Catalogue& catalogue, const std::string& platform,
                               const std::vector<std::string>& edits,
                               const std::vector<validate::ComparedPoint>& points, std::vector<Cause> causes) {
  const Asker asker(catalogue, platform, edits);
  std::vector<Effect> effects;
  log::Work work(catalogue.progress(), "diagnose", "causes", static_cast<std::int64_t>(causes.size()));
  std::int64_t done = 0;
  for (Cause& cause : causes) {
    work.advance(done++);
    if (auto effect = effect_of(asker, points, std::move(cause))) effects.push_back(std::move(*effect));
  }
  return effects;
}

namespace {

// Degrees of a graded fault, each as likely as the next in ln. source: ours, from what two healthy machines of one type
// differ by on their links (5.7 %, python/run.py plots.transfer) to a part that hardly works
constexpr double kSlightest = 1.057, kWorst = 8;
constexpr int kDegrees = 40;
// Degrees below the slightest, by which healthy machines differ as a whole: such a fault must be likelier than these.
constexpr std::array kMild = {1.01, 1.02, 1.03, 1.04, 1.05};

// source: ours, six of them above the alarm
constexpr int kHealthyDraws = 400;

/// Of a graded fault, the mild ones first.
double degree(int k) {
  constexpr int kMilds = static_cast<int>(kMild.size());
  if (k < kMilds) return kMild[static_cast<std::size_t>(k)];
  k -= kMilds;
  return kSlightest * std::pow(kWorst / kSlightest, k / static_cast<double>(kDegrees - 1));
}

/// ln of the time of one point that is so many times slower, straight between the trials as times are.
double between(const Effect& effect, std::size_t point, double times) {
  double x0 = 1, y0 = 1;
  for (std::size_t k = 0; k < effect.shifts.size(); ++k) {
    const double x1 = effect.cause.trials[k].times, y1 = std::exp(effect.shifts[k][point]);
    const bool last = k + 1 == effect.shifts.size();
    if (times <= x1 || last) return std::log(std::max(y0 + (y1 - y0) * (times - x0) / (x1 - x0), y0));
    x0 = x1;
    y0 = y1;
  }
  return 0;
}

/// The first trial that is as bad.
std::size_t nearest(const Cause& cause, double times) {
  std::size_t trial = 0;
  while (trial + 1 < cause.trials.size() && cause.trials[trial].times < times) ++trial;
  return trial;
}

double log_mean(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double one : logs) sum += std::exp(one - most);
  return most + std::log(sum / static_cast<double>(logs.size()));
}

}  // namespace

class Ranker::Parts {
 public:
  Parts(const std::vector<Judged>& points, std::vector<Effect> effects, bool mild_is_healthy);
  [[nodiscard]] Ranking rank(const std::vector<double>& residuals) const;
  [[nodiscard]] const std::vector<Effect>& effects() const { return effects_; }
  [[nodiscard]] const HealthyNoise& noise() const { return noise_; }

 private:
  struct Columns {
    Eigen::MatrixXd white;           ///< a column a degree of the fault
    std::vector<double> times;       ///< of graded faults
    std::vector<std::size_t> trial;  ///< nearest one
    std::size_t mild = 0;            ///< so many of them are healthy: less than what two machines differ by
  };
  /// ln(likelihood / likelihood of a healthy machine) of each effect's degrees that are faults. Where mild is healthy,
  /// a healthy machine may be less than what two machines differ by slower as a whole.
  [[nodiscard]] std::vector<std::vector<double>> ratios(const Eigen::VectorXd& white) const;
  [[nodiscard]] Candidate judge(std::size_t effect, const std::vector<double>& ratios) const;
  /// Mean over the kinds of the mean over their parts.
  [[nodiscard]] double log_ratio(const Eigen::VectorXd& white) const;
  /// Draws healthy machines. @returns  the log_ratio that one of 1 / kFalseAlarm reaches
  [[nodiscard]] double alarm() const;

  HealthyNoise noise_;
  std::vector<Effect> effects_;
  std::vector<Columns> columns_;
  double alarm_ = 0;
};

Ranker::Parts::Parts(const std::vector<Judged>& points, std::vector<Effect> effects, bool mild_is_healthy)
    : noise_(points), effects_(std::move(effects)) {
  for (const Effect& effect : effects_) {
    Columns columns;
    columns.mild = effect.cause.graded && effect.cause.whole_machine && mild_is_healthy ? kMild.size() : 0;
    const int skipped = static_cast<int>(kMild.size() - columns.mild);
    const int count =
        effect.cause.graded ? kDegrees + static_cast<int>(columns.mild) : static_cast<int>(effect.shifts.size());
    Eigen::MatrixXd shifts(noise_.points(), count);
    for (int k = 0; k < count; ++k) {
      const auto given = static_cast<std::size_t>(k);
      const double times = effect.cause.graded ? degree(k + skipped) : 1;
      for (Eigen::Index i = 0; i < noise_.points(); ++i) {
        const auto point = static_cast<std::size_t>(i);
        shifts(i, k) = effect.cause.graded ? between(effect, point, times) : effect.shifts[given][point];
      }
      columns.times.push_back(times);
      columns.trial.push_back(effect.cause.graded ? nearest(effect.cause, times) : given);
    }
    columns.white = noise_.coordinates(shifts);
    columns_.push_back(std::move(columns));
  }
  alarm_ = alarm();
}

double Ranker::Parts::alarm() const {
  if (effects_.empty()) return 0;
  std::mt19937_64 bits(1);  // the same for every log
  std::vector<double> ratios;
  for (int k = 0; k < kHealthyDraws; ++k) ratios.push_back(log_ratio(noise_.draw(bits)));
  return std::max(nearest_rank(std::move(ratios), 1 - kFalseAlarm), std::log(kSameEvidence));
}

double Ranker::Parts::log_ratio(const Eigen::VectorXd& white) const {
  const std::vector<std::vector<double>> of_effects = ratios(white);
  std::map<CauseKind, std::vector<double>> kinds;
  for (std::size_t e = 0; e < effects_.size(); ++e) kinds[effects_[e].cause.kind].push_back(log_mean(of_effects[e]));
  std::vector<double> all;
  for (const auto& [kind, some] : kinds) all.push_back(log_mean(some));
  return log_mean(all);
}

std::vector<std::vector<double>> Ranker::Parts::ratios(const Eigen::VectorXd& white) const {
  double healthy = noise_.log_likelihood(white)[0];
  std::vector<std::vector<double>> all;
  for (const Columns& columns : columns_) {
    const Eigen::VectorXd logs = noise_.log_likelihood(columns.white.colwise() - white);
    const auto mild = static_cast<Eigen::Index>(columns.mild);
    if (mild > 0) healthy = std::max(healthy, logs.head(mild).maxCoeff());
    all.emplace_back(logs.begin() + mild, logs.end());
  }
  for (std::vector<double>& of_effect : all)
    for (double& ratio : of_effect) ratio -= healthy;
  return all;
}

Candidate Ranker::Parts::judge(std::size_t effect, const std::vector<double>& all) const {
  const Columns& columns = columns_[effect];
  const auto best = columns.mild + static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
  const Cause& cause = effects_[effect].cause;
  const std::size_t nearest_trial = columns.trial[best];
  const Trial& trial = cause.trials[nearest_trial];
  const double times = columns.times[best];
  return {cause.part,    trial.text, times,        cause.edits ? cause.edits(times) : trial.edits,
          log_mean(all), effect,     nearest_trial};
}

Ranking Ranker::Parts::rank(const std::vector<double>& residuals) const {
  const Eigen::VectorXd white =
      noise_.coordinates(Eigen::Map<const Eigen::VectorXd>(residuals.data(), noise_.points()));
  const std::vector<std::vector<double>> of_effects = ratios(white);
  std::map<CauseKind, std::vector<Candidate>> kinds;
  for (std::size_t e = 0; e < effects_.size(); ++e) kinds[effects_[e].cause.kind].push_back(judge(e, of_effects[e]));
  Ranking ranking;
  std::vector<double> all;
  for (auto& [kind, candidates] : kinds) {
    std::vector<double> ratios;
    for (const Candidate& one : candidates) ratios.push_back(one.log_ratio);
    all.push_back(log_mean(ratios));
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.log_ratio > b.log_ratio; });
    const double least = candidates.front().log_ratio - std::log(kSameEvidence);
    while (candidates.back().log_ratio < least) candidates.pop_back();
    ranking.kinds.push_back({kind, all.back(), 0, std::move(candidates)});
  }
  if (!all.empty())
    ranking.log_ratio = log_mean(all);
  else
    ranking.log_ratio = -std::numeric_limits<double>::infinity();
  ranking.alarm = alarm_;
  for (RankedKind& one : ranking.kinds)
    one.share = std::min(1.0, std::exp(one.log_ratio - ranking.log_ratio) / static_cast<double>(all.size()));
  std::stable_sort(ranking.kinds.begin(), ranking.kinds.end(),
                   [](const RankedKind& a, const RankedKind& b) { return a.log_ratio > b.log_ratio; });
  ranking.misfit = noise_.rarity(noise_.log_likelihood(white)[0]);
  return ranking;
}

void Ranking::keep(const std::function<bool(const RankedKind&)>& keeps) {
  const double before = static_cast<double>(kinds.size());
  std::erase_if(kinds, [&](const RankedKind& kind) { return !keeps(kind); });
  std::vector<double> ratios;
  for (const RankedKind& kind : kinds) ratios.push_back(kind.log_ratio);
  log_ratio = ratios.empty() ? -std::numeric_limits<double>::infinity()
                             : log_mean(ratios) + std::log(static_cast<double>(kinds.size()) / before);
  for (RankedKind& kind : kinds) kind.share = std::min(1.0, std::exp(kind.log_ratio - log_ratio) / before);
}

Ranker::Ranker(const std::vector<Judged>& points, std::vector<Effect> effects, bool mild_is_healthy)
    : parts_(std::make_shared<const Parts>(points, std::move(effects), mild_is_healthy)) {}

Ranking Ranker::rank(const std::vector<double>& residuals) const { return parts_->rank(residuals); }
const std::vector<Effect>& Ranker::effects() const { return parts_->effects(); }
const std::vector<double>& Ranker::shifts_of(const Candidate& candidate) const {
  const std::vector<std::vector<double>>& shifts = effects()[candidate.effect].shifts;
  return shifts[std::min(candidate.trial, shifts.size() - 1)];
}
const HealthyNoise& Ranker::noise() const { return parts_->noise(); }

}  // namespace linkcast::diagnosis
