#pragma once
// How far a healthy machine's times lie from what is expected of them, and how much of that its points share.
#include <Eigen/Dense>
#include <random>
#include <string>
#include <vector>

#include "validate/compare.hpp"

namespace linkcast::diagnosis {
/// Standard deviations of ln(time) of one figure, whatever is expected of it.
struct Scatter {
  double gpu = 0;  ///< what GPUs of one machine differ by, each end; alike for all figures of a GPU
  double own = 0;  ///< the rest: of this figure alone
};

/// One figure beside what is expected of it.
struct Judged {
  std::string group;     ///< points of one group err alike: one operation, or one transport over one kind of way
  std::string place;     ///< the GPUs of a collective, the kind of way of a copy: operations there err alike, too
  std::string family;    ///< collective, host, peer, staged, ...: decides the noise
  bool by_host = false;  ///< passes a CPU, whose boards differ more
  std::vector<std::string> gpus{};  ///< at the ends; none of a collective of many
  double size_B = 0;
  double shared_sigma = 0;  ///< of ln(time): what the expectation may be off by, alike for points of about one size
  double box_sigma = 0;     ///< of ln(time): what two machines of one type differ by
  Scatter scatter{};
};

/// @param engine_reads  by copy engines of the target
std::string family_of_copies(const std::string& transport, bool from_rest, bool engine_reads);
Scatter scatter_of(const std::string& family, double size_B);
/// Standard deviation of ln(time) that two machines of one type differ by.
double box_sigma(bool by_host);
/// Judged against a forecast.
Judged judged(const validate::ComparedPoint& point);
/// Of two figures of a healthy machine around what is expected of them.
struct Covariance {
  double model = 0;    ///< what the forecast and the box are off by
  double figures = 0;  ///< what single figures scatter by
};
/// @param same  they are one
Covariance covariance(const Judged& a, const Judged& b, bool same);

/// Large sizes show rates, small ones start-ups. source: ours, as the ranges of validate --against
inline constexpr double kLargeFrom_B = 1048576;

/// Degrees of freedom of the figures' scatter: the one unknown factor by which a log is noisier or calmer than what was
/// measured.
extern const double kNoiseFreedom;

// The figures of a healthy machine, which err together: how likely they are, and draws of them.

/// Errors of the forecast and the box are those of the intervals. Scatter of single figures is known but for
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
