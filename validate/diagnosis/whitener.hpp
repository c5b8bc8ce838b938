#pragma once
#include <Eigen/Dense>
#include <vector>

#include "validate/diagnosis/noise.hpp"

namespace linkcast::diagnosis {

/// Turns figures that err together into as many that err on their own, with standard deviation 1.
class Whitener {
 public:
  explicit Whitener(const std::vector<Judged>& points);
  /// @param columns  a row a point
  [[nodiscard]] Eigen::MatrixXd operator()(const Eigen::MatrixXd& columns) const {
    return factor_.matrixL().solve(columns);
  }
  [[nodiscard]] Eigen::Index size() const { return size_; }

 private:
  Eigen::Index size_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace linkcast::diagnosis
