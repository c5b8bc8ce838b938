#pragma once
// Catch2 3 where it is installed, else Catch2 2: the tests use what both have.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // Catch2 2 says so itself
#else
#include <catch2/catch.hpp>
#endif

#include "tests/support/paths.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace linkcast::test {

/// Relative difference that rounding may make; source: docs of the engine, times are exact but for rounding.
constexpr double kExact = 1e-9;

}  // namespace linkcast::test
