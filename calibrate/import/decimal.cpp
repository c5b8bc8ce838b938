#include "calibrate/import/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace linkcast {
namespace {

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> decimal(std::string_view text, int exponent) {
  const auto plain = whole_text<double>(text);
  if (!plain || !std::isfinite(*plain)) return std::nullopt;
  if (*plain == 0) return 0.0;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  int printed = 0;
  if (mark < text.size()) {
    std::string_view digits = text.substr(mark + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto value = whole_text<int>(digits);
    if (!value) return std::nullopt;
    printed = *value;
  }
  const auto scaled = whole_text<double>(fmt::format("{}e{}", text.substr(0, mark), printed + exponent));
  return scaled && std::isfinite(*scaled) ? scaled : std::nullopt;
}

std::optional<int> whole_number(std::string_view text) {
  const auto value = whole_text<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> whole_size(std::string_view text) {
  constexpr std::int64_t largest = std::int64_t{1} << 53;
  const auto value = whole_text<std::int64_t>(text);
  return value && *value >= 0 && *value <= largest ? value : std::nullopt;
}

}  // namespace linkcast
