#pragma once
// Closed vocabularies of options, queries and files: an enum, one table of how its values are spelled, and values that
// only the table makes. Old spellings work for one version, with one warning (docs/stability.md).
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast {

/// One row of a vocabulary's table. The first row of a value is how it is written; further ones are old spellings.
template <class E>
struct Spelling {
  E value;
  std::string_view name;
};

/// "engine: 'ce' is called 'copy_engine' now; ..."
std::string old_spelling_text(const std::string& key, std::string_view old, const std::string& now);
/// Logs that text as a warning, once for a key and an old name in a process.
void warn_of_old_spelling(const std::string& key, std::string_view old, const std::string& now);

/// A value of E, written and read by the rows of `spellings(E)`, which stands with the enum.
template <class E>
class Spelled {
 public:
  constexpr Spelled(E value = E{}) : value_(value) {}
  /// @throws InputError  if no row has this name
  Spelled(std::string_view name) : value_(find(name)) {}
  Spelled(const std::string& name) : value_(find(name)) {}
  Spelled(const char* name) : value_(find(name)) {}

  [[nodiscard]] constexpr E value() const { return value_; }
  [[nodiscard]] std::string name() const {
    for (const auto& row : spellings(E{}))
      if (row.value == value_) return std::string(row.name);
    return "";
  }
  operator std::string() const { return name(); }
  /// True for the first value, which stands for "not said" where a vocabulary has that.
  [[nodiscard]] constexpr bool empty() const { return value_ == E{}; }

  friend constexpr bool operator==(const Spelled&, const Spelled&) = default;
  friend constexpr auto operator<=>(const Spelled&, const Spelled&) = default;

  static const Spelling<E>* row_of(std::string_view name) {
    for (const auto& row : spellings(E{}))
      if (row.name == name) return &row;
    return nullptr;
  }

  /// The new spelling of a name; empty where the name is no old one.
  static std::string new_name(std::string_view old) {
    const Spelling<E>* row = row_of(old);
    const std::string now = row == nullptr ? "" : Spelled(row->value).name();
    return now == old ? "" : now;
  }

  /// Names as they are written, in the order of the table; without the empty one, which no file says.
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    const Spelling<E>* last = nullptr;
    for (const auto& row : spellings(E{})) {
      if ((last == nullptr || last->value != row.value) && !row.name.empty()) names.emplace_back(row.name);
      last = &row;
    }
    return names;
  }

 private:
  static E find(std::string_view name) {
    const Spelling<E>* row = row_of(name);
    if (row == nullptr) throw InputError("'" + std::string(name) + "' is not known");
    return row->value;
  }

  E value_;
};

/// The value of a name, with a warning if the spelling is old. @returns  nothing: no row has the name, or it is empty
template <class E>
std::optional<Spelled<E>> value_of(const std::string& key, const std::string& name) {
  const Spelling<E>* row = name.empty() ? nullptr : Spelled<E>::row_of(name);
  if (row == nullptr) return std::nullopt;
  if (const std::string now = Spelled<E>::new_name(name); !now.empty()) warn_of_old_spelling(key, name, now);
  return Spelled<E>(row->value);
}

/// Reads one name of a vocabulary, as value_of(). @throws InputError  lists the names as they are written
template <class E>
Spelled<E> read_spelled(ObjectReader& r, const std::string& key) {
  if (const Json& raw = r.raw(key); raw.is_string())
    if (const auto value = value_of<E>(key, raw.get_ref<const std::string&>())) return *value;
  return r.choice(key, Spelled<E>::names());
}

}  // namespace linkcast
