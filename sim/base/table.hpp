#pragma once
// Text in columns: aligned tables, and lines broken between words.
#include <string>
#include <vector>

namespace linkcast {

inline constexpr std::size_t kColumns = 80;

/// Lines of at most `width` letters, broken between words; a longer word stays whole.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

/// Aligned columns, quantities to the right; text that reaches over text_columns() (text_width.hpp) is wrapped. A line
/// a row, each with its end.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// Shows control characters as escapes, so that an error that quotes a user's text stays one line.
std::string one_line(const std::string& text);
/// The text, or at most so many bytes of it and "...", cut between characters of UTF-8.
std::string shortened(std::string text, std::size_t most_B);

}  // namespace linkcast
