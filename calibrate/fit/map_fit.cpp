#include "calibrate/fit/map_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "calibrate/fit/least_squares.hpp"

namespace linkcast::fit {
namespace {

// Size of an error that counts as one standard deviation: at first, and the least where the data turn out to scatter
// by less. source: assumed; what forecasts of collectives on H200 are off by where all parameters were measured
// (docs/h200.md), and what two hosts of one kind differ by (calibrate/data/hgx-h200)
constexpr double kUsualError = 0.1, kLeastError = 0.03;
constexpr double kMapHuber = 1.345;  // source: Huber 1981, 95 % efficiency at the normal
// Farthest from what was believed, in its spreads, without and with heavy tails. source: ours, beyond it the data are
// not of this parameter
constexpr double kFarthest = 4, kFarthestInTails = 10;
constexpr double kTails = 2;                                     // spreads from which on tails are heavy. source: ours
constexpr std::array kSteps = {2.0, 1.0, 0.5, 0.25, 0.1, 0.04};  // of line searches, in spreads; source: ours
constexpr double kDifference = 0.02;                             // of derivatives, in spreads; source: ours
constexpr int kRounds = 6, kMarquardtSteps = 6;
constexpr double kEnough = 1e-3;  // source: ours, of the loss between two rounds
// Points of one curve are not independent: neighbours in size err alike. source: assumed, as many as there are points
// to a factor of 8 in size, which a sweep by factors of 2 gives
constexpr double kAlike = 3;
constexpr double kRounding = 1e-9;       // of a sum of losses. source: ours, far above a double's
constexpr double kDetermined = 2.0 / 3;  // source: ours

double map_loss(double error) {
  const double size = std::abs(error);
  return size <= kMapHuber ? error * error / 2 : kMapHuber * (size - kMapHuber / 2);
}

double map_weight(double error) {
  const double size = std::abs(error);
  return size <= kMapHuber ? 1 : kMapHuber / size;
}

/// Loss of a parameter by its distance from its prior, in spreads, and how much of that loss's slope is left.
double prior_loss(const Unknown& unknown, double distance) {
  const double square = distance * distance;
  return unknown.heavy_tails ? kTails * kTails / 2 * std::log1p(square / (kTails * kTails)) : square / 2;
}
double prior_weight(const Unknown& unknown, double distance) {
  return unknown.heavy_tails ? 1 / (1 + distance * distance / (kTails * kTails)) : 1;
}
double farthest(const Unknown& unknown) { return unknown.heavy_tails ? kFarthestInTails : kFarthest; }

class Search {
 public:
  explicit Search(const MapRequest& request) : request_(request), at_(request.unknowns.size(), 0) {
    errors_.resize(request.points);
    for (std::size_t k = 0; k < request.from.size(); ++k) {
      const Prior& prior = request.unknowns[k].prior;
      const double most = farthest(request.unknowns[k]);
      at_[k] = std::clamp(std::log(request.from[k] / prior.value) / prior.spread, -most, most);
    }
    const std::vector<double> values = values_at(at_);
    for (std::size_t i = 0; i < errors_.size(); ++i) errors_[i] = request.log_error(i, values);
  }

  /// @param start  0: from what was believed; 1, 2: from what looking everywhere finds first, in either order
  void run(int start) {
    std::optional<log::Work> work;
    if (request_.progress) work.emplace(*request_.progress, "fit", "rounds", kRounds);
    for (int pass = 0; start > 0 && pass < 2; ++pass)
      for (std::size_t k = 0; k < at_.size(); ++k) scan(start == 1 ? k : at_.size() - 1 - k);
    double before = loss(at_, errors_);
    for (int round = 0; round < kRounds; ++round) {
      for (const double step : kSteps)
        for (std::size_t k = 0; k < at_.size(); ++k) search_along(k, step);
      marquardt();
      for (std::size_t k = 0; k < at_.size(); ++k) scan(k);
      const double now = loss(at_, errors_);
      if (work) work->advance(round + 1);
      if (before - now < kEnough * (1 + now)) break;
      before = now;
    }
  }

  [[nodiscard]] double loss() const { return loss(at_, errors_); }

  /// Goes on with what the errors scatter by as their unit, which says how much they weigh beside the priors.
  void refine() {
    usual_ = std::clamp(sigma(), kLeastError, kUsualError);
    if (usual_ < kUsualError) run(0);
  }

  [[nodiscard]] MapResult result() const {
    MapResult result;
    result.sigma = sigma();
    result.log_errors = errors_;
    const double sigma = std::max(result.sigma, usual_);
    const Eigen::MatrixXd j = jacobian();
    const auto n = static_cast<Eigen::Index>(at_.size());
    Eigen::MatrixXd information = j.transpose() * j / (sigma * sigma * kAlike);
    information.diagonal() += prior_weights();
    const Eigen::MatrixXd covariance = information.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
    const std::vector<double> values = values_at(at_);
    for (Eigen::Index k = 0; k < n; ++k) {
      const double share = std::sqrt(covariance(k, k));
      const auto i = static_cast<std::size_t>(k);
      result.estimates.push_back({values[i], share * request_.unknowns[i].prior.spread, share < kDetermined});
      result.correlation.emplace_back();
      for (Eigen::Index other = 0; other < n; ++other)
        result.correlation.back().push_back(covariance(k, other) /
                                            std::sqrt(covariance(k, k) * covariance(other, other)));
    }
    return result;
  }

 private:
  [[nodiscard]] double sigma() const {
    std::vector<double> sizes;
    for (const double error : errors_) sizes.push_back(std::abs(error));
    return sigma_of_ninety_percent(sizes);
  }

  [[nodiscard]] std::vector<double> values_at(const std::vector<double>& at) const {
    std::vector<double> values;
    for (std::size_t k = 0; k < at.size(); ++k)
      values.push_back(request_.unknowns[k].prior.value * std::exp(at[k] * request_.unknowns[k].prior.spread));
    return values;
  }

  [[nodiscard]] double loss(const std::vector<double>& at, const std::vector<double>& errors) const {
    double sum = 0;
    for (const double error : errors) sum += map_loss(error / usual_);
    for (std::size_t k = 0; k < at.size(); ++k) sum += prior_loss(request_.unknowns[k], at[k]);
    return sum;
  }

  [[nodiscard]] Eigen::VectorXd prior_weights() const {
    Eigen::VectorXd weights(static_cast<Eigen::Index>(at_.size()));
    for (std::size_t k = 0; k < at_.size(); ++k)
      weights(static_cast<Eigen::Index>(k)) = prior_weight(request_.unknowns[k], at_[k]);
    return weights;
  }

  /// Errors where parameter k is moved, the others staying.
  [[nodiscard]] std::vector<double> moved(std::size_t k, double to) const {
    std::vector<double> at = at_;
    at[k] = to;
    const std::vector<double> values = values_at(at);
    std::vector<double> errors = errors_;
    for (const std::size_t i : request_.depending[k]) errors[i] = request_.log_error(i, values);
    return errors;
  }

  /// Goes there if it is better. Losses only add up: the worst points come first, and a sum beyond the loss of today
  /// ends it.
  /// @param changed  points whose errors differ there
  bool go(std::vector<double> there, const std::vector<std::size_t>& changed) {
    std::vector<std::size_t> order = changed;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(errors_[a]) > std::abs(errors_[b]); });
    const double now = loss(at_, errors_);
    const double enough = now * (1 + kRounding);
    std::vector<double> errors = errors_;
    for (const std::size_t i : order) errors[i] = 0;
    double least = loss(there, errors);
    const std::vector<double> values = values_at(there);
    for (const std::size_t i : order) {
      if (least > enough) return false;
      errors[i] = request_.log_error(i, values);
      least += map_loss(errors[i] / usual_);
    }
    if (loss(there, errors) >= now) return false;
    at_ = std::move(there);
    errors_ = std::move(errors);
    return true;
  }

  bool go_along(std::size_t k, double to) {
    std::vector<double> there = at_;
    there[k] = to;
    return go(std::move(there), request_.depending[k]);
  }

  /// Looks everywhere, in whole spreads: a cap that does not limit shows no slope.
  void scan(std::size_t k) {
    const double most = farthest(request_.unknowns[k]);
    for (double to = -most; to <= most; ++to) go_along(k, to);
  }

  /// Walks from where it is in steps as long as it gets better, either way.
  void search_along(std::size_t k, double step) {
    for (const double way : {step, -step})
      for (bool better = true; better;) {
        const double to = at_[k] + way;
        better = std::abs(to) <= farthest(request_.unknowns[k]) && go_along(k, to);
      }
  }

  /// Of the errors by the parameters, in spreads.
  [[nodiscard]] Eigen::MatrixXd jacobian() const {
    Eigen::MatrixXd j =
        Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(errors_.size()), static_cast<Eigen::Index>(at_.size()));
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const std::vector<double> above = moved(k, at_[k] + kDifference), below = moved(k, at_[k] - kDifference);
      for (const std::size_t i : request_.depending[k])
        j(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = (above[i] - below[i]) / (2 * kDifference);
    }
    return j;
  }

  /// Parameters that pull against each other move together.
  void marquardt() {
    double damping = 1e-2;  // source: Marquardt 1963
    std::optional<Eigen::MatrixXd> here;
    for (int step = 0; step < kMarquardtSteps; ++step) {
      if (!here) here = jacobian();
      const Eigen::MatrixXd& j = *here;
      const auto n = static_cast<Eigen::Index>(at_.size());
      Eigen::VectorXd w(j.rows()), e(j.rows()), x(n);
      for (Eigen::Index i = 0; i < j.rows(); ++i) {
        e(i) = errors_[static_cast<std::size_t>(i)] / usual_;
        w(i) = map_weight(e(i));
      }
      for (Eigen::Index k = 0; k < n; ++k) x(k) = at_[static_cast<std::size_t>(k)];
      const Eigen::MatrixXd scaled = j / usual_;
      const Eigen::VectorXd pull = prior_weights();
      Eigen::MatrixXd a = scaled.transpose() * w.asDiagonal() * scaled;
      a.diagonal() += pull;
      const Eigen::VectorXd gradient = scaled.transpose() * w.asDiagonal() * e + pull.cwiseProduct(x);
      a.diagonal() *= 1 + damping;
      if (!take(a.ldlt().solve(gradient))) {
        damping *= 10;  // source: Marquardt 1963
      } else {
        damping /= 10;  // source: Marquardt 1963
        here.reset();
      }
    }
  }

  /// @returns  false where that is no better
  bool take(const Eigen::VectorXd& step) {
    std::vector<double> there = at_;
    for (std::size_t k = 0; k < there.size(); ++k)
      there[k] = std::clamp(there[k] - step(static_cast<Eigen::Index>(k)), -farthest(request_.unknowns[k]),
                            farthest(request_.unknowns[k]));
    std::vector<std::size_t> all(errors_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return go(std::move(there), all);
  }

  const MapRequest& request_;
  double usual_ = kUsualError;
  std::vector<double> at_;      ///< in spreads from what was believed
  std::vector<double> errors_;  ///< there
};

}  // namespace

MapResult fit_map(const MapRequest& request) {
  constexpr int kStarts = 3;  // source: ours; each finds the least loss in some of the shipped data
  std::optional<Search> best;
  for (int start = 0; start < (request.from.empty() ? kStarts : 1); ++start) {
    Search search(request);
    search.run(start);
    if (!best || search.loss() < best->loss()) best.emplace(search);
  }
  best->refine();
  return best->result();
}

}  // namespace linkcast::fit
