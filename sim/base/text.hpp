#pragma once
// Text: lists of words in messages, names that were typed nearly right.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// "a, b, c"
/// @param words  any sequence of strings
template <class Words>
std::string joined(const Words& words, const std::string& between = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// "a;b" is a and b; nothing behind the last separator is no part.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

/// The known names that are likely meant, at most three: the fewest letters to change, or all that begin so. Upper and
/// lower case and - _ . count as alike.
std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& known);

/// " (did you mean 'all_reduce'?)", or nothing.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known);

/// "unknown WHAT 'NAME' (did you mean 'other'?): one of a, b"
InputError unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace linkcast
