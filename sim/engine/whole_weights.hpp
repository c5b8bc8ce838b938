#pragma once
// Weights and bytes as SimGrid can have them: how often a route lists a link, and whole numbers.
#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// A constraint whose capacity and weights are multiplied by one number has the same max-min fair rates. scale() makes
/// the weights of a constraint whole numbers where some number up to kMostTimes does. Those of flows that are broken
/// elsewhere it makes at least kLeastBroken.
///
/// A flow with weights that are still broken is kParts communications. Part j has the penalty kBase^j, so that it moves
/// at rate / kBase^j, and is on every link of the flow, so that what stops one stops all. The weight is then a number
/// with kParts digits of base kBase, each how often the route of that part lists the link, from 1 to kBase.
/// @source  penalty: SimGrid's progressive filling gives each variable min(free / usage) / penalty, with usage the sum
///          of weight / penalty
/// @limits  a weight of several parts is off by at most 1 / (2 kLeastBroken kBase^(kParts - 1)) = 6e-11 of itself
class WholeWeights {
 public:
  static constexpr int kParts = 5;
  static constexpr int kBase = 256;
  static constexpr int kMostTimes = 64;      // source: ours, weights of fabrics and of rings have denominators below it
  static constexpr double kLeastBroken = 2;  // source: ours, above 1 + 1/256 + ..., which has a 1 for each digit
  /// source: ours, a route of so many links takes 20 ms
  static constexpr double kLongest = 0x1p20;
  using Times = std::array<std::int64_t, kParts>;

  /// @param problem  has passed check_problem, and outlives this
  /// @throws InputError  weights of one constraint differ by more than kLongest times
  explicit WholeWeights(const Problem& problem);

  /// Factor of the capacity and the weights of a constraint.
  [[nodiscard]] double scale(int constraint) const { return scales_[static_cast<std::size_t>(constraint)]; }
  /// 1, or kParts: one of its weights is broken.
  [[nodiscard]] int parts(int activity) const;
  /// How often the route of each part lists the constraint; of one part the first.
  [[nodiscard]] Times times(const Use& use, int parts) const;
  /// How many times fewer bytes and a lower rate a part has: its penalty.
  [[nodiscard]] static double slower(int part);
  /// Factor of a cap of the rate where each part passes it once.
  [[nodiscard]] static double all_parts(int parts);

 private:
  const Problem& problem_;
  std::vector<double> scales_;
};

/// SimGrid's payloads are whole bytes. If ours are not, bytes and rates are counted in this fraction of a byte, which
/// changes no time: a power of 2, so that only the payload is rounded.
double units_per_byte(const Problem& problem);

}  // namespace linkcast
