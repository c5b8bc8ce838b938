#include "sim/base/foreign_json.hpp"

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

template <class Input>
Json parse(Input& input, const std::string& name) {
  return Json::parse(
      input,
      [&](int depth, Json::parse_event_t event, Json&) {
        refuse_deep_json(depth, event, name);
        return true;
      },
      false);
}

}  // namespace

void refuse_deep_json(int depth, Json::parse_event_t event, const std::string& name) {
  const bool starts = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
  if (starts && depth >= kDeepestJson)
    throw InputError(name + ": nested deeper than " + std::to_string(kDeepestJson) + " levels");
}

Json parse_foreign_json(std::istream& stream, const std::string& name) { return parse(stream, name); }
Json parse_foreign_json(const std::string& text, const std::string& name) { return parse(text, name); }

}  // namespace linkcast
