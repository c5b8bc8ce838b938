#pragma once
// Text with a unit to a Quantity and back. One parser serves JSON files and the command line.
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/base/quantity.hpp"

namespace linkcast {

/// The text is not a quantity of the wanted dimension; what() says what is allowed.
struct UnitError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads "64MiB", "40 MB", "4 B"; "0" needs no unit. GB is 1e9, GiB is 2^30.
/// @throws UnitError  bare number, bare "8M", unknown unit, negative, fraction of a byte, not finite
Bytes parse_bytes(std::string_view text);
/// Reads "9.7us", "3 ms", "1 s", "250 ns".
Seconds parse_seconds(std::string_view text);
/// Reads "25 GB/s", "12.1 GiB/s", "100 Gb/s" (bits, decimal), "800 MB/s".
BytesPerSecond parse_bandwidth(std::string_view text);

/// Shortest readable form, four significant digits, binary prefixes when exact: "64 MiB", "40 MB".
std::string to_text(Bytes size);
std::string to_text(Seconds time);
std::string to_text(BytesPerSecond bandwidth);

/// Value in SI of a text in a unit that records name: s, B or B/s. @returns nullopt for another unit. @throws UnitError
std::optional<double> parse_in(std::string_view unit, std::string_view text);
/// to_text() of a value in s, B or B/s. @returns nullopt for another unit
std::optional<std::string> text_in(std::string_view unit, double si);

}  // namespace linkcast
