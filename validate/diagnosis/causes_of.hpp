#pragma once
// The faults that are tried out, each on every part of the machine that took part.
#include <vector>

#include "validate/diagnosis/cause.hpp"

namespace linkcast::diagnosis {

/// Every cause that a platform and what was measured on it allow. Whether the measurement can show it is not asked.
std::vector<Cause> causes_of(const Platform& platform, const validate::Comparison& comparison);

}  // namespace linkcast::diagnosis
