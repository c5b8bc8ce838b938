#pragma once
// Verdicts on claims, from simulation runs only.
#include <string>
#include <vector>

#include "sim/base/progress.hpp"
#include "sim/machine/catalogue.hpp"
#include "validate/answer.hpp"
#include "validate/claim.hpp"
#include "validate/sampling.hpp"
#include "validate/strength.hpp"

namespace linkcast::validate {

enum class ClaimVerdict { kPass, kFail, kRefutedByData, kNotModelled };
const std::string& to_text(ClaimVerdict verdict);

struct ClaimResult {
  std::string id, paper, statement;
  ClaimVerdict verdict = ClaimVerdict::kNotModelled;
  Json expected;     ///< {"value", "unit"}
  Json predicted;    ///< {"value", "unit", "names", "quantities"}; null if nothing was simulated
  Json measured;     ///< {"holds", "quantities"}; null if the row names no data
  std::string why;   ///< the predicate with its numbers, then note; or what is not modelled
  std::string note;  ///< of the row
  Role role = Role::kPredicted;
  std::string cause;  ///< of the row
  Strength strength;
};

/// The claim's predicate on given quantities; a comparison with NaN is false.
bool holds(const Claim& claim, const Values& quantities);

/// @param data_dir  folder that the rows' measurement files are relative to
/// @throws InputError  a row is malformed (unknown variable, a measurement that does not cover its quantities)
/// @param progress  told of the claims; may be null
std::vector<ClaimResult> evaluate(const Answer& answer, const std::string& data_dir, const std::vector<Claim>& claims,
                                  log::Progress* progress = nullptr);
std::vector<ClaimResult> evaluate(catalogue::Catalogue& catalogue, const std::vector<Claim>& claims);
/// The same on several threads, each with a catalogue and memories of its own: the same results in the same order.
std::vector<ClaimResult> evaluate(const std::string& data_dir, const std::vector<Claim>& claims, std::size_t threads,
                                  log::Progress& progress);

}  // namespace linkcast::validate
