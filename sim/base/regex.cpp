#include "sim/base/regex.hpp"

#include <re2/re2.h>

#include <stdexcept>

namespace linkcast {

Regex::Regex(const std::string& expression)
    : expression_(std::make_shared<const re2::RE2>(expression, re2::RE2::Latin1)) {
  if (!expression_->ok()) throw std::invalid_argument("pattern '" + expression + "': " + expression_->error());
}

Match Regex::match(std::string_view text, bool whole) const {
  std::vector<re2::StringPiece> found(1U + static_cast<std::size_t>(expression_->NumberOfCapturingGroups()));
  const re2::StringPiece piece(text.data(), text.size());
  const auto anchor = whole ? re2::RE2::ANCHOR_BOTH : re2::RE2::UNANCHORED;
  if (!expression_->Match(piece, 0, text.size(), anchor, found.data(), static_cast<int>(found.size()))) return {};
  std::vector<std::optional<std::string>> groups;
  for (const re2::StringPiece& group : found)
    groups.push_back(group.data() == nullptr ? std::nullopt
                                             : std::optional<std::string>(std::in_place, group.data(), group.size()));
  return Match(std::move(groups));
}

Match Regex::whole(std::string_view text) const { return match(text, true); }
Match Regex::find(std::string_view text) const { return match(text, false); }

std::string Regex::removed_from(const std::string& text) const {
  std::string rest = text;
  re2::RE2::GlobalReplace(&rest, *expression_, "");
  return rest;
}

}  // namespace linkcast
