#include "cli/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sim/base/parse.hpp"
#include "sim/base/text_width.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/query/provenance.hpp"

namespace linkcast::cli {

std::string version_text() {
  const std::string commit = query::build_commit();
  return fmt::format("linkcast {}{}\n{} build by {} {}, SimGrid {}", query::build_version(),
                     commit.empty() ? "" : " (" + commit + ")", LINKCAST_BUILD_TYPE, LINKCAST_COMPILER,
                     LINKCAST_COMPILER_VERSION, simgrid_version());
}

std::string seconds(const Json& value) { return to_text(Seconds{value.get<double>()}); }

std::string text(const Json& value) { return value.get<std::string>(); }

Json limits_of(const Json& answer) {
  if (!answer.contains("bottleneck")) return nullptr;
  const Json& links = answer["bottleneck"];
  return links.empty() && answer.contains("limited_by") ? Json::array({answer["limited_by"]}) : links;
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string signed_percent(double share) { return (share < 0 ? "-" : "+") + percent(std::abs(share)); }

namespace {

constexpr const char* kCommandStart = "  linkcast ";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string joined_lines(const std::vector<std::string>& lines, const std::string& between) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : between) + line;
  return text;
}

/// Options stay beside their values, as far as that is seen from outside.
std::vector<std::string> option_pairs(const std::string& line) {
  std::vector<std::string> pairs;
  for (const std::string& word : words_of(line)) {
    const bool of_option = !pairs.empty() && pairs.back().starts_with("--") &&
                           pairs.back().find(' ') == std::string::npos && !word.starts_with('-');
    if (of_option)
      pairs.back() += " " + word;
    else
      pairs.push_back(word);
  }
  return pairs;
}

std::string wrapped_command(const std::string& line) {
  constexpr std::size_t least = 2, mark = 2;  // spaces before it, and " \" behind it
  std::vector<std::string> lines{std::string(least, ' ')};
  for (const std::string& pair : option_pairs(line)) {
    const bool first = lines.back().find_first_not_of(' ') == std::string::npos;
    if (!first && lines.back().size() + 1 + pair.size() + mark > kColumns) lines.emplace_back("     ");
    lines.back() += (lines.back().back() == ' ' && lines.size() == 1 && first ? "" : " ") + pair;
  }
  return joined_lines(lines, " \\\n");
}

}  // namespace

std::string wrapped_text(const std::string& text) { return joined_lines(wrapped(text, text_columns()), "\n") + "\n"; }

std::string two_columns(const std::string& left, const std::string& right, std::size_t at) {
  std::string text = left;
  if (right.empty()) return text + "\n";
  if (left.size() + 1 > at)
    text += "\n" + std::string(at, ' ');
  else
    text += std::string(at - left.size(), ' ');
  return text + joined_lines(wrapped(right, kColumns - at), "\n" + std::string(at, ' ')) + "\n";
}

std::string wrapped_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string before(indent, ' '), behind(indent == 0 ? 0 : indent + 2, ' ');
    if (line.size() <= kColumns)
      lines.push_back(line);
    else if (line.starts_with(kCommandStart))
      lines.push_back(wrapped_command(line));
    else
      lines.push_back(before + joined_lines(wrapped(line, kColumns - behind.size()), "\n" + behind));
  }
  return joined_lines(lines, "\n");
}

}  // namespace linkcast::cli
