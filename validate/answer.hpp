#pragma once
// Where the numbers of a claim come from: simulation, or measurements.
#include <functional>
#include <stdexcept>

#include "sim/base/object_reader.hpp"

namespace linkcast::validate {

/// Answers a query of sim/query/query.hpp; tests put a fake here.
using Answer = std::function<Json(const Json& query)>;

/// A query that the simulation could not answer: the claim fails with this text.
struct SimulationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace linkcast::validate
