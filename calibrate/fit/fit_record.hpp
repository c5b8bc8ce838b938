#pragma once
// Residuals of the fit, point by point, for python/run.py plots.residuals and for looking.
#include <functional>

#include "calibrate/fit/fit.hpp"

namespace linkcast::fit {
/// Measured against modelled time of every point, and the table of parameters with both kinds of standard error.
/// @param simulate  time of one uncontended copy on the fitted platform, as for assess()
Json residual_report(const FitResult& result, const Topology& topology,
                     const std::function<double(const Sample&)>& simulate);

}  // namespace linkcast::fit
