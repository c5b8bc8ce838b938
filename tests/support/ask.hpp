#pragma once
// Queries to the shipped platforms that must be answered.
#include <string>

#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test {

constexpr double kMiB = 1048576;

inline Json ask(const Json& query) {
  Json result = query::answer(catalogue(), query);
  INFO(query.dump());
  REQUIRE(result.value("error", "") == "");
  return result;
}

inline double time_of(const Json& query) { return ask(query)["time_s"].get<double>(); }

/// A calibrated parameter, in SI units.
inline double parameter(const Platform& platform, const std::string& name) {
  const Parameter* found = platform.calibration().find(name);
  REQUIRE(found != nullptr);
  return found->value;
}

/// The same of a shipped platform.
inline double parameter(const std::string& platform, const std::string& name) {
  return parameter(catalogue().machine(platform)->platform(), name);
}

}  // namespace linkcast::test
