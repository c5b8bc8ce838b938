#pragma once
// Lists of whole numbers.
#include <numeric>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast {

/// 0, 1, ..., count - 1
inline std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(at(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace linkcast
