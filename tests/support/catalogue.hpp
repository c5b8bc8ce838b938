#pragma once
// The shipped platforms, loaded once for all tests of a program.
#include "sim/catalogue/catalogue.hpp"

namespace linkcast::test {

inline catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue shared(LINKCAST_DATA_DIR);
  return shared;
}

}  // namespace linkcast::test
