#pragma once
#include "sim/base/limits.hpp"

namespace linkcast::test {

/// The process's limits for the length of a test.
class WithLimits {
 public:
  explicit WithLimits(work::Limits wanted) : before_(work::limits()) { work::set_limits(wanted); }
  WithLimits(const WithLimits&) = delete;
  WithLimits& operator=(const WithLimits&) = delete;
  ~WithLimits() { work::set_limits(before_); }

 private:
  work::Limits before_;
};

}  // namespace linkcast::test
