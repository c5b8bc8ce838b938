#include "sim/base/hostlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace linkcast {
namespace {

/// At commas outside brackets.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '[' && inside) throw HostlistError("'" + text + "' has a bracket in brackets");
    if (c == ']' && !inside) throw HostlistError("'" + text + "' closes a bracket that it has not opened");
    if (c == '[' || c == ']') inside = c == '[';
    if (c == ',' && !inside)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (inside) throw HostlistError("'" + text + "' does not close its bracket");
  return parts;
}

unsigned long number_of(const std::string& digits, const std::string& all) {
  unsigned long number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw HostlistError("'" + digits + "' in '" + all + "' is no number");
  return number;
}

std::string padded(unsigned long number, std::size_t width) { return fmt::format("{:0{}}", number, width); }

/// "1-4,07" to 1 2 3 4 07
std::vector<std::string> numbers_in(const std::string& ranges, const std::string& all) {
  std::vector<std::string> numbers;
  for (const std::string& range : split(ranges)) {
    const std::size_t dash = range.find('-');
    const std::string first_text = range.substr(0, dash);
    const unsigned long first = number_of(first_text, all);
    const unsigned long last = dash == std::string::npos ? first : number_of(range.substr(dash + 1), all);
    if (last < first) throw HostlistError("'" + range + "' in '" + all + "' runs backwards");
    if (last - first >= kMostHosts) throw HostlistError("'" + range + "' in '" + all + "' is too long");
    for (unsigned long number = first; number <= last; ++number) numbers.push_back(padded(number, first_text.size()));
  }
  return numbers;
}

std::vector<std::string> expand_one(const std::string& text) {
  std::vector<std::string> names(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('[', at), text.size());
    for (std::string& name : names) name += text.substr(at, open - at);
    if (open == text.size()) break;
    const std::size_t close = text.find(']', open);
    const std::vector<std::string> numbers = numbers_in(text.substr(open + 1, close - open - 1), text);
    if (names.size() * numbers.size() > kMostHosts) throw HostlistError("'" + text + "' is too long");
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& number : numbers) longer.push_back(name + number);
    names = std::move(longer);
    at = close + 1;
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& part : split(text)) {
    if (part.empty()) throw HostlistError("'" + text + "' has an empty name");
    const bool good = std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '[' || c == ']' || c == ',';
    });
    if (!good) throw HostlistError("'" + part + "' is no name of a node or switch");
    for (std::string& host : expand_one(part)) hosts.push_back(std::move(host));
    if (hosts.size() > kMostHosts) throw HostlistError("'" + text + "' is too long");
  }
  return hosts;
}

}  // namespace linkcast
