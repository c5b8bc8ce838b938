#include "sim/base/regex.hpp"

#include <stdexcept>

#include "tests/support/catch.hpp"

namespace linkcast::test::regex_test {

TEST_CASE("a pattern matches whole texts or parts of them, with groups that may be absent") {
  const Regex size("([0-9]+)( MB)?");
  const Match whole = size.whole("12 MB");
  REQUIRE(whole);
  CHECK(whole[0] == "12 MB");
  CHECK(whole[1] == "12");
  CHECK(whole.has(2));
  const Match bare = size.whole("12");
  REQUIRE(bare);
  CHECK_FALSE(bare.has(2));
  CHECK(bare[2].empty());
  CHECK_FALSE(size.whole("12 MB, 13 MB"));
  CHECK(size.find("of 12 MB, 13 MB")[1] == "12");
  CHECK(size.removed_from("a 12 MB b 13 c") == "a  b  c");
}

TEST_CASE("a pattern takes any bytes and a text of any length") {
  CHECK(
      Regex("a.c").whole("a\xff"
                         "c"));
  std::string long_text = "1";
  for (int i = 0; i < 1000000; ++i) long_text += "x1";  // std::regex ends the process by its stack
  CHECK(Regex("[0-9]{1,9}(x[0-9]{1,9})+").whole(long_text));
  CHECK_FALSE(Regex("(.*[^0-9])([0-9]{1,6})-([0-9]{1,6})").whole(long_text));
}

TEST_CASE("an expression that RE2 has not is refused where it is written") {
  CHECK_THROWS_AS(Regex("(?=a)"), std::invalid_argument);
}

}  // namespace linkcast::test::regex_test
