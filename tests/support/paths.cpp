#include "tests/support/paths.hpp"

namespace linkcast::test {

const std::string& data_dir() {
  static const std::string path = LINKCAST_DATA_DIR;
  return path;
}

const std::string& program() {
  static const std::string path = LINKCAST_PROGRAM;
  return path;
}

}  // namespace linkcast::test
