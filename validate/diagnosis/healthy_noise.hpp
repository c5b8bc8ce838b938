#pragma once
// The figures of a healthy machine, which err together: how likely they are, and draws of them.
#include <Eigen/Dense>
#include <random>
#include <vector>

#include "validate/diagnosis/noise.hpp"

namespace linkcast::diagnosis {

/// What the forecast and the box may be off by is as the intervals say. What single figures scatter by is known but for
/// one factor of the whole log, which its own figures tell: neighbouring sizes and repetitions differ by nothing else.
class HealthyNoise {
 public:
  explicit HealthyNoise(const std::vector<Judged>& points);

  /// Coordinates of ln(measured / expected) in which figures err on their own: of forecast and box first, in units of
  /// the figures' scatter. @param columns  a row a point
  [[nodiscard]] Eigen::MatrixXd coordinates(const Eigen::MatrixXd& columns) const;
  /// ln(probability density) of each column, over all factors that a log may be noisier by; but for a constant.
  [[nodiscard]] Eigen::VectorXd log_likelihood(const Eigen::MatrixXd& coordinates) const;
  /// Coordinates of a healthy machine.
  [[nodiscard]] Eigen::VectorXd draw(std::mt19937_64& random) const;
  [[nodiscard]] Eigen::Index points() const { return points_; }
  /// Chance that a healthy machine is as unlikely.
  [[nodiscard]] double rarity(double log_likelihood) const;

  /// Variances of the mean of some figures.
  [[nodiscard]] Covariance of_mean(const std::vector<std::size_t>& some) const;
  /// Chance that the mean of some figures of a healthy machine is as high.
  [[nodiscard]] static double chance(const Covariance& variance, double mean);

 private:
  void draw_rarities();
  [[nodiscard]] Eigen::VectorXd densities(const Eigen::MatrixXd& squares, const Eigen::VectorXd& rest) const;

  Eigen::Index points_;
  Eigen::MatrixXd model_, figures_;     ///< covariances
  Eigen::LLT<Eigen::MatrixXd> factor_;  ///< of the figures' scatter
  Eigen::MatrixXd axes_;                ///< a column an axis of forecast and box
  Eigen::ArrayXd variances_;            ///< along these, over the figures'
  Eigen::MatrixXd weights_;             ///< a row a factor of the grid
  Eigen::VectorXd constants_;
  std::vector<double> healthy_;  ///< log_likelihood of healthy machines, ascending
};

}  // namespace linkcast::diagnosis
