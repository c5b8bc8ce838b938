#pragma once
#include <cmath>
#include <random>

namespace linkcast::test {

/// Numbers in a range, the same on every machine: the standard distributions are not.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int end) { return static_cast<int>(engine_() % static_cast<unsigned>(end)); }
  bool one_in(int n) { return below(n) == 0; }
  double between(double low, double high) { return low + (high - low) * engine_() * 0x1p-32; }
  /// As many between 1 and 2 as between 10 and 20.
  double scaled(double low, double high) { return low * std::pow(high / low, between(0, 1)); }

 private:
  std::mt19937 engine_;  // 32 bits a draw
};

}  // namespace linkcast::test
