#pragma once
// The runs behind one quantity: every value of its variables, one query each, reduced to numbers.
#include <map>
#include <string>

#include "validate/answer.hpp"
#include "validate/claim.hpp"
#include "validate/expression.hpp"
#include "validate/wiring.hpp"

namespace linkcast::validate {

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

}  // namespace linkcast::validate
