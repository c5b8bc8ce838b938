#pragma once
// Closed vocabularies of files: an enum, one table of how its values are spelled, and values that only the table makes.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast {

/// One row of a vocabulary's table. The first row of a value is how it is written; further ones are read, too.
template <class E>
struct Spelling {
  E value;
  std::string_view name;
};

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

/// Reads one name of a vocabulary. @throws InputError  lists the names as they are written
template <class E>
Spelled<E> read_spelled(ObjectReader& r, const std::string& key) {
  if (const Json& raw = r.raw(key); raw.is_string() && !raw.get_ref<const std::string&>().empty())
    if (const auto* row = Spelled<E>::row_of(raw.get_ref<const std::string&>())) return row->value;
  return r.choice(key, Spelled<E>::names());
}

}  // namespace linkcast
