#include "calibrate/import/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>

#include "sim/base/input_error.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/text.hpp"

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

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string file_name(const std::string& path) {
  if (path.starts_with("/proc/self/fd/")) return "standard input";  // kept there (cli/stdin_file.cpp)
  return std::filesystem::path(path).filename().string();
}

TextFile::TextFile(const std::string& path) : path_(path) {
  text_ = file_text(path);
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines_.push_back(line);
  }
  if (text_.find_first_not_of(" \t\r\n") == std::string::npos) throw InputError(path + ": is empty");
  if (text_.find('\0') != std::string::npos) throw InputError(path + ": is no text file");
}

void TextFile::expect_short_lines() const {
  constexpr std::size_t longest = 10000;  // a row of a matrix of 576 GPUs has 6000 characters
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].size() > longest)
      fail_at(static_cast<int>(i) + 1,
              fmt::format("a line of {} characters, at most {}: no text of such a program", lines_[i].size(), longest));
}

void TextFile::expect_line_end() const {
  if (at_ + 1 == lines_.size() && text_.back() != '\n') fail("the file ends inside this line");
}

void TextFile::strip_launchers() {
  expect_short_lines();
  for (std::string& line : lines_) {
    line = plain_log_line(line);
    const bool ascii = std::all_of(line.begin(), line.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
    if (!ascii)  // records are UTF-8: what is none of it becomes U+FFFD
      line = Json::parse(Json(line).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  }
}

bool TextFile::starts_with(std::string_view prefix) const { return !at_end() && line().starts_with(prefix); }

void TextFile::skip_blank() {
  while (!at_end() && line().find_first_not_of(" \t") == std::string::npos) next();
}

void TextFile::expect_more(const std::string& what) const {
  if (at_end()) fail_at(static_cast<int>(lines_.size()), "the file ends here, " + what + " is missing");
}

void TextFile::fail(const std::string& what) const {
  fail_at(std::min(number(), static_cast<int>(lines_.size())), what);
}

void TextFile::fail_at(int line, const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", path_, line, what));
}

}  // namespace linkcast
