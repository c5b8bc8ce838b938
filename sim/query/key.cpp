#include "sim/query/key.hpp"

#include <algorithm>
#include <charconv>

#include "sim/base/parse.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/gpu_names.hpp"

namespace linkcast::query {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

const Key* find_key(const KeyTable& table, const std::string& name) {
  for (const Key& key : table)
    if (key.name == name) return &key;
  return nullptr;
}

KeyTable joined(std::vector<KeyTable> tables) {
  KeyTable all;
  for (KeyTable& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

bool may_name_file(const Key& key) {
  if (!key.choices.empty() || key.registered || key.gpus != GpuNames::kNone) return false;
  const bool free = key.type == ValueType::kText || key.type == ValueType::kTexts || key.type == ValueType::kAny;
  return free || ((key.type == ValueType::kObject || key.type == ValueType::kObjects) && key.fields.empty());
}

std::string unit_of(const Key& key) {
  if (ends_with(key.name, "_Bps")) return "B/s";
  if (ends_with(key.name, "_B")) return "B";
  return ends_with(key.name, "_s") ? "s" : "";
}

std::vector<int> numbers_of(const std::string& text, const std::string& option) {
  std::vector<int> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto read = read_gpu_text(text.substr(begin, end - begin));
    if (!read || !read->driver.empty())
      throw InputError(option + ": '" + text + "' is not a list of numbers: write 0-3 or 0,1,4");
    for (int number = read->first; number <= read->last; ++number) numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

double parse_size(const std::string& option, const std::string& text) {
  try {
    // source: nccl-tests, src/common.cu, parsesize; OSU benchmarks read the same
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) return parse_bytes(text + "B").si;
    const bool letter = text.find_last_of("KkMGT") + 1 == text.size() && text.size() > 1;
    if (letter)
      return parse_bytes(text.substr(0, text.size() - 1) + (text.back() == 'k' ? 'K' : text.back()) + "iB").si;
    return parse_bytes(text).si;
  } catch (const UnitError& error) {
    throw InputError(option + ": " + error.what());
  }
}

Json gpus_of(const std::string& text, const std::string& option) {
  Json gpus = Json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const auto read = read_gpu_text(part);
    if (!read) throw InputError(option + ": '" + text + "' " + kGpuForms);
    if (!read->driver.empty()) gpus.push_back(part);  // the machine knows which it is
    for (int gpu = read->first; read->driver.empty() && gpu <= read->last; ++gpu) gpus.push_back(gpu);
    begin = end + 1;
  }
  return gpus;
}

std::vector<std::string> at_colons(const std::string& text) {
  static const Regex bus_id(R"((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])");
  std::vector<std::string> parts = {""};
  for (std::string rest = text; !rest.empty();) {
    const Match match = bus_id.find(rest);
    const std::size_t at = match ? rest.find(match[0]) : rest.size();
    for (const char c : rest.substr(0, at))
      if (c == ':')
        parts.emplace_back();
      else
        parts.back() += c;
    if (match) parts.back() += match[0];
    rest.erase(0, at + (match ? match[0].size() : 0));
  }
  return parts;
}

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
