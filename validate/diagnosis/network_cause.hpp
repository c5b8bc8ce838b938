#pragma once
// Faults of the adapters and of the network between nodes.
#include <vector>

#include "validate/diagnosis/cause.hpp"

namespace linkcast::diagnosis {

/// Faults of NICs and of the network between nodes; none of what was measured on one node.
std::vector<Cause> causes_between_nodes(const Platform& platform, const validate::Comparison& comparison);

}  // namespace linkcast::diagnosis
