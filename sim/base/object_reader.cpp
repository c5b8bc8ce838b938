#include "sim/base/object_reader.hpp"

#include <algorithm>
#include <set>

#include "sim/base/foreign_json.hpp"
#include "sim/base/near_names.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/quick_json.hpp"

namespace linkcast {
namespace {

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
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    const bool starts = event == Event::object_start || event == Event::array_start;
    if ((starts || event == Event::value) && !open_.empty()) ++open_.back().elements;
    refuse_deep_json(depth, event, name_);
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
    for (const Open& open : open_) path += "/" + (open.array ? std::to_string(open.elements - 1) : escaped(open.key));
    return path;
  }

  std::string name_;
  std::vector<Open> open_;
};

}  // namespace

Json parse_json(const std::string& text, const std::string& name) {
  if (Json quick; read_quickly(text, quick)) return quick;
  try {
    return Json::parse(text, DuplicateKeys(name));
  } catch (const Json::parse_error& error) {
    std::string what = error.what();
    if (const auto at = what.find("parse error"); at != std::string::npos) what = what.substr(at);
    throw InputError(name + ": not JSON: " + what);
  } catch (const Json::out_of_range& error) {
    throw InputError(name + ": not JSON: " + error.what());  // a number beyond double
  }
}

Json read_json_file(const std::string& path) { return parse_json(file_text(path), path); }

ObjectReader::ObjectReader(const Json& value, std::string file, std::string pointer)
    : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!value.is_object()) throw InputError(file_, pointer_, std::string("must be an object, not ") + value.type_name());
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
  fail(key, "missing key");
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
    readers.emplace_back(list[i], file_, pointer(key) + "/" + std::to_string(i));
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
    std::set<std::string> names(asked_.begin(), asked_.end());
    names.insert(looked_for_.begin(), looked_for_.end());
    names.erase(key);  // looked for, but it does not belong here together with what was read
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    fail(key, "unknown key; known here: " + known);
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
}  // namespace linkcast
