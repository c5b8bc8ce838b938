#pragma once
// A text file read line by line, so that one larger than memory can be; every error names file and line.
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {

class Lines {
 public:
  /// @throws InputError  missing, or a folder
  explicit Lines(std::string path);
  /// To the next line. @returns  false at the end. @throws InputError  broken, or a line without end
  bool next();
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] long number() const { return number_; }
  /// @throws InputError  with file and current line
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string path_, text_;
  std::unique_ptr<std::istream> stream_;
  std::optional<LineBlocks> blocks_;  ///< of the stream
  long number_ = 0;
};

/// Words between blanks and tabs.
std::vector<std::string> trace_words(std::string_view line);
/// The whole text as a finite number, or as a whole one in decimal digits with an optional sign.
std::optional<double> trace_number(std::string_view text);
std::optional<std::int64_t> trace_whole(std::string_view text);
/// A text in an error message: one that is long or not printable is not shown as it is.
std::string shown(std::string_view text);
/// The name of a file without its folders: folders are those of one machine.
std::string trace_file_name(const std::string& path);

}  // namespace linkcast
