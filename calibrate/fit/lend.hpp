#pragma once
// A machine that nobody measured: every parameter is another machine's, at the share of the nominal rate that was
// measured there, or is left to what data sheets say.
#include "calibrate/fit/fit.hpp"

namespace linkcast::fit {

/// Parameters of request.topology from request.lenders, best first, with errors that are at least those between
/// machines of different kinds. @throws InputError  none of them lends anything
FitResult lend_parameters(const FitRequest& request);

}  // namespace linkcast::fit
