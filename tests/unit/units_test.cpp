// Text with units to SI numbers and back.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/parse.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::units_test {

namespace {

const std::string kByteUnits = "B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB";
const std::string kTimeUnits = "ns, us, ms, s";
const std::string kBandwidthUnits = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, Mb/s, Gb/s, Tb/s";

template <class Parse>
std::string error_of(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const UnitError& error) {
    return error.what();
  }
  return "no error";
}

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

}  // namespace

TEST_CASE("sizes: decimal and binary prefixes", "[unit]") {
  const std::vector<std::pair<std::string, double>> rows = {{"0", 0},
                                                            {"0 B", 0},
                                                            {"1B", 1},
                                                            {"4 B", 4},
                                                            {"3 kB", 3000},
                                                            {"3 KB", 3000},
                                                            {"40 MB", 40e6},
                                                            {"2GB", 2e9},
                                                            {"1 TB", 1e12},
                                                            {"1 KiB", 1024},
                                                            {"64MiB", 67108864},
                                                            {"1GiB", 1073741824},
                                                            {"1.5 KiB", 1536},
                                                            {"0.001 kB", 1},
                                                            {"1e3 B", 1000},
                                                            {"2   MB", 2e6},
                                                            {"1TiB", 1024. * 1024 * 1024 * 1024}};
  for (const auto& [text, bytes] : rows) {
    INFO(text);
    CHECK(parse_bytes(text).si == bytes);
  }
}

TEST_CASE("times and bandwidths", "[unit]") {
  CHECK_THAT(parse_seconds("9.7us").si, WithinRel(9.7e-6, 1e-15));
  CHECK_THAT(parse_seconds("3 ms").si, WithinRel(3e-3, 1e-15));
  CHECK_THAT(parse_seconds("250 ns").si, WithinRel(250e-9, 1e-15));
  CHECK(parse_seconds("1 s").si == 1);
  CHECK(parse_seconds("0").si == 0);
  const std::vector<std::pair<std::string, double>> rows = {
      {"25 GB/s", 25e9},    {"12.5GiB/s", 12.5 * 1024 * 1024 * 1024},
      {"100 Gb/s", 12.5e9}, {"800 Mb/s", 100e6},
      {"1 Tb/s", 125e9},    {"2 TB/s", 2e12},
      {"3 MB/s", 3e6},      {"1 MiB/s", 1048576},
      {"1 KiB/s", 1024},    {"7 kB/s", 7e3},
      {"5 B/s", 5},         {"0 GB/s", 0}};
  for (const auto& [text, rate] : rows) {
    INFO(text);
    CHECK_THAT(parse_bandwidth(text).si, WithinRel(rate, 1e-15));
  }
}

TEST_CASE("a size that is none says what is allowed", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"8M", "'8M' is ambiguous: write 8MiB (binary) or 8MB (decimal)"},
      {"1.5 G", "'1.5 G' is ambiguous: write 1.5GiB (binary) or 1.5GB (decimal)"},
      {"4k", "'4k' is ambiguous: write 4KiB (binary) or 4kB (decimal)"},
      {"4K", "'4K' is ambiguous: write 4KiB (binary) or 4KB (decimal)"},
      {"100", "'100' has no unit: one of " + kByteUnits + " is needed"},
      {"100 ", "'100 ' has no unit: one of " + kByteUnits + " is needed"},
      {"8 Mb", "'8 Mb': unknown unit 'Mb' for a size: one of " + kByteUnits + " is allowed"},
      {"8 mib", "'8 mib': unknown unit 'mib' for a size: one of " + kByteUnits + " is allowed"},
      {"8 GB/s", "'8 GB/s': unknown unit 'GB/s' for a size: one of " + kByteUnits + " is allowed"},
      {"8 B ", "'8 B ': unknown unit 'B ' for a size: one of " + kByteUnits + " is allowed"},
      {"-1 B", "'-1 B' is negative: a size is 0 or more"},
      {"1.5 B", "'1.5 B' is not a whole number of bytes"},
      {"0.3 kB", "no error"},
      {"", "'' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {" 1 B", "' 1 B' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {"+1 B", "'+1 B' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {"MB", "'MB' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {"nan B", "'nan B' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {"inf B", "'inf B' is not a size: write a number and a unit (" + kByteUnits + ")"},
      {"1e400 B", "'1e400 B' is not a size: write a number and a unit (" + kByteUnits + ")"}};
  for (const auto& [text, expected] : rows) CHECK(error_of(parse_bytes, text) == expected);
}

TEST_CASE("a time or bandwidth that is none says what is allowed", "[unit]") {
  CHECK(error_of(parse_seconds, "5") == "'5' has no unit: one of " + kTimeUnits + " is needed");
  CHECK(error_of(parse_seconds, "-1 us") == "'-1 us' is negative: a time is 0 or more");
  CHECK(error_of(parse_seconds, "5 min") ==
        "'5 min': unknown unit 'min' for a time: one of " + kTimeUnits + " is allowed");
  CHECK(error_of(parse_seconds, "soon") == "'soon' is not a time: write a number and a unit (" + kTimeUnits + ")");
  CHECK(error_of(parse_bandwidth, "25") == "'25' has no unit: one of " + kBandwidthUnits + " is needed");
  CHECK(error_of(parse_bandwidth, "25 GB") ==
        "'25 GB': unknown unit 'GB' for a bandwidth: one of " + kBandwidthUnits + " is allowed");
  CHECK(error_of(parse_bandwidth, "-25 GB/s") == "'-25 GB/s' is negative: a bandwidth is 0 or more");
  CHECK(error_of(parse_bandwidth, "fast") ==
        "'fast' is not a bandwidth: write a number and a unit (" + kBandwidthUnits + ")");
}

TEST_CASE("quantities print with a readable unit", "[unit]") {
  CHECK(to_text(Bytes{0}) == "0 B");
  CHECK(to_text(Bytes{1}) == "1 B");
  CHECK(to_text(Bytes{1000}) == "1 kB");
  CHECK(to_text(Bytes{1024}) == "1 KiB");
  CHECK(to_text(Bytes{67108864}) == "64 MiB");
  CHECK(to_text(Bytes{40e6}) == "40 MB");
  CHECK(to_text(Bytes{64e6}) == "64 MB");  // a multiple of 1 KiB, yet no round number of MiB
  CHECK(to_text(Bytes{1073741824}) == "1 GiB");
  CHECK(to_text(Seconds{9.7e-6}) == "9.7 us");
  CHECK(to_text(Seconds{2.5e-8}) == "25 ns");
  CHECK(to_text(Seconds{1.5}) == "1.5 s");
  CHECK(to_text(Seconds{0.0036390}) == "3.639 ms");
  CHECK(to_text(BytesPerSecond{18.49e9}) == "18.49 GB/s");
  CHECK(to_text(BytesPerSecond{2e12}) == "2 TB/s");
  CHECK(to_text(BytesPerSecond{12}) == "12 B/s");
}

TEST_CASE("what is printed is read back", "[unit]") {
  for (const double size : {1.0, 1000.0, 1024.0, 65536.0, 40e6, 268435456.0, 4e12})
    CHECK(parse_bytes(to_text(Bytes{size})).si == size);
}

TEST_CASE("quantities of different dimensions do not mix", "[unit]") {
  STATIC_REQUIRE(Addable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, Seconds>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Bytes>);
  CHECK((Bytes{3} + Bytes{4}).si == 7);
  CHECK((Bytes{3} - Bytes{4}).si == -1);
  CHECK((2 * Bytes{3}).si == 6);
  CHECK(Bytes{3} / Bytes{4} == 0.75);
  CHECK((Bytes{10} / Seconds{2}).si == 5);
  CHECK((Bytes{10} / BytesPerSecond{5}).si == 2);
  CHECK(Bytes{1} < Bytes{2});
  Bytes sum{1};
  sum += Bytes{2};
  CHECK(sum == Bytes{3});
}

}  // namespace linkcast::test::units_test
