#pragma once
// Numbers of a result as people read them.
// Text in columns: pages of help in 80, sentences in those of the terminal.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/table.hpp"

namespace linkcast::cli {

/// Version and commit, then on a line of its own how it was built and with which SimGrid it runs.
std::string version_text();

/// With a unit that fits: "1.964 ms".
std::string seconds(const Json& value);
/// Of a JSON string.
std::string text(const Json& value);
/// Names of an answer's bottleneck; where no link limits it, limited_by.
Json limits_of(const Json& answer);
std::string fixed(double value, int digits);
/// "12.3 %"
std::string percent(double share);
/// "+12.3 %"
std::string signed_percent(double share);

/// A paragraph in text_columns(), with its last line's end.
std::string wrapped_text(const std::string& text);

/// Two columns: `right` begins at column `at`, on the next line where `left` reaches that far.
std::string two_columns(const std::string& left, const std::string& right, std::size_t at);

/// Each line of a text: a command line is continued behind a backslash, other text with its own indentation.
std::string wrapped_lines(const std::string& text);

}  // namespace linkcast::cli
