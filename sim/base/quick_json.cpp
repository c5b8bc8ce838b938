#include "sim/base/quick_json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

void put(const std::string& text, std::string& out) {
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
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
  constexpr std::size_t kUsual = 1024;  // of an answer
  std::string out;
  out.reserve(kUsual);
  put(json, out);
  return out;
}

}  // namespace linkcast
