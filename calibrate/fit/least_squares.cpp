#include "calibrate/fit/least_squares.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::fit {
namespace {

using Decomposition = Eigen::ColPivHouseholderQR<Eigen::MatrixXd>;

constexpr double kHuber = 1.345;        // source: Huber, Robust Statistics, 1981
constexpr double kMadToSigma = 1.4826;  // source: 1 / (0.75 quantile of the normal distribution)
constexpr int kIterations = 50;
// source: ours. Columns are scaled to unit length first; below this ratio of pivots they are indistinguishable in
// double precision.
constexpr double kRankTolerance = 1e-10;
// Share of the null direction from which a column is named as undetermined. source: ours, for the message only
constexpr double kPartOfNull = 0.1;

struct System {
  Eigen::MatrixXd a;  ///< rows / time, columns scaled to unit length
  Eigen::VectorXd scale;
};

System scaled_system(const std::vector<Observation>& observations, Eigen::Index columns) {
  System s{Eigen::MatrixXd(static_cast<Eigen::Index>(observations.size()), columns), Eigen::VectorXd(columns)};
  for (Eigen::Index i = 0; i < s.a.rows(); ++i)
    for (Eigen::Index k = 0; k < columns; ++k) {
      const Observation& o = observations[static_cast<std::size_t>(i)];
      s.a(i, k) = o.row[static_cast<std::size_t>(k)] / o.time_s;
    }
  for (Eigen::Index k = 0; k < columns; ++k) {
    s.scale(k) = std::max(s.a.col(k).norm(), 1e-300);
    s.a.col(k) /= s.scale(k);
  }
  return s;
}

/// By the pivots of the QR: the last column is a combination of those before it where its pivot is nothing.
void refuse_rank_deficient(const System& s, const std::vector<std::string>& names) {
  Decomposition qr(s.a);
  qr.setThreshold(kRankTolerance);
  const Eigen::Index last = s.a.cols() - 1;
  if (qr.rank() > last) return;
  const Eigen::Index dependent = qr.colsPermutation().indices()(last);
  Eigen::MatrixXd others = s.a;
  others.col(dependent).setZero();
  Eigen::VectorXd null = Decomposition(others).solve(Eigen::VectorXd(s.a.col(dependent)));
  null(dependent) = -1;
  null /= null.norm();
  std::string undetermined;
  for (Eigen::Index k = 0; k < null.size(); ++k)
    if (std::abs(null(k)) > kPartOfNull)
      undetermined += (undetermined.empty() ? "" : ", ") + names[static_cast<std::size_t>(k)];
  throw InputError("the measurements cannot tell apart: " + undetermined + " (more message sizes are needed)");
}

}  // namespace

double robust_sigma(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return kMadToSigma * median(std::move(values));
}

double sigma_of_ninety_percent(const std::vector<double>& sizes) {
  constexpr double kShare = 0.9;  // source: what the name says
  return quantile(sizes, kShare) / kNinetyPercentSigmas;
}

MedianEstimate estimate_median(const std::vector<double>& values) {
  constexpr double half_pi = 1.5707963267948966;  // source: pi / 2
  const double centre = median(values);
  return {centre, std::sqrt(half_pi / static_cast<double>(values.size())) * robust_sigma(values, centre)};
}

LinearFit robust_fit(const std::vector<Observation>& observations, const std::vector<std::string>& names) {
  const auto columns = static_cast<Eigen::Index>(names.size());
  if (observations.size() < names.size())
    throw InputError(fmt::format("a fit of {} parameters ({}, ...) needs at least as many points, there are {}",
                                 names.size(), names.front(), observations.size()));
  const System s = scaled_system(observations, columns);
  refuse_rank_deficient(s, names);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(s.a.rows());
  Eigen::VectorXd weight = ones, x = Eigen::VectorXd::Zero(columns), residual;
  double sigma = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    work::look();
    const Eigen::MatrixXd wa = weight.cwiseSqrt().asDiagonal() * s.a;
    const Eigen::VectorXd next = Decomposition(wa).solve(weight.cwiseSqrt());
    const double change = (next - x).norm();
    x = next;
    residual = s.a * x - ones;
    sigma = std::max(robust_sigma({residual.data(), residual.data() + residual.size()}, 0), 1e-12);
    for (Eigen::Index i = 0; i < weight.size(); ++i)
      weight(i) = std::min(1.0, kHuber * sigma / std::max(std::abs(residual(i)), 1e-300));
    if (change <= 1e-14 * x.norm()) break;
  }
  const Eigen::MatrixXd normal = s.a.transpose() * weight.asDiagonal() * s.a;
  const Eigen::MatrixXd covariance = sigma * sigma * normal.inverse();
  LinearFit fit;
  for (Eigen::Index k = 0; k < columns; ++k) {
    fit.value.push_back(x(k) / s.scale(k));
    fit.stderr_.push_back(std::sqrt(std::max(covariance(k, k), 0.0)) / s.scale(k));
  }
  fit.sigma = sigma;
  fit.loss = residual.squaredNorm();
  fit.samples = static_cast<int>(observations.size());
  return fit;
}

}  // namespace linkcast::fit
