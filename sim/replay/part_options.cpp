#include "sim/replay/part_options.hpp"

namespace linkcast::replay {

std::map<std::string, std::string> read_part_options(ObjectReader& r) {
  std::map<std::string, std::string> options;
  if (!r.has("options")) return options;
  const Json& values = r.raw("options");
  if (!values.is_object()) r.fail("options", "must be an object of values by key");
  for (const auto& item : values.items()) {
    const Json& value = item.value();
    if (!value.is_string() && !value.is_number()) r.fail("options", "'" + item.key() + "' must be a text or a number");
    options[item.key()] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return options;
}

}  // namespace linkcast::replay
