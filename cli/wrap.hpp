#pragma once
// Text in 80 columns.
#include <string>
#include <vector>

namespace linkcast::cli {

inline constexpr std::size_t kColumns = 80;

/// Lines of at most `width` letters, broken between words; a longer word stays whole.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

/// A paragraph, with its last line's end.
std::string wrapped_text(const std::string& text);

/// Two columns: `right` begins at column `at`, on the next line where `left` reaches that far.
std::string two_columns(const std::string& left, const std::string& right, std::size_t at);

/// Each line of a text: a command line is continued behind a backslash, other text with its own indentation.
std::string wrapped_lines(const std::string& text);

}  // namespace linkcast::cli
