// Names as Slurm writes them. Expected lists follow from scontrol(1), show hostnames.
#include "sim/base/hostlist.hpp"

#include "tests/support/catch.hpp"

namespace linkcast::test::hostlist_test {

namespace {

using Names = std::vector<std::string>;

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(expand_hostlist(text));
  } catch (const HostlistError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("hostlists are expanded in the order written") {
  CHECK(expand_hostlist("n1") == Names{"n1"});
  CHECK(expand_hostlist("n[1-3]") == Names{"n1", "n2", "n3"});
  CHECK(expand_hostlist("n[3,1-2],m") == Names{"n3", "n1", "n2", "m"});
  CHECK(expand_hostlist("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(expand_hostlist("n[8-11]") == Names{"n8", "n9", "n10", "n11"});
  CHECK(expand_hostlist("r[0-1]n[1-2]-ib") == Names{"r0n1-ib", "r0n2-ib", "r1n1-ib", "r1n2-ib"});
  CHECK(expand_hostlist("n[1-50000]").size() == 50000);
}

TEST_CASE("hostlists that are none are refused") {
  CHECK(error_of("n[1-2") == "'n[1-2' does not close its bracket");
  CHECK(error_of("n1]") == "'n1]' closes a bracket that it has not opened");
  CHECK(error_of("n[1[2]]") == "'n[1[2]]' has a bracket in brackets");
  CHECK(error_of("n[4-1]") == "'4-1' in 'n[4-1]' runs backwards");
  CHECK(error_of("n[a]") == "'a' in 'n[a]' is no number");
  CHECK(error_of("n[]") == "'' in 'n[]' is no number");
  CHECK(error_of("n[1-]") == "'' in 'n[1-]' is no number");
  CHECK(error_of("n[99999999999999999999]").find("is no number") != std::string::npos);
  CHECK(error_of("a,,b") == "'a,,b' has an empty name");
  CHECK(error_of("") == "'' has an empty name");
  CHECK(error_of("a b") == "'a b' is no name of a node or switch");
  CHECK(error_of("n[0-4000000000]") == "'0-4000000000' in 'n[0-4000000000]' is too long");
  CHECK(error_of("n[0-999]x[0-999]") == "'n[0-999]x[0-999]' is too long");
}

}  // namespace linkcast::test::hostlist_test
