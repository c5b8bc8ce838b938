#pragma once
// Text in 80 columns.
#include <string>
#include <vector>

#include "sim/base/table.hpp"

namespace linkcast::cli {

/// A paragraph, with its last line's end.
std::string wrapped_text(const std::string& text);

/// Two columns: `right` begins at column `at`, on the next line where `left` reaches that far.
std::string two_columns(const std::string& left, const std::string& right, std::size_t at);

/// Each line of a text: a command line is continued behind a backslash, other text with its own indentation.
std::string wrapped_lines(const std::string& text);

}  // namespace linkcast::cli
