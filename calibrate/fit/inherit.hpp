#pragma once
// A fit without copies: every parameter is inherited.
#include "calibrate/fit/fit.hpp"

namespace linkcast::fit {

/// Parameters of request.topology from request.lenders, best first. @throws InputError  none of them has any
FitResult inherit_parameters(const FitRequest& request);

}  // namespace linkcast::fit
