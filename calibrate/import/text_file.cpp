#include "calibrate/import/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "sim/base/input_error.hpp"
#include "sim/base/log_line.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {

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
