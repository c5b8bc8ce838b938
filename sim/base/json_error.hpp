#pragma once
// Errors of the JSON library without its own words, however long the text is that it quotes.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/table.hpp"

namespace linkcast {

/// "parse error at line 9, column 45: ...", "a number is too large: '1e400'"; at most a line.
inline std::string json_error_text(std::string_view what) {
  constexpr std::size_t kLongest = 160;                                                     // source: ours
  constexpr std::string_view kParse = "parse error", kNumber = "number overflow parsing ";  // source: nlohmann_json
  std::string text;
  if (const auto at = what.find(kParse); at != std::string_view::npos)
    text = what.substr(at);
  else if (const auto number = what.find(kNumber); number != std::string_view::npos)
    text = std::string("a number is too large: ").append(what.substr(number + kNumber.size()));
  else
    text = what.substr(std::min(what.find("] ") + 2, what.size()));
  return shortened(std::move(text), kLongest);
}

}  // namespace linkcast
