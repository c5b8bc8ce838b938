#include "sim/base/object_reader.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/json_error.hpp"
#include "sim/base/json_watch.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/table.hpp"
#include "sim/base/text.hpp"

namespace linkcast {
namespace {

constexpr std::size_t kUsualKeys = 24;  // source: ours, of a query

/// JSON pointer escapes of RFC 6901.
std::string escaped(const std::string& key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

/// Rejects duplicate keys, which nlohmann_json would silently merge.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(std::string name) : name_(std::move(name)) {}
  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    const bool starts = event == Event::object_start || event == Event::array_start;
    if ((starts || event == Event::value) && !open_.empty()) ++open_.back().elements;
    if (starts) open_.push_back({event == Event::array_start});
    if (event == Event::object_end || event == Event::array_end) open_.pop_back();
    if (event != Event::key) return true;
    open_.back().key = parsed.get<std::string>();
    if (!open_.back().keys.insert(open_.back().key).second) throw InputError(name_, pointer(), "duplicate key");
    return true;
  }

 private:
  /// An object or array that has begun and not ended.
  struct Open {
    bool array = false;
    int elements = 0;
    std::string key{};  ///< read last
    std::set<std::string> keys{};
  };
  std::string pointer() const {
    std::string path;
    for (const Open& open : open_) path += open.array ? fmt::format("/{}", open.elements - 1) : "/" + escaped(open.key);
    return path;
  }

  std::string name_;
  std::vector<Open> open_;
};

}  // namespace

Json parse_json(const std::string& text, const std::string& name) {
  if (Json quick; read_quickly(text, quick)) return quick;
  try {
    return parse_watched(text, name, DuplicateKeys(name));
  } catch (const Json::exception& error) {
    throw InputError(name + ": not JSON: " + json_error_text(error.what()));
  }
}

Json read_json_file(const std::string& path) { return parse_json(file_text(path), path); }

ObjectReader::ObjectReader(const Json& value, std::string file, std::string pointer)
    : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!value.is_object()) throw InputError(file_, pointer_, std::string("must be an object, not ") + value.type_name());
  asked_.reserve(kUsualKeys);
  looked_for_.reserve(kUsualKeys);
}

std::string ObjectReader::pointer(const std::string& key) const {
  return key.empty() ? pointer_ : pointer_ + "/" + escaped(key);
}

void ObjectReader::fail(const std::string& key, const std::string& what) const {
  throw InputError(file_, pointer(key), what);
}

bool ObjectReader::has(const std::string& key) const {
  looked_for_.push_back(key);
  return value_->contains(key);
}

const Json* ObjectReader::find(const std::string& key) {
  asked_.push_back(key);
  const auto it = value_->find(key);
  return it == value_->end() ? nullptr : &*it;
}

const Json& ObjectReader::take(const std::string& key) {
  if (const Json* json = find(key)) return *json;
  fail_missing(key);
}

void ObjectReader::fail_missing(const std::string& key, const std::string& what) const {
  const std::set<std::string> known = known_names();
  std::string meant;
  for (const auto& [name, value] : value_->items())
    if (known.count(name) == 0 && !near_names(name, {key}).empty())
      meant = " (did you mean '" + key + "' by '" + one_line(name) + "'?)";
  fail(key, "missing key" + meant + (what.empty() ? "" : ": ") + what);
}

/// Keys that were read or looked for.
std::set<std::string> ObjectReader::known_names() const {
  std::set<std::string> names(asked_.begin(), asked_.end());
  names.insert(looked_for_.begin(), looked_for_.end());
  return names;
}

const Json& ObjectReader::raw(const std::string& key) { return take(key); }

BytesPerSecond ObjectReader::bandwidth(const std::string& key) {
  try {
    return parse_bandwidth(required<std::string>(key));
  } catch (const UnitError& error) {
    fail(key, error.what());
  }
}
Seconds ObjectReader::seconds(const std::string& key) {
  try {
    return parse_seconds(required<std::string>(key));
  } catch (const UnitError& error) {
    fail(key, error.what());
  }
}
Bytes ObjectReader::bytes(const std::string& key) {
  try {
    return parse_bytes(required<std::string>(key));
  } catch (const UnitError& error) {
    fail(key, error.what());
  }
}

ObjectReader ObjectReader::object(const std::string& key) { return {take(key), file_, pointer(key)}; }
std::optional<ObjectReader> ObjectReader::optional_object(const std::string& key) {
  if (!find(key)) return std::nullopt;
  return object(key);
}
std::vector<ObjectReader> ObjectReader::objects(const std::string& key) {
  const Json& list = take(key);
  if (!list.is_array()) fail(key, "must be an array of objects");
  std::vector<ObjectReader> readers;
  for (std::size_t i = 0; i < list.size(); ++i)
    readers.emplace_back(list[i], file_, fmt::format("{}/{}", pointer(key), i));
  return readers;
}
std::vector<std::pair<std::string, ObjectReader>> ObjectReader::named_objects() {
  all_asked_ = true;
  std::vector<std::pair<std::string, ObjectReader>> readers;
  for (const auto& [key, value] : value_->items()) readers.emplace_back(key, ObjectReader(value, file_, pointer(key)));
  return readers;
}

void ObjectReader::schema(std::string_view expected) {
  const auto found = required<std::string>("schema");
  if (found != expected) fail("schema", "is '" + found + "', this program reads '" + std::string(expected) + "'");
}

std::string ObjectReader::choice(const std::string& key, const std::vector<std::string>& allowed) {
  auto value = required<std::string>(key);
  std::string list;
  for (const std::string& candidate : allowed) {
    if (candidate == value) return value;
    list += (list.empty() ? "" : ", ") + candidate;
  }
  fail(key, "'" + value + "' is not allowed" + did_you_mean(value, allowed) + ": one of " + list);
}

void ObjectReader::finish() const {
  if (all_asked_) return;
  for (const auto& [key, value] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::set<std::string> names = known_names();
    names.erase(key);  // looked for, but it does not belong here together with what was read
    fail(key, "unknown key" + did_you_mean(key, {names.begin(), names.end()}) + "; known here: " + joined(names));
  }
}

namespace detail {
std::optional<std::string> convert(const Json& json, std::string& out) {
  if (!json.is_string()) return "a string";
  out = json.get<std::string>();
  return std::nullopt;
}
std::optional<std::string> convert(const Json& json, bool& out) {
  if (!json.is_boolean()) return "true or false";
  out = json.get<bool>();
  return std::nullopt;
}
std::optional<std::string> convert(const Json& json, std::int64_t& out) {
  if (!json.is_number_integer()) return "a whole number";
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return "a whole number below 2^63";
  out = json.get<std::int64_t>();
  return std::nullopt;
}
std::optional<std::string> convert(const Json& json, int& out) {
  std::int64_t wide = 0;
  if (auto expected = convert(json, wide)) return expected;
  if (wide < INT32_MIN || wide > INT32_MAX) return "a whole number below 2^31";
  out = static_cast<int>(wide);
  return std::nullopt;
}
std::optional<std::string> convert(const Json& json, double& out) {
  if (!json.is_number()) return "a number";
  out = json.get<double>();
  if (!std::isfinite(out)) return "a finite number";
  return std::nullopt;
}
}  // namespace detail

namespace {

using simdjson::dom::element;

constexpr int kDeepest = 20;  // source: ours, records nest 6 deep

bool convert(const element& from, int depth, Json& to);

bool convert_object(const element& from, int depth, Json& to) {
  work::look();
  const simdjson::dom::object all = from.get_object().value_unsafe();
  to = Json::object();
  Json::object_t& members = to.get_ref<Json::object_t&>();
  members.reserve(all.size());
  for (const simdjson::dom::key_value_pair member : all) {
    const auto [place, fresh] = members.emplace(std::string(member.key), Json());
    if (!fresh || !convert(member.value, depth + 1, place->second)) return false;
  }
  return true;
}

bool convert_array(const element& from, int depth, Json& to) {
  work::look();
  const simdjson::dom::array all = from.get_array().value_unsafe();
  to = Json::array();
  Json::array_t& elements = to.get_ref<Json::array_t&>();
  elements.reserve(all.size());
  for (const element one : all)
    if (!convert(one, depth + 1, elements.emplace_back())) return false;
  return true;
}

bool convert(const element& from, int depth, Json& to) {
  if (depth > kDeepest) return false;
  switch (from.type()) {
    case simdjson::dom::element_type::OBJECT:
      return convert_object(from, depth, to);
    case simdjson::dom::element_type::ARRAY:
      return convert_array(from, depth, to);
    case simdjson::dom::element_type::INT64: {
      const std::int64_t value = from.get_int64().value_unsafe();
      to = value < 0 ? Json(value) : Json(static_cast<std::uint64_t>(value));
      return true;
    }
    case simdjson::dom::element_type::UINT64:
      to = from.get_uint64().value_unsafe();
      return true;
    case simdjson::dom::element_type::DOUBLE:
      to = from.get_double().value_unsafe();
      return true;
    case simdjson::dom::element_type::STRING:
      to = std::string(from.get_string().value_unsafe());
      return true;
    case simdjson::dom::element_type::BOOL:
      to = from.get_bool().value_unsafe();
      return true;
    default:
      to = nullptr;
      return true;
  }
}

constexpr std::uint64_t each(std::uint64_t byte) { return byte * 0x0101010101010101U; }

/// Whether eight bytes stand in JSON as they are: ' ' to '~' without '"' and '\\'. A byte is 0 where byte - 1 goes
/// below it. source: Bit Twiddling Hacks, "Determine if a word has a zero byte", "... a byte less than n"
bool plain_eight(std::uint64_t bytes) {
  const auto less = [&](std::uint64_t of, std::uint64_t than) { return (of - each(than)) & ~of; };
  const std::uint64_t wrong =
      less(bytes, ' ') | less(bytes ^ each('"'), 1) | less(bytes ^ each('\\'), 1) | (bytes + each(0x7f - '~')) | bytes;
  return (wrong & each(0x80)) == 0;
}

bool is_plain(const std::string& text) {
  std::uint64_t bytes = each(' ');
  constexpr std::size_t kTogether = sizeof bytes;
  if (text.size() < kTogether) {
    for (const char c : text) bytes = bytes << 8U | static_cast<unsigned char>(c);
    return plain_eight(bytes);
  }
  for (std::size_t at = 0; at + kTogether <= text.size(); at += kTogether) {
    std::memcpy(&bytes, text.data() + at, kTogether);
    if (!plain_eight(bytes)) return false;
  }
  std::memcpy(&bytes, text.data() + text.size() - kTogether, kTogether);
  return plain_eight(bytes);
}

void put(const std::string& text, std::string& out) {
  if (is_plain(text))
    out.append(1, '"').append(text).append(1, '"');
  else
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Integer>
void put_integer(Integer value, std::string& out) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void put(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 64> digits{};
  out.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
}

void put(const Json& json, std::string& out) {  // NOLINT(misc-no-recursion)
  switch (json.type()) {
    case Json::value_t::object: {
      char before = '{';
      for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
        out += std::exchange(before, ',');
        put(key, out);
        out += ':';
        put(value, out);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    case Json::value_t::array: {
      char before = '[';
      for (const Json& value : json.get_ref<const Json::array_t&>()) {
        out += std::exchange(before, ',');
        put(value, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::string:
      return put(json.get_ref<const std::string&>(), out);
    case Json::value_t::number_integer:
      return put_integer(json.get<std::int64_t>(), out);
    case Json::value_t::number_unsigned:
      return put_integer(json.get<std::uint64_t>(), out);
    case Json::value_t::number_float:
      return put(json.get<double>(), out);
    case Json::value_t::boolean:
      out += json.get<bool>() ? "true" : "false";
      return;
    default:
      out += "null";
  }
}

}  // namespace

bool read_quickly(const std::string& text, Json& json) {
  thread_local simdjson::dom::parser parser;
  element root;
  return parser.parse(text).get(root) == simdjson::SUCCESS && convert(root, 0, json);
}

std::string write_quickly(const Json& json) {
  constexpr std::size_t kUsual = 2048;  // of an answer
  std::string out;
  out.reserve(kUsual);
  put(json, out);
  return out;
}

namespace {

template <class Input>
Json parse(Input& input, const std::string& name) {
  try {
    return parse_watched(input, name, {});
  } catch (const Json::exception&) {
    return Json(Json::value_t::discarded);
  }
}

}  // namespace

Json parse_foreign_json(std::istream& stream, const std::string& name) { return parse(stream, name); }
Json parse_foreign_json(const std::string& text, const std::string& name) { return parse(text, name); }

}  // namespace linkcast
