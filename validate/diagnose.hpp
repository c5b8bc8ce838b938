#pragma once
// Is what was measured normal for this machine, and if not, where?
#include <string>
#include <vector>

#include "validate/compare.hpp"

namespace linkcast::validate {

enum class Finding {
  kNormal,
  kSlow,
  kFast,
  kHost  ///< slow, but what issues it may be slow: says nothing about links
};

/// A GPU or one direction of a link that slow points have in common.
struct Suspect {
  std::string id;
  int slow = 0, points = 0;  ///< points that it has a part in, as large as the smallest slow one
  double factor = 1;         ///< median of measured over expected of the slow ones
};

struct Diagnosis {
  std::vector<Finding> findings;  ///< of each of the comparison's points
  int slow = 0, fast = 0, host = 0;
  std::vector<Suspect> suspects;  ///< each explains slow points that those before it do not; most first
  [[nodiscard]] bool normal() const { return slow == 0; }
};

/// A point is slow or fast where it is outside its 90 % interval by more than two boxes of one type differ.
Diagnosis diagnose(const Comparison& comparison);

/// Keys file, platform, normal (bool), points, slow, fast, host_bound, off [{transport, variant, ends, size_B,
/// measured_s, expected_s, low_s, high_s, factor, finding}], suspects [{id, slow, points, factor}], unanswered.
Json to_json(const Comparison& comparison, const Diagnosis& diagnosis);

}  // namespace linkcast::validate
