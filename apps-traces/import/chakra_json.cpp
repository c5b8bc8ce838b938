#include "apps-traces/import/chakra_json.hpp"

#include <cctype>
#include <memory>
#include <utility>
#include <vector>

#include "apps-traces/import/lines.hpp"
#include "sim/base/foreign_json.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {
namespace {

/// Keys stand as in the schema (data_deps) or as protobuf writes them (dataDeps).
const Json* find_key(const Json& object, const std::string& key) {
  std::string camel;
  for (std::size_t i = 0; i < key.size(); ++i)
    camel += key[i] == '_' && i + 1 < key.size() ? static_cast<char>(std::toupper(key[++i])) : key[i];
  for (const std::string& name : {key, camel})
    if (const auto found = object.find(name); found != object.end()) return &*found;
  return nullptr;
}

class ChakraObject {
 public:
  ChakraObject(const Json& object, std::string path, std::string pointer)
      : object_(object), path_(std::move(path)), pointer_(std::move(pointer)) {
    if (!object_.is_object()) throw InputError(path_, pointer_, "must be an object");
  }
  [[nodiscard]] bool has(const std::string& key) const { return find_key(object_, key) != nullptr; }
  [[nodiscard]] std::string text(const std::string& key) const {
    const Json* value = find_key(object_, key);
    if (value == nullptr) return "";
    if (!value->is_string()) fail(key, "must be a string");
    return value->get<std::string>();
  }
  /// 64-bit values may be strings. @returns 0 where it is not there, as in protobuf
  [[nodiscard]] std::int64_t whole(const std::string& key) const {
    const Json* value = find_key(object_, key);
    return value == nullptr ? 0 : whole_of(*value, key);
  }
  [[nodiscard]] std::vector<std::int64_t> wholes(const std::string& key) const {
    std::vector<std::int64_t> all;
    for (const Json& value : list(key)) all.push_back(whole_of(value, key));
    return all;
  }
  [[nodiscard]] const Json& list(const std::string& key) const {
    static const Json kNone = Json::array();
    const Json* value = find_key(object_, key);
    if (value == nullptr) return kNone;
    if (!value->is_array()) fail(key, "must be an array");
    return *value;
  }
  [[nodiscard]] const Json& raw() const { return object_; }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw InputError(path_, pointer_ + "/" + key, what);
  }

 private:
  [[nodiscard]] std::int64_t whole_of(const Json& value, const std::string& key) const {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_string())
      if (const auto number = trace_whole(value.get<std::string>())) return *number;
    fail(key, "must be a whole number");
  }
  const Json& object_;
  std::string path_, pointer_;
};

chakra_et::NodeType type_of(const ChakraObject& object) {
  const Json* value = find_key(object.raw(), "type");
  chakra_et::NodeType type = chakra_et::INVALID_NODE;
  if (value == nullptr) return type;
  if (value->is_string()) {
    if (!chakra_et::NodeType_Parse(value->get<std::string>(), &type))
      object.fail("type", shown(value->get<std::string>()) + " is no type of node");
    return type;
  }
  const std::int64_t number = object.whole("type");
  if (number < 0 || !chakra_et::NodeType_IsValid(static_cast<int>(number)))
    object.fail("type", "type " + std::to_string(number) + " is not known");
  return static_cast<chakra_et::NodeType>(number);
}

/// Whole numbers and texts; other attributes are not needed.
void fill_attribute(const ChakraObject& object, chakra_et::Attribute& attribute) {
  attribute.set_name(object.text("name"));
  for (const char* kind : {"int64_val", "uint64_val", "int32_val", "uint32_val", "sint32_val", "sint64_val",
                           "fixed32_val", "fixed64_val", "sfixed32_val", "sfixed64_val", "bool_val"})
    if (object.has(kind)) attribute.set_int64_val(object.whole(kind));
  if (object.has("string_val")) attribute.set_string_val(object.text("string_val"));
}

}  // namespace

bool is_chakra_json(const std::string& path) {
  const std::unique_ptr<std::istream> stream = open_packed(path);
  // A message can begin with these bytes, too: its length, then its first field. It is followed by no quote.
  std::string begin(64, '\0');
  stream->read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream->gcount()));
  std::string dense;
  for (const char c : begin)
    if (!std::isspace(static_cast<unsigned char>(c))) dense += c;
  return dense.rfind("{\"", 0) == 0 || dense.rfind("[{", 0) == 0 || dense == "[]";
}

ChakraJson::ChakraJson(std::istream& stream, std::string path) : stream_(stream), path_(std::move(path)) {
  stream_ >> std::ws;
  array_ = stream_.peek() == '[';
  if (!array_) return;
  all_ = parse_foreign_json(stream_, path_);
  if (all_.is_discarded()) throw InputError(path_ + ": is not whole JSON");
}

bool ChakraJson::next(Json& object) {
  if (array_) {
    if (index_ >= all_.size()) return false;
    object = std::move(all_[index_++]);
    return true;
  }
  stream_ >> std::ws;
  if (stream_.peek() == ',') stream_.get();
  stream_ >> std::ws;
  if (stream_.eof()) return false;
  try {
    stream_ >> object;
  } catch (const Json::exception&) {
    throw InputError(path_ + ": object " + std::to_string(index_ + 1) + " is not whole JSON");
  }
  ++index_;
  return true;
}

bool ChakraJson::take(chakra_et::Node& node) {
  Json json;
  if (!next(json)) return false;
  const ChakraObject object(json, path_, "/" + std::to_string(index_ - 1));
  if (index_ == 1 && object.has("version") && !object.has("id")) return take(node);
  if (!object.has("id") && !object.has("name")) object.fail("id", "missing key: is it a node of Chakra's schema?");
  node.Clear();
  node.set_id(static_cast<std::uint64_t>(object.whole("id")));
  node.set_name(object.text("name"));
  node.set_type(type_of(object));
  for (const std::int64_t id : object.wholes("ctrl_deps")) node.add_ctrl_deps(static_cast<std::uint64_t>(id));
  for (const std::int64_t id : object.wholes("data_deps")) node.add_data_deps(static_cast<std::uint64_t>(id));
  const std::int64_t duration = object.whole("duration_micros");
  if (duration < 0) object.fail("duration_micros", "must not be negative");
  node.set_duration_micros(static_cast<std::uint64_t>(duration));
  const Json& attributes = object.list("attr");
  for (std::size_t i = 0; i < attributes.size(); ++i)
    fill_attribute({attributes[i], path_, "/" + std::to_string(index_ - 1) + "/attr/" + std::to_string(i)},
                   *node.add_attr());
  return true;
}

}  // namespace linkcast
