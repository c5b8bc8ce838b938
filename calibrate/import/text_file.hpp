#pragma once
// A text file read line by line; every error names file and line.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/log_text.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast {

// Printed decimal numbers, kept at full printed precision.

/// The number that a printed decimal stands for, times 10^exponent, rounded once: "18.41", 9 is 18410000000 exactly.
/// @returns nothing if the text is no finite decimal number
std::optional<double> decimal(std::string_view text, int exponent = 0);

/// A whole number of at least 0, in digits only. @returns nothing if the text is none, or above 2^31 - 1
std::optional<int> whole_number(std::string_view text);
/// The same up to 2^53, the largest size that schema measurement/1 takes.
std::optional<std::int64_t> whole_size(std::string_view text);

/// "N/A", as tools print for what they did not measure.
inline bool is_not_available(std::string_view text) { return text == "N/A"; }
/// Words between blanks and tabs.
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
  [[nodiscard]] int number() const { return at_end() ? last_number() + 1 : numbers_[at_]; }  ///< of the current line
  /// The number of the line with this byte of the text.
  [[nodiscard]] int number_at(std::size_t byte) const;
  /// @throws InputError  if a line is longer than any that these programs print
  void expect_short_lines() const;
  /// @throws InputError  if the file ends inside the current line: its last figure may be cut off
  void expect_line_end() const;
  [[nodiscard]] bool starts_with(std::string_view prefix) const;
  void next() { ++at_; }
  /// Takes off every line what terminals, launchers and collectors put around it; of several processes the lines of
  /// the one with tables stay (log_text.hpp). @throws InputError  several processes print tables
  void strip_launchers();
  /// For the record: that lines of other processes were left out; empty: there are none.
  [[nodiscard]] const std::string& other_processes() const { return other_processes_; }
  void skip_blank();
  /// @throws InputError  if the file ends here: says what is missing
  void expect_more(const std::string& what) const;

  /// @throws InputError  with the current line, or with the given one
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_at(int line, const std::string& what) const;

 private:
  [[nodiscard]] int last_number() const { return numbers_.empty() ? 1 : numbers_.back(); }

  std::string path_, text_, other_processes_;
  std::vector<std::string> lines_;
  std::vector<int> numbers_;  ///< of the lines in the file, from 1
  bool ends_whole_ = true;    ///< the last line has an end
  bool plain_ = false;        ///< launchers were stripped
  std::size_t at_ = 0;
};

/// JSON objects that have a key: the file as a whole, or between other lines of a log. Empty: it holds no such JSON.
/// @throws InputError  JSON that is broken or cut off
std::vector<Json> json_of_log(TextFile& file, const std::string& key);
/// Their texts, with keys that are there twice.
std::vector<JsonText> json_texts_of_log(TextFile& file, const std::string& key);

// Comma-separated values as in RFC 4180.

struct CsvRow {
  int line = 0;  ///< where it starts
  std::vector<std::string> cells;
};

/// All rows; every row has as many cells as the first; lines without a character are dropped, so are blanks around
/// cells that have no quotes.
/// @throws InputError  with the line: ragged, a quote that does not end, or text behind a closing quote
std::vector<CsvRow> read_csv(const TextFile& file);
std::vector<CsvRow> read_csv(const std::string& path, const std::string& text);

// Matrices of devices as text: a line of column numbers, then one line a row that starts with its number.

struct MatrixTable {
  int columns = 0;
  std::vector<std::vector<std::string>> cells;  ///< as printed, one list a row
  std::vector<int> lines;                       ///< where each row stands

  [[nodiscard]] int rows() const { return static_cast<int>(cells.size()); }
};

/// Reads the matrix that starts at the current line and leaves the file behind it. Rows and columns count from 0.
/// @param corner  the word before the column numbers, e.g. D\D; empty if there is none
/// @param name  what the matrix is, for errors
/// @throws InputError  ragged, out of order, or nothing
MatrixTable read_matrix(TextFile& file, const std::string& corner, const std::string& name);

/// A cell above 0, times 10^exponent. @throws InputError  with the line
double positive_cell(const TextFile& file, const MatrixTable& table, int row, int column, int exponent);

}  // namespace linkcast
