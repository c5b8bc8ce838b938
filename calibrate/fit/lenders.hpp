#pragma once
// The machines that lend to a fit, and what each has in common with the one that is fitted.
#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {

/// Fills inherited, kin and l2_B. @param request  outlives the context
void know_lenders(FitContext& context, const FitRequest& request);

}  // namespace linkcast::fit
