#pragma once
// Regular expressions for text that strangers wrote: RE2, whose time is linear in the text and which never recurses.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace linkcast {

/// A match or none. Groups are numbered as in the expression from 1; 0 is the whole match.
class Match {
 public:
  Match() = default;
  explicit Match(std::vector<std::optional<std::string>> groups) : groups_(std::move(groups)) {}
  explicit operator bool() const { return !groups_.empty(); }
  /// Text of a group; empty if the group took no part.
  [[nodiscard]] std::string operator[](std::size_t group) const { return groups_.at(group).value_or(""); }
  [[nodiscard]] bool has(std::size_t group) const { return groups_.at(group).has_value(); }

 private:
  std::vector<std::optional<std::string>> groups_;
};

/// An expression in RE2's syntax over bytes: no look-around, no back references.
class Regex {
 public:
  /// @throws std::invalid_argument  expression is none: an error of the program, not of its input
  explicit Regex(const std::string& expression);

  /// The match of the whole text.
  [[nodiscard]] Match whole(std::string_view text) const;
  /// The first match anywhere in the text.
  [[nodiscard]] Match find(std::string_view text) const;
  /// The text with every match left out.
  [[nodiscard]] std::string removed_from(const std::string& text) const;

 private:
  [[nodiscard]] Match match(std::string_view text, bool whole) const;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace linkcast
