#include "validate/diagnosis/whitener.hpp"

namespace linkcast::diagnosis {

Whitener::Whitener(const std::vector<Judged>& points) : size_(static_cast<Eigen::Index>(points.size())) {
  Eigen::MatrixXd all(size_, size_);
  for (Eigen::Index i = 0; i < size_; ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      all(i, j) = all(j, i) =
          covariance(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)], i == j);
  factor_.compute(all);
}

}  // namespace linkcast::diagnosis
