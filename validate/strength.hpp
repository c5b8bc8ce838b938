#pragma once
// How firmly a verdict stands: by how much a single quantity would have to differ to turn it.
#include <optional>
#include <string>

#include "validate/claim.hpp"
#include "validate/expression.hpp"

namespace linkcast::validate {

struct Strength {
  /// Least share by which one quantity alone, larger or smaller, turns the verdict: 0.1 for 10 %. Of numbers that can
  /// take any value; none if no factor up to kMostFactor does, or if the row rests on counts, names and places alone.
  std::optional<double> margin;
  std::string quantity;  ///< the one that does
};

constexpr double kMostFactor = 100;  // source: a quantity that is off by a hundred times says nothing of a margin

/// @param values  those of the claim's quantities, with `tol` and what is expected
/// @throws InputError  as truth_of
Strength strength_of(const Claim& claim, const Values& values);

/// "12 %", or "counts" where nothing continuous turns it.
std::string to_text(const Strength& strength);

}  // namespace linkcast::validate
