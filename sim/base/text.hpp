#pragma once
// Lists of words in messages, and in what users write.
#include <sstream>
#include <string>
#include <vector>

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

}  // namespace linkcast
