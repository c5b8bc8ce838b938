#include "sim/records/quick_json.hpp"

#include <simdjson.h>

#include <utility>

namespace linkcast {
namespace {

using simdjson::dom::element;

constexpr int kDeepest = 20;  // source: ours, records nest 6 deep

bool convert(const element& from, int depth, Json& to);

bool convert_object(const element& from, int depth, Json& to) {
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

}  // namespace

bool read_quickly(const std::string& text, Json& json) {
  thread_local simdjson::dom::parser parser;
  element root;
  return parser.parse(text).get(root) == simdjson::SUCCESS && convert(root, 0, json);
}

}  // namespace linkcast
