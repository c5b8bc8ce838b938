#pragma once
// The shipped platforms, loaded once for all tests of a program.
#include "sim/forecast/catalogue.hpp"

namespace linkcast::test {

inline Catalogue& catalogue() {
  static Catalogue shared(LINKCAST_DATA_DIR);
  return shared;
}

}  // namespace linkcast::test
