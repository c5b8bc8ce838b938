#include "apps-traces/import/lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <utility>

namespace linkcast {

Lines::Lines(std::string path) : path_(std::move(path)) {
  if (std::filesystem::is_directory(path_)) throw InputError(path_ + ": is a folder");
  stream_ = open_packed(path_);
  if (!*stream_) throw InputError(path_ + ": cannot be read");
  const int first = stream_->peek();
  if (first == 0xff || first == 0xfe || first == 0xef) {  // how byte order marks begin
    std::string text = file_text(path_);
    stream_ = std::make_unique<std::istringstream>(std::move(text));
  }
  blocks_.emplace(*stream_);
}

bool Lines::next() {
  std::optional<std::string_view> line;
  try {
    line = blocks_->next();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).starts_with(path_)) throw;  // what unpacks the file names it
    throw InputError(fmt::format("{} line {}: {}", path_, number_ + 1, error.what()));
  }
  if (!line) {
    text_.clear();
    if (stream_->bad()) throw InputError(fmt::format("{} line {}: cannot be read further", path_, number_));
    return false;
  }
  ++number_;
  if (line->ends_with('\r')) line->remove_suffix(1);
  text_.assign(*line);
  return true;
}

void Lines::fail(const std::string& what) const {
  throw InputError(fmt::format("{} line {}: {}", path_, number_, what));
}

std::vector<std::string> trace_words(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  std::vector<std::string> words;
  for (std::size_t from = line.find_first_not_of(kBlank); from != std::string_view::npos;) {
    const std::size_t to = line.find_first_of(kBlank, from);
    words.emplace_back(line.substr(from, to - from));
    from = to == std::string_view::npos ? to : line.find_first_not_of(kBlank, to);
  }
  return words;
}

std::optional<double> trace_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> trace_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kLongest ? "...'" : "'");
}

std::string trace_file_name(const std::string& path) {
  if (path.starts_with("/proc/self/fd/")) return "standard input";  // kept there (cli/files.cpp)
  return std::filesystem::path(path).filename().string();
}

}  // namespace linkcast
