#pragma once
// Lists of words in messages.
#include <string>

namespace linkcast {

/// "a, b, c"
/// @param words  any sequence of strings
template <class Words>
std::string joined(const Words& words, const std::string& between = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace linkcast
