#pragma once
// Verdicts on claims, from simulation runs only.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/progress.hpp"
#include "sim/machine/catalogue.hpp"
#include "validate/claim.hpp"
#include "validate/measured_query.hpp"
#include "validate/wiring.hpp"

namespace linkcast::validate {
// How firmly a verdict stands: by how much a single quantity would have to differ to turn it.

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

// The runs behind one quantity: every value of its variables, one query each, reduced to numbers.

/// Answers with a memory: rows ask the same queries often. Keeps the wiring of every platform shown.
class Sampler {
 public:
  explicit Sampler(Answer answer) : answer_(std::move(answer)) {}
  /// The quantity's value, or with reduce "none" one per value of its first variable.
  /// @throws SimulationError  a query has no answer;  InputError  the spec is wrong
  Values sample(const Observable& quantity, const std::string& where);

  const Json& ask(const Json& query);
  const Wiring& wiring(const std::string& platform);

 private:
  Answer answer_;
  std::map<std::string, Json> answers_;
  std::map<std::string, Wiring> wirings_;
};

Values quantities_of(const Claim& claim, Sampler& sampler);
/// Runs the queries of a claim's quantities. @throws SimulationError  a query was answered with an error
Values quantities_of(const Claim& claim, const Answer& answer);

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
