#include "sim/base/null_for_nan.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace linkcast {

std::string with_null_for_nan(const std::string& text) {
  static const std::set<std::string> kLiterals = {"nan", "inf", "infinity"};
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1U : 0U;
      i = std::min(i + 1, text.size());
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      std::string word;
      for (; i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0; ++i)
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
      if (kLiterals.count(word) > 0) {
        if (!out.empty() && (out.back() == '-' || out.back() == '+')) out.pop_back();
        out += "null";
        continue;
      }
    } else {
      ++i;
    }
    out.append(text, begin, i - begin);
  }
  return out;
}

}  // namespace linkcast
