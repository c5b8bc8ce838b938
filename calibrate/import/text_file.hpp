#pragma once
// A text file read line by line; every error names file and line.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast {
// Printed decimal numbers, kept at full printed precision.

/// The number that a printed decimal stands for, times 10^exponent, rounded once: "18.41", 9 is 18410000000 exactly.
/// @returns nothing if the text is no finite decimal number
std::optional<double> decimal(std::string_view text, int exponent = 0);

/// A whole number of at least 0, in digits only. @returns nothing if the text is none, or above 2^31 - 1
std::optional<int> whole_number(std::string_view text);
/// The same up to 2^53, the largest size that schema measurement/1 takes.
std::optional<std::int64_t> whole_size(std::string_view text);

/// Words between blanks and tabs.
/// "N/A", as tools print for what they did not measure.
inline bool is_not_available(std::string_view text) { return text == "N/A"; }
std::vector<std::string> words_of(std::string_view line);
/// The name of a file without its folders: folders are those of one machine.
std::string file_name(const std::string& path);

class TextFile {
 public:
  /// @throws InputError  missing, a folder, empty, or with zero bytes in it
  explicit TextFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool at_end() const { return at_ >= lines_.size(); }
  /// The current line without its end. Not to be asked at the end.
  [[nodiscard]] const std::string& line() const { return lines_[at_]; }
  [[nodiscard]] int number() const { return static_cast<int>(at_) + 1; }  ///< of the current line, from 1
  /// @throws InputError  if a line is longer than any that these programs print
  void expect_short_lines() const;
  /// @throws InputError  if the file ends inside the current line: its last figure may be cut off
  void expect_line_end() const;
  [[nodiscard]] bool starts_with(std::string_view prefix) const;
  void next() { ++at_; }
  /// Takes off every line what terminals and launchers put around it (sim/base/text.hpp).
  void strip_launchers();
  void skip_blank();
  /// @throws InputError  if the file ends here: says what is missing
  void expect_more(const std::string& what) const;

  /// @throws InputError  with the current line, or with the given one
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_at(int line, const std::string& what) const;

 private:
  std::string path_, text_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

}  // namespace linkcast
