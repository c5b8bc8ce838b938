#pragma once
// A fit without copies: everything is lent.
#include "calibrate/fit/fit.hpp"

namespace linkcast::fit {

/// Parameters of request.topology from request.lenders, best first. @throws InputError  none of them lends anything
FitResult lend_parameters(const FitRequest& request);

}  // namespace linkcast::fit
