#include "sim/query/key_text.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sim/units/parse.hpp"

namespace linkcast::query {

std::vector<int> parse_gpus(const std::string& text, const std::string& option) {
  const auto fail = [&]() -> InputError {
    return InputError(option + ": '" + text + "' is not a list of GPU numbers: write 0-3 or 0,1,4");
  };
  const auto number = [&](std::string_view part) {
    int value = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0) throw fail();
    return value;
  };
  std::vector<int> gpus;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    constexpr int most = 1000000;  // far above any machine: a typing error, not a request
    if (last < first || last - first > most) throw fail();
    for (int gpu = first; gpu <= last; ++gpu) gpus.push_back(gpu);
    begin = comma + 1;
  }
  return gpus;
}

double parse_size(const std::string& option, const std::string& text) {
  try {
    // source: nccl-tests, src/common.cu, parsesize; OSU benchmarks read the same
    const bool letter = text.find_last_of("KkMGT") + 1 == text.size() && text.size() > 1;
    if (letter)
      return parse_bytes(text.substr(0, text.size() - 1) + (text.back() == 'k' ? 'K' : text.back()) + "iB").si;
    return parse_bytes(text).si;
  } catch (const UnitError& error) {
    throw InputError(option + ": " + error.what());
  }
}

Json gpus_of(const std::string& text, const std::string& option) { return parse_gpus(text, option); }

Json size_of(const std::string& text, const std::string& option) { return parse_size(option, text); }

Json sizes_of(const std::string& text, const std::string& option) {
  const bool rows = text.find(';') != std::string::npos;
  const char separator = rows ? ';' : ',';
  Json list = Json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    list.push_back(rows ? sizes_of(part, option) : size_of(part, option));
    begin = end + 1;
  }
  return list;
}

Json size_keys_of(const std::string& text, const std::string& option) {
  if (text.find_first_of(",;") == std::string::npos) return {{"size_B", size_of(text, option)}};
  return {{"sizes_B", sizes_of(text, option)}};
}

Json option_of(const std::string& text, const std::string& option) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos)
    throw InputError(option + ": '" + text + "' is not key=value, see 'linkcast help trace'");
  return {{text.substr(0, sign), text.substr(sign + 1)}};
}

Json seed_of(const std::string& text, const std::string& option) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  std::int64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (digits && error == std::errc() && end == text.data() + text.size()) return seed;
  throw InputError(option + ": '" + text + "' is no seed: a whole number from 0 to 2^63 - 1");
}

}  // namespace linkcast::query
