#include "sim/base/json_watch.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast {
namespace {

using Event = Json::parse_event_t;

// Deeper values exhaust the stack where they are copied or written out. source: ours, records nest 6 deep
constexpr std::size_t kDeepestJson = 100;

/// Builds a value from what nlohmann's parser meets, and shows each part. source: json.nlohmann.me, SAX interface
class Builder {
 public:
  Builder(const std::string& name, const JsonWatch& watch) : name_(name), watch_(watch) {}

  bool null() { return value(nullptr); }
  bool boolean(bool is) { return value(is); }
  bool number_integer(std::int64_t number) { return value(number); }
  bool number_unsigned(std::uint64_t number) { return value(number); }
  bool number_float(double number, const std::string& /*digits*/) { return value(number); }
  bool string(std::string& text) { return value(std::move(text)); }
  bool binary(Json::binary_t& /*bytes*/) { return false; }  // JSON has none
  bool key(std::string& name) {
    if (watch_) {
      Json shown(name);
      see(Event::key, shown);
    }
    member_ = &(*open_.back())[name];
    return true;
  }
  bool start_object(std::size_t /*unknown*/) { return begin(Event::object_start, Json::object()); }
  bool start_array(std::size_t /*unknown*/) { return begin(Event::array_start, Json::array()); }
  bool end_object() { return end(Event::object_end); }
  bool end_array() { return end(Event::array_end); }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/, const Json::exception& error) { throw error; }

  Json take() { return std::move(root_); }

 private:
  bool see(Event event, Json& part) { return !watch_ || watch_(static_cast<int>(open_.size()), event, part); }

  Json& add(Json part) {
    work::look();
    if (open_.empty()) return root_ = std::move(part);
    if (open_.back()->is_array()) return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(part));
    return *member_ = std::move(part);
  }

  template <class Value>
  bool value(Value&& what) {
    see(Event::value, add(Json(std::forward<Value>(what))));
    return true;
  }

  bool begin(Event event, Json empty) {
    if (open_.size() >= kDeepestJson)
      throw InputError(fmt::format("{}: nested deeper than {} levels", name_, kDeepestJson));
    Json& part = add(std::move(empty));
    see(event, part);
    open_.push_back(&part);
    return true;
  }

  bool end(Event event) {
    Json& part = *open_.back();
    open_.pop_back();
    const bool kept = see(event, part);
    if (!kept && !open_.empty() && open_.back()->is_array()) open_.back()->get_ref<Json::array_t&>().pop_back();
    return true;
  }

  const std::string& name_;
  const JsonWatch& watch_;
  Json root_;
  std::vector<Json*> open_;  ///< objects and arrays that have begun and not ended; the innermost grows
  Json* member_ = nullptr;   ///< of the innermost object, with the key read last
};

template <class Input>
Json parsed(Input& input, const std::string& name, const JsonWatch& watch) {
  Builder builder(name, watch);
  Json::sax_parse(input, &builder);
  return builder.take();
}

}  // namespace

Json parse_watched(std::istream& stream, const std::string& name, const JsonWatch& watch) {
  return parsed(stream, name, watch);
}
Json parse_watched(const std::string& text, const std::string& name, const JsonWatch& watch) {
  return parsed(text, name, watch);
}

}  // namespace linkcast
