#include "sim/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace linkcast {
namespace {

constexpr std::size_t kMostNear = 3, kMostLonger = 5;
constexpr std::size_t kLeastBeginning = 3;  // ours: a shorter beginning is that of anything
constexpr std::size_t kLettersAnError = 3;  // ours: one wrong letter in so many, and always one

std::string plain(const std::string& name) {
  std::string letters;
  for (const char c : name)
    if (c != '-' && c != '_' && c != '.') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// Whether a word of a name, behind - or _, begins so: "h100" of "hgx-h100".
bool has_word(const std::string& name, const std::string& typed) {
  for (std::size_t at = name.find_first_of("-_."); at != std::string::npos; at = name.find_first_of("-_.", at + 1))
    if (plain(name.substr(at)).starts_with(typed)) return true;
  return false;
}

/// Letters that are inserted, left out, replaced or swapped with their neighbour.
/// source: Damerau, CACM 7(3), 1964; the optimal string alignment of it
std::size_t errors_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> errors(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t k = 0; k <= b.size(); ++k) {
      if (i == 0 || k == 0) {
        errors[i][k] = i + k;
        continue;
      }
      const std::size_t replaced = errors[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      errors[i][k] = std::min({replaced, errors[i - 1][k] + 1, errors[i][k - 1] + 1});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        errors[i][k] = std::min(errors[i][k], errors[i - 2][k - 2] + 1);
    }
  return errors[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& known) {
  const std::string typed = plain(name);
  std::size_t fewest = std::max<std::size_t>(1, typed.size() / kLettersAnError);
  std::vector<std::string> near, longer;
  for (const std::string& candidate : known) {
    const std::string other = plain(candidate);
    const std::size_t errors = errors_between(typed, other);
    if (errors < fewest) near.clear();
    if (errors <= fewest && errors < other.size()) {
      fewest = errors;
      near.push_back(candidate);
    }
    if (typed.size() >= kLeastBeginning && (other.starts_with(typed) || has_word(candidate, typed)))
      longer.push_back(candidate);
  }
  const bool mistyped = longer.empty() || fewest == 0;
  std::vector<std::string>& found = mistyped ? near : longer;
  const std::size_t most = mistyped ? kMostNear : kMostLonger;
  if (found.size() > most) found.resize(most);
  return found;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const std::vector<std::string> near = near_names(name, known);
  std::string text;
  for (std::size_t i = 0; i < near.size(); ++i)
    text += (i == 0 ? "" : i + 1 == near.size() ? " or " : ", ") + ("'" + near[i] + "'");
  return text.empty() ? "" : " (did you mean " + text + "?)";
}

InputError unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return InputError("unknown " + what + " '" + name + "'" + did_you_mean(name, known) + ": one of " + list);
}

}  // namespace linkcast
