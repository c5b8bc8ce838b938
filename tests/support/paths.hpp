#pragma once
// Where the tests find the sources and the program. Functions, not macros: objects are then the same in every checkout.
#include <string>

namespace linkcast::test {

/// Root of the sources: topologies/, models/, tests/input/ are in it.
const std::string& data_dir();
/// Path of the program under test.
const std::string& program();

}  // namespace linkcast::test
