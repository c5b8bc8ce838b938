#pragma once
// Strict reading of JSON: every key is asked for, every unasked key is an error, every error names file and pointer.
// Also JSON of other tools (which may have keys twice: syntax and depth alone are looked at), and quick reading and
// writing.
#include <cmath>
#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"

namespace linkcast {

using Json = nlohmann::ordered_json;

/// Parses a whole file. @throws InputError  missing file, broken JSON (with line), duplicate key
Json read_json_file(const std::string& path);
/// Parses text; `name` stands for the file in errors.
Json parse_json(const std::string& text, const std::string& name);

/// One JSON object being read. Keep it until finish(); call finish() when every key was asked for.
class ObjectReader {
 public:
  /// @throws InputError  if value is not an object
  ObjectReader(const Json& value, std::string file, std::string pointer = "");

  [[nodiscard]] bool has(const std::string& key) const;

  /// T: std::string, bool, int, std::int64_t, double (finite), std::vector<T>
  template <class T>
  T required(const std::string& key);
  template <class T>
  std::optional<T> optional(const std::string& key);

  /// A string with a unit, e.g. "25 GB/s".
  BytesPerSecond bandwidth(const std::string& key);
  Seconds seconds(const std::string& key);
  Bytes bytes(const std::string& key);

  /// A nested object or array element; the pointer goes along.
  ObjectReader object(const std::string& key);
  std::optional<ObjectReader> optional_object(const std::string& key);
  std::vector<ObjectReader> objects(const std::string& key);
  const Json& raw(const std::string& key);
  /// Every key with its object, for maps of names to objects.
  std::vector<std::pair<std::string, ObjectReader>> named_objects();

  /// `schema` must equal "<name>/<major>". Reads the key.
  void schema(std::string_view expected);
  /// One of `allowed`, else an error that lists them.
  std::string choice(const std::string& key, const std::vector<std::string>& allowed);

  /// @throws InputError  on any key nobody asked for
  void finish() const;
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  /// The key is not there; a name that is there and that nobody asked for may be it, nearly spelt.
  /// @param what  it should say
  [[noreturn]] void fail_missing(const std::string& key, const std::string& what = "") const;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string pointer(const std::string& key = "") const;

 private:
  const Json& take(const std::string& key);
  const Json* find(const std::string& key);
  std::set<std::string> known_names() const;

  const Json* value_;
  std::string file_;
  std::string pointer_;
  std::vector<std::string> asked_;               ///< some more than once: few keys, and a set costs more than it saves
  mutable std::vector<std::string> looked_for_;  ///< by has(): known here, though perhaps not read
  bool all_asked_ = false;                       ///< by named_objects()
};

namespace detail {
/// Converts with a check of the JSON type; returns what was expected on mismatch.
std::optional<std::string> convert(const Json& json, std::string& out);
std::optional<std::string> convert(const Json& json, bool& out);
std::optional<std::string> convert(const Json& json, int& out);
std::optional<std::string> convert(const Json& json, std::int64_t& out);
std::optional<std::string> convert(const Json& json, double& out);
template <class T>
std::optional<std::string> convert(const Json& json, std::vector<T>& out) {
  if (!json.is_array()) return "an array";
  for (const Json& item : json) {
    T value{};
    if (auto expected = convert(item, value)) return "an array of which each element is " + *expected;
    out.push_back(std::move(value));
  }
  return std::nullopt;
}
}  // namespace detail

template <class T>
T ObjectReader::required(const std::string& key) {
  T value{};
  if (auto expected = detail::convert(take(key), value)) fail(key, "must be " + *expected);
  return value;
}

template <class T>
std::optional<T> ObjectReader::optional(const std::string& key) {
  if (!find(key)) return std::nullopt;
  return required<T>(key);
}

/// Reads JSON in one pass, for speed. @returns  false if anything is wrong with the text, or unusual: whoever reads it
/// strictly says what. json is then half read
bool read_quickly(const std::string& text, Json& json);

/// The same bytes as json.dump(-1, ' ', false, Json::error_handler_t::replace): one line, what is not UTF-8 as U+FFFD.
std::string write_quickly(const Json& json);

/// @param name  of the file, for errors. @returns  discarded where it is not whole JSON
/// @throws InputError  nested deeper than 100 levels
Json parse_foreign_json(std::istream& stream, const std::string& name);
Json parse_foreign_json(const std::string& text, const std::string& name);

}  // namespace linkcast
