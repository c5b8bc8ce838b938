#include "sim/base/limits.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::work {
namespace {

constexpr double kMilli = 1e-3, kMinute = 60, kHour = 3600, kDay = 86400;  // source: definition
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string rounded(double value) { return fmt::format("{:.2g}", value); }

Limits from_environment() {
  Limits limits;
  if (const char* text = std::getenv(kMemoryVariable)) limits.memory_B = parse_memory_limit(text, kMemoryVariable);
  if (const char* text = std::getenv(kTimeVariable)) limits.time_s = parse_time_limit(text, kTimeVariable);
  return limits;
}

Limits& kept() {
  static Limits limits = from_environment();
  return limits;
}

}  // namespace

const Limits& limits() { return kept(); }

void set_limits(const Limits& limits) { kept() = limits; }

double parse_memory_limit(const std::string& text, const std::string& name) {
  if (text == "none") return kInfinite;
  try {
    if (const double bytes = parse_bytes(text).si; bytes > 0) return bytes;
  } catch (const UnitError&) {  // said below
  }
  throw InputError(name + ": '" + text + "' is no amount of memory, e.g. 16GiB, or none for no limit");
}

double parse_time_limit(const std::string& text, const std::string& name) {
  if (text == "none") return kInfinite;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && std::isfinite(value) && value > 0) {
    const std::string unit(text.substr(static_cast<std::size_t>(end - text.data())));
    const std::string word = unit.empty() || unit.front() != ' ' ? unit : unit.substr(1);
    for (const auto& [known, seconds] : {std::pair("ms", kMilli), {"s", 1.0}, {"min", kMinute}, {"h", kHour}})
      if (word == known) return value * seconds;
  }
  throw InputError(name + ": '" + text + "' is no time, e.g. 500 ms, 30 s, 20 min or 2 h, or none for no limit");
}

std::string duration_text(double seconds) {
  if (seconds < 2 * kMinute) return rounded(seconds) + " s";
  if (seconds < 2 * kHour) return rounded(seconds / kMinute) + " min";
  return seconds < 2 * kDay ? rounded(seconds / kHour) + " h" : rounded(seconds / kDay) + " days";
}

std::string memory_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kStep = 1024;  // source: definition
  std::size_t unit = 0;
  for (; bytes >= kStep && unit + 1 < std::size(kUnits); ++unit) bytes /= kStep;
  return rounded(bytes) + " " + kUnits[unit];
}

std::string limit_text(const Limits& limits) {
  return (limits.memory_B == kInfinite ? "any memory" : memory_text(limits.memory_B)) + " and " +
         (limits.time_s == kInfinite ? "any time" : duration_text(limits.time_s));
}

void refuse_memory_in_use(double memory_B) {
  if (memory_B > limits().memory_B)
    throw InputError("memory: " + memory_text(memory_B) + " are in use, more than the limit of " +
                     memory_text(limits().memory_B) + ": ask for less, or raise it by max_memory (" + kMemoryVariable +
                     ")");
}

}  // namespace linkcast::work
