#include "calibrate/fit/staged_shape.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

/// Row over (flat time, start-up, serial time per byte, pipelined time per byte).
std::vector<double> row(const StagedShape& shape, double size_B) {
  if (size_B <= shape.flat_to_B) return {1, 0, 0, 0};
  const double serial = std::min(size_B, shape.chunk_B);
  return {0, 1, serial, size_B - serial};
}

LinearFit fit_rows(const std::vector<Observation>& points, const std::vector<double>& sizes, const StagedShape& shape) {
  std::vector<Observation> rows = points;
  const std::size_t first = shape.flat_to_B > 0 ? 0 : 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto full = row(shape, sizes[i]);
    rows[i].row.assign(full.begin() + static_cast<std::ptrdiff_t>(first), full.end());
  }
  std::vector<std::string> names = {"flat time", "start-up", "serial time per byte", "pipelined time per byte"};
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(first));
  LinearFit fit = robust_fit(rows, names);
  if (first == 1) {
    fit.value.insert(fit.value.begin(), 0);
    fit.stderr_.insert(fit.stderr_.begin(), 0);
  }
  return fit;
}

}  // namespace

StagedShape choose_shape(const std::vector<SizePoint>& points) {
  std::vector<Observation> rows;
  std::vector<double> sizes;
  for (const SizePoint& p : points) {
    rows.push_back({{}, p.time_s});
    sizes.push_back(p.size_B);
  }
  StagedShape best;
  double best_loss = std::numeric_limits<double>::infinity();
  for (std::size_t flat = 0; flat < sizes.size(); ++flat)
    for (std::size_t chunk = flat + 2; chunk + 2 < sizes.size(); ++chunk) {
      const StagedShape shape{flat == 0 ? 0 : sizes[flat], sizes[chunk]};
      const LinearFit fit = fit_rows(rows, sizes, shape);
      if (fit.value[2] <= fit.value[3] || fit.value[3] <= 0 || fit.loss >= best_loss) continue;
      best = shape;
      best_loss = fit.loss;
    }
  if (!std::isfinite(best_loss)) throw InputError(kNoPipeline);
  return best;
}

LinearFit fit_shape(const std::vector<Sample>& samples, const StagedShape& shape) {
  std::vector<Observation> rows;
  std::vector<double> sizes;
  for (const Sample& s : samples) {
    rows.push_back({{}, s.time_s});
    sizes.push_back(s.size_B);
  }
  return fit_rows(rows, sizes, shape);
}

}  // namespace linkcast::fit
