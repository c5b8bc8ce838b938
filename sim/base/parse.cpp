#include "sim/base/parse.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "sim/base/ranges.hpp"

namespace linkcast {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKiB = 1024.0;
constexpr std::array kByteUnits = {Unit{"B", 1},
                                   Unit{"kB", 1e3},
                                   Unit{"KB", 1e3},
                                   Unit{"MB", 1e6},
                                   Unit{"GB", 1e9},
                                   Unit{"TB", 1e12},
                                   Unit{"KiB", kKiB},
                                   Unit{"MiB", kKiB* kKiB},
                                   Unit{"GiB", kKiB* kKiB* kKiB},
                                   Unit{"TiB", kKiB* kKiB* kKiB* kKiB}};
constexpr std::array kTimeUnits = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}};
constexpr std::array kBandwidthUnits = {
    Unit{"B/s", 1},        Unit{"kB/s", 1e3},     Unit{"MB/s", 1e6},         Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},    Unit{"KiB/s", kKiB},   Unit{"MiB/s", kKiB* kKiB}, Unit{"GiB/s", kKiB* kKiB* kKiB},
    Unit{"Mb/s", 1e6 / 8}, Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8}};

std::string unit_names(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return names;
}

/// @param unit  that of what is returned: s, B or B/s
double parse(std::string_view text, std::span<const Unit> units, std::string_view unit_name, const char* what) {
  const std::string quoted = "'" + std::string(text) + "'";
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value))
    throw UnitError(quoted + " is not a " + what + ": write a number and a unit (" + unit_names(units) + ")");
  if (value < 0) throw UnitError(quoted + " is negative: a " + what + " is 0 or more");
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty() && value == 0) return 0;
  for (const Unit& candidate : units)
    if (unit == candidate.name) {
      const std::string wrong = range_refusal(unit_name, value * candidate.factor);
      if (!wrong.empty()) throw UnitError(quoted + ": " + wrong);
      return value * candidate.factor;
    }
  if (unit == "K" || unit == "k" || unit == "M" || unit == "G" || unit == "T") {
    const std::string number(text.data(), end);
    throw UnitError(quoted + " is ambiguous: write " + number + (unit == "k" ? "K" : std::string(unit)) +
                    "iB (binary) or " + number + std::string(unit) + "B (decimal)");
  }
  if (unit.empty()) throw UnitError(quoted + " has no unit: one of " + unit_names(units) + " is needed");
  throw UnitError(quoted + ": unknown unit '" + std::string(unit) + "' for a " + what + ": one of " +
                  unit_names(units) + " is allowed");
}

std::string scaled(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (std::abs(value) >= unit.factor) best = &unit;
  std::array<char, 32> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value / best->factor, std::chars_format::general, 4);
  std::string text(digits.data(), end);
  return text.append(1, ' ').append(best->name);
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  const double value = parse(text, kByteUnits, "B", "size");
  if (value != std::floor(value)) throw UnitError("'" + std::string(text) + "' is not a whole number of bytes");
  return {value};
}
Seconds parse_seconds(std::string_view text) { return {parse(text, kTimeUnits, "s", "time")}; }
BytesPerSecond parse_bandwidth(std::string_view text) { return {parse(text, kBandwidthUnits, "B/s", "bandwidth")}; }

std::string to_text(Bytes size) {
  constexpr std::array binary = {Unit{"B", 1}, Unit{"KiB", kKiB}, Unit{"MiB", kKiB * kKiB},
                                 Unit{"GiB", kKiB * kKiB * kKiB}};
  constexpr std::array decimal = {Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"TB", 1e12}};
  if (std::fmod(size.si, kKiB) != 0) return scaled(size.si, decimal);
  std::string text = scaled(size.si, binary);
  return parse(text, kByteUnits, "B", "size") == size.si ? text : scaled(size.si, decimal);
}
std::string to_text(Seconds time) { return scaled(time.si, kTimeUnits); }
std::string to_text(BytesPerSecond bandwidth) {
  constexpr std::array units = {Unit{"B/s", 1}, Unit{"kB/s", 1e3}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9},
                                Unit{"TB/s", 1e12}};
  return scaled(bandwidth.si, units);
}

namespace {

struct RecordUnit {
  std::string_view name;
  double (*parse)(std::string_view text);
  std::string (*text)(double si);
};
constexpr RecordUnit kRecordUnits[] = {
    {"s", [](std::string_view text) { return parse_seconds(text).si; }, [](double si) { return to_text(Seconds{si}); }},
    {"B", [](std::string_view text) { return parse_bytes(text).si; }, [](double si) { return to_text(Bytes{si}); }},
    {"B/s", [](std::string_view text) { return parse_bandwidth(text).si; },
     [](double si) { return to_text(BytesPerSecond{si}); }}};

}  // namespace

std::optional<double> parse_in(std::string_view unit, std::string_view text) {
  for (const RecordUnit& known : kRecordUnits)
    if (known.name == unit) return known.parse(text);
  return std::nullopt;
}

std::optional<std::string> text_in(std::string_view unit, double si) {
  for (const RecordUnit& known : kRecordUnits)
    if (known.name == unit) return known.text(si);
  return std::nullopt;
}

}  // namespace linkcast
