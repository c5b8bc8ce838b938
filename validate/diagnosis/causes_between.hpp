#pragma once
#include <vector>

#include "validate/diagnosis/cause.hpp"

namespace linkcast::diagnosis {

/// Faults of NICs and of the network between nodes; none of what was measured on one node.
std::vector<Cause> causes_between_nodes(const Platform& platform, const validate::Comparison& comparison);

/// Degrees of a graded fault that are forecast. Between them times are interpolated, since they are straight in the
/// factor wherever one part limits. source: ours
inline constexpr double kTriedTimes[] = {1.25, 2.0, 4.0};

/// One that may be slight or bad. @param edits  of a factor
Cause graded_cause(CauseKind kind, const std::string& part, const std::string& what, bool whole_machine,
                   std::function<std::vector<std::string>(double times)> edits);

}  // namespace linkcast::diagnosis
