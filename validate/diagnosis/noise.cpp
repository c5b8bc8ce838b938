#include "validate/diagnosis/noise.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

#include "sim/base/statistics.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::diagnosis {
namespace {

struct MeasuredNoise {
  std::string_view family;
  Scatter small, middle, large;  ///< below 64 KiB, below 1 MiB, above
};

// Copies: what the GPUs at the ends explain of a file's scatter around its forecasts, and the rest. Collectives: what
// three occasions differ by. Relays as staged copies: one file has them.
// source: measured, all of calibrate/data on one node, by validate/diagnosis/noise.py
constexpr std::array kMeasured = {
    MeasuredNoise{"peer", {0.033, 0.016}, {0.010, 0.005}, {0.005, 0.004}},
    MeasuredNoise{"peer from rest", {0.015, 0.042}, {0.025, 0.020}, {0.009, 0.009}},
    MeasuredNoise{"peer read from rest", {0.094, 0.132}, {0.065, 0.063}, {0.002, 0.020}},
    MeasuredNoise{"relay", {0.051, 0.098}, {0.016, 0.038}, {0.030, 0.027}},
    MeasuredNoise{"staged", {0.051, 0.098}, {0.016, 0.038}, {0.030, 0.027}},
    MeasuredNoise{"staged from rest", {0.088, 0.156}, {0.064, 0.087}, {0.006, 0.012}},
    MeasuredNoise{"local", {0.039, 0.035}, {0.027, 0.019}, {0.006, 0.010}},
    MeasuredNoise{"local from rest", {0.011, 0.011}, {0.010, 0.011}, {0.004, 0.010}},
    MeasuredNoise{"host", {0.034, 0.021}, {0.040, 0.020}, {0.016, 0.025}},
    MeasuredNoise{"collective", {0, 0.015}, {0, 0.010}, {0, 0.012}},
};
constexpr double kSmall_B = 65536, kMiddle_B = 1048576;  // source: ranges of the table above

// source: two P100 DGX-1 differ by 2.6 to 17.5 % on host paths, 5.7 % on NVLink (python/run.py plots.transfer)
constexpr double kBoxHost = 0.1, kBoxLink = 0.057;
// The variance of boxes and of forecasts in three: common to all of one family (by the host, or by links), to all that
// the same GPUs or the same kind of way do, to one operation or transport there. source: assumed, a third each: nothing
// measured tells
constexpr double kThird = 1.0 / 3;
// What a forecast is off by changes with the size: two sizes that many doublings apart err alike to 1/e.
// source: measured, collectives that were held out (validate/diagnosis/noise.py): half the mean squared difference
// rises to 0.17, 0.32, 0.47, 0.50, 0.57 and 0.64 in 1, 2, 4, 6, 8 and 10 doublings: 0.62 (1 - exp(-doublings / 3))
constexpr double kDoublings = 3;
constexpr double kLeast = 1e-4;  // source: ours, an exact forecast

/// A route without its numbers: "gpu#->plx#->cpu#".
std::string way_of(const std::vector<std::string>& links) {
  std::string way;
  for (const std::string& link : links) {
    for (const char c : link)
      if (c < '0' || c > '9') way += c;
    way += ' ';
  }
  return way;
}

const std::string kCollectives = "collective", kOverHost = "staged";  // families

std::string family_of(const validate::ComparedPoint& point) {
  if (validate::asks_collective(point.query)) return kCollectives;
  return family_of_copies(point.transport, point.query.value("timing", "") == "single",
                          point.variant.starts_with("copy_engine read"));
}

}  // namespace

// source: ours, after the files above: the noisiest has 2 to 3 times the scatter of all together, one of 10 to 100
// draws
const double kNoiseFreedom = 4;

std::string family_of_copies(const std::string& transport, bool from_rest, bool engine_reads) {
  const bool read = from_rest && engine_reads && transport == "peer";
  const std::string family = transport + (read ? " read" : "") + (from_rest ? " from rest" : "");
  for (const std::string& known : {family, transport})
    for (const MeasuredNoise& row : kMeasured)
      if (row.family == known) return known;
  return kOverHost;  // flows contend like them; messages go by the processor or the network
}

Scatter scatter_of(const std::string& family, double size_B) {
  for (const MeasuredNoise& row : kMeasured)
    if (row.family == family) return size_B < kSmall_B ? row.small : size_B < kMiddle_B ? row.middle : row.large;
  return scatter_of(kOverHost, size_B);
}

double box_sigma(bool by_host) { return by_host ? kBoxHost : kBoxLink; }

Judged judged(const validate::ComparedPoint& point) {
  Judged judged;
  judged.family = family_of(point);
  const bool collective = judged.family == kCollectives;
  judged.by_host = judged.family == Spelled(Carrier::kHost).name() || judged.family.starts_with(kOverHost);
  judged.place = collective ? point.query.value("gpus", Json()).dump() : way_of(point.links);
  judged.group = point.transport + "|" + point.variant + "|" + (collective ? "" : judged.place);
  for (const char* end : {"src", "dst"}) {
    const std::string id = point.query.value(end, "");
    if (id.find("gpu") != std::string::npos && (judged.gpus.empty() || judged.gpus.front() != id))
      judged.gpus.push_back(id);
  }
  judged.size_B = point.size_B;
  // of the upper end: the lower one may be cut by what the wires allow
  judged.shared_sigma = std::log(point.high_s / point.predicted_s) / kNinetyPercentSigmas;
  judged.box_sigma = box_sigma(judged.by_host);
  judged.scatter = scatter_of(judged.family, point.size_B);
  return judged;
}

Covariance covariance(const Judged& a, const Judged& b, bool same) {
  const double alike = std::exp(-std::abs(std::log2(a.size_B / b.size_B)) / kDoublings);
  const bool group = a.group == b.group;
  Covariance sum{0, same ? a.scatter.own * a.scatter.own + kLeast * kLeast : 0};
  const double forecast = a.shared_sigma * b.shared_sigma * alike, box = a.box_sigma * b.box_sigma;
  if (a.by_host == b.by_host) sum.model += kThird * box;
  if (a.family != b.family) return sum;
  sum.model += kThird * (forecast + (a.place == b.place ? forecast + box : 0) + (group ? forecast + box : 0));
  for (const std::string& gpu : a.gpus)
    if (std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end())
      sum.figures += a.scatter.gpu * b.scatter.gpu * alike;
  return sum;
}

namespace {

// Factors by which a log is noisier, even in ln: the most likely one of these is refined. source: ours, wider than the
// range of Student's t with 4 degrees of freedom and of exact figures
constexpr double kCalmest = 0.03, kNoisiest = 40;
constexpr int kFactors = 20;
constexpr int kRefinements = 3;     // source: ours, Newton's steps from the best of the grid
constexpr int kScales = 64;         // source: ours, equally likely factors that a chance is averaged over
constexpr int kRarityDraws = 4000;  // source: ours, twenty of them below a chance of 0.5 %
constexpr double kRankEps = 1e-6;   // source: ours, of the figures' variance: less is none

double factor_of(int k) { return kCalmest * std::pow(kNoisiest / kCalmest, k / static_cast<double>(kFactors - 1)); }

/// Columns whose products with themselves make up a matrix of low rank: Cholesky's with pivots.
Eigen::MatrixXd low_rank(const Eigen::MatrixXd& matrix, double least) {
  Eigen::MatrixXd columns(matrix.rows(), matrix.rows());
  Eigen::VectorXd left = matrix.diagonal();
  Eigen::Index rank = 0, pivot = 0;
  while (rank < matrix.rows() && left.maxCoeff(&pivot) > least) {
    const Eigen::VectorXd known = columns.leftCols(rank) * columns.row(pivot).head(rank).transpose();
    columns.col(rank) = (matrix.col(pivot) - known) / std::sqrt(left[pivot]);
    left -= columns.col(rank).cwiseAbs2();
    ++rank;
  }
  return columns.leftCols(rank);
}

/// Prior of ln(factor) where its inverse square is chi-squared, and slopes by ln(factor). @param square  of the factor
double log_prior(double square) { return -kNoiseFreedom / 2 * (std::log(square) + 1 / square); }

/// ln(density) of one figure each axis and the rest, as a function of ln(factor), and its slopes.
struct Density {
  double value = 0, slope = 0, curve = 0;
};
Density density_of(const Eigen::ArrayXd& variances, const Eigen::ArrayXd& squares, double rest, double freedom,
                   double log_factor) {
  const double v = std::exp(2 * log_factor);
  const Eigen::ArrayXd over = 1 / (variances + v), part = v * over;
  const Eigen::ArrayXd seen = squares * over;
  Density d;
  d.value = -(seen.sum() - over.log().sum() + rest / v + freedom * std::log(v)) / 2 + log_prior(v);
  d.slope = (seen * part - part).sum() + rest / v - freedom - kNoiseFreedom + kNoiseFreedom / v;
  d.curve = 2 * (seen * part * (1 - 2 * part) - part * (1 - part)).sum() - 2 * rest / v - 2 * kNoiseFreedom / v;
  return d;
}

}  // namespace

HealthyNoise::HealthyNoise(const std::vector<Judged>& points)
    : points_(static_cast<Eigen::Index>(points.size())), model_(points_, points_), figures_(points_, points_) {
  for (Eigen::Index i = 0; i < points_; ++i)
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Covariance both =
          covariance(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)], i == j);
      model_(i, j) = model_(j, i) = both.model;
      figures_(i, j) = figures_(j, i) = both.figures;
    }
  if (points_ == 0) return;
  factor_.compute(figures_);
  const Eigen::MatrixXd model = factor_.matrixL().solve(low_rank(model_, kRankEps * figures_.diagonal().minCoeff()));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(model.transpose() * model);
  const Eigen::Index axes = (solver.eigenvalues().array() > kRankEps).count();
  variances_ = solver.eigenvalues().tail(axes);
  axes_ = model * solver.eigenvectors().rightCols(axes) * variances_.rsqrt().matrix().asDiagonal();
  weights_.resize(kFactors, axes);
  constants_.resize(kFactors);
  for (int k = 0; k < kFactors; ++k) {
    const double square = factor_of(k) * factor_of(k);
    weights_.row(k) = (variances_ + square).inverse().transpose();
    constants_[k] = -(variances_ + square).log().sum() / 2 -
                    static_cast<double>(points_ - axes) * std::log(square) / 2 + log_prior(square);
  }
  draw_rarities();
}

void HealthyNoise::draw_rarities() {
  std::mt19937_64 random(2);  // the same for every log
  std::normal_distribution<> normal;
  std::chi_squared_distribution<> square(kNoiseFreedom);
  const Eigen::Index axes = variances_.size();
  Eigen::MatrixXd squares(axes, kRarityDraws);
  Eigen::VectorXd rest = Eigen::VectorXd::Zero(kRarityDraws);
  for (int k = 0; k < kRarityDraws; ++k) {
    const double factor = kNoiseFreedom / square(random);
    for (Eigen::Index i = 0; i < axes; ++i) squares(i, k) = (variances_[i] + factor) * std::pow(normal(random), 2);
    if (points_ > axes) rest[k] = factor * std::chi_squared_distribution<>(static_cast<double>(points_ - axes))(random);
  }
  const Eigen::VectorXd all = densities(squares, rest);
  healthy_.assign(all.begin(), all.end());
  std::sort(healthy_.begin(), healthy_.end());
}

double HealthyNoise::rarity(double log_likelihood) const {
  const auto below = std::upper_bound(healthy_.begin(), healthy_.end(), log_likelihood) - healthy_.begin();
  return (static_cast<double>(below) + 1) / (static_cast<double>(healthy_.size()) + 1);
}

Eigen::MatrixXd HealthyNoise::coordinates(const Eigen::MatrixXd& columns) const {
  if (points_ == 0) return Eigen::MatrixXd(0, columns.cols());  // there is no factor
  const Eigen::MatrixXd white = factor_.matrixL().solve(columns), along = axes_.transpose() * white;
  Eigen::MatrixXd both(along.rows() + points_, columns.cols());
  both << along, white - axes_ * along;
  return both;
}

Eigen::VectorXd HealthyNoise::log_likelihood(const Eigen::MatrixXd& coordinates) const {
  return densities(coordinates.topRows(variances_.size()).cwiseAbs2(),
                   coordinates.bottomRows(points_).colwise().squaredNorm());
}

Eigen::VectorXd HealthyNoise::densities(const Eigen::MatrixXd& squares, const Eigen::VectorXd& rest) const {
  if (points_ == 0) return Eigen::VectorXd::Zero(rest.size());  // says nothing
  const Eigen::MatrixXd along = weights_ * squares;
  const auto freedom = static_cast<double>(points_ - variances_.size());
  Eigen::VectorXd found(rest.size());
  for (Eigen::Index column = 0; column < rest.size(); ++column) {
    int best = 0;
    double most = 0;
    for (int k = 0; k < kFactors; ++k) {
      const double value = constants_[k] - (along(k, column) + rest[column] / (factor_of(k) * factor_of(k))) / 2;
      if (k == 0 || value > most) {
        most = value;
        best = k;
      }
    }
    const double step = std::log(factor_of(1) / factor_of(0));
    const double from = std::log(factor_of(best));
    double at = from;
    Density density = density_of(variances_, squares.col(column).array(), rest[column], freedom, at);
    for (int k = 0; k < kRefinements && density.curve < 0; ++k) {
      const double next = std::clamp(at - density.slope / density.curve, from - step, from + step);
      const Density there = density_of(variances_, squares.col(column).array(), rest[column], freedom, next);
      if (there.value < density.value) break;
      at = next;
      density = there;
    }
    // Laplace's approximation of the integral over all factors
    found[column] = density.value + std::log(2 * std::numbers::pi / std::max(-density.curve, 1.0)) / 2;
  }
  return found;
}

Eigen::VectorXd HealthyNoise::draw(std::mt19937_64& random) const {
  std::normal_distribution<> normal;
  std::chi_squared_distribution<> square(kNoiseFreedom);
  const double noisy = std::sqrt(kNoiseFreedom / square(random));
  const auto normals = [&](Eigen::Index count) {
    Eigen::VectorXd values(count);
    for (double& value : values) value = normal(random);
    return values;
  };
  const Eigen::VectorXd model = normals(variances_.size()).cwiseProduct(variances_.sqrt().matrix());
  const Eigen::VectorXd white = noisy * normals(points_), along = axes_.transpose() * white;
  Eigen::VectorXd both(along.size() + points_);
  both << along + model, white - axes_ * along;
  return both;
}

Covariance HealthyNoise::of_mean(const std::vector<std::size_t>& some) const {
  Eigen::VectorXd share = Eigen::VectorXd::Zero(points_);
  for (const std::size_t place : some) share[static_cast<Eigen::Index>(place)] += 1 / static_cast<double>(some.size());
  return {share.dot(model_ * share), share.dot(figures_ * share)};
}

double HealthyNoise::chance(const Covariance& variance, double mean) {
  const boost::math::chi_squared_distribution<> square(kNoiseFreedom);
  const boost::math::normal_distribution<> normal;
  double sum = 0;
  for (int k = 0; k < kScales; ++k) {
    const double factor = kNoiseFreedom / boost::math::quantile(square, (k + 0.5) / kScales);  // the middle of each
    sum +=
        boost::math::cdf(boost::math::complement(normal, mean / std::sqrt(variance.model + factor * variance.figures)));
  }
  return sum / kScales;
}

}  // namespace linkcast::diagnosis
