#pragma once
// The shipped platforms, loaded once for all tests of a program.
#include "sim/machine/catalogue.hpp"
#include "tests/support/paths.hpp"

namespace linkcast::test {

inline catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue shared(test::data_dir());
  return shared;
}

}  // namespace linkcast::test
