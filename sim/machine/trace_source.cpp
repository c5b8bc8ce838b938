#include "sim/machine/trace_source.hpp"

#include <algorithm>

#include "sim/base/foreign_json.hpp"
#include "sim/base/parse.hpp"

namespace linkcast {
namespace {

const std::string* find(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto value = values.find(key);
  return value == values.end() ? nullptr : &value->second;
}

[[noreturn]] void refuse(const std::string& key, const std::string& text, const std::string& allowed) {
  throw InputError("option " + key + ": '" + text + "' is not " + allowed);
}

/// Runs a reader of sim/base/parse.hpp, whose errors do not know the option.
template <class Read>
auto read_value(const std::string& key, const Read& read) {
  try {
    return read();
  } catch (const UnitError& error) {
    throw InputError("option " + key + ": " + error.what());
  }
}

}  // namespace

std::string TraceOptions::text(const std::string& key, const std::string& otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : *value;
}

bool TraceOptions::picks(const std::string& key, const std::string& usual, const std::string& other) const {
  const std::string said = text(key, usual);
  if (said != usual && said != other)
    throw InputError("option " + key + ": '" + said + "' is neither " + usual + " nor " + other);
  return said == other;
}

double TraceOptions::number(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  if (value == nullptr) return otherwise;
  const Json json = parse_foreign_json(*value, "option " + key);
  if (!json.is_number()) refuse(key, *value, "a number");
  return json.get<double>();
}

int TraceOptions::whole(const std::string& key, int otherwise, int least) const {
  const std::string* value = find(values_, key);
  if (value == nullptr) return otherwise;
  const Json json = parse_foreign_json(*value, "option " + key);
  if (!json.is_number_integer() || json.get<std::int64_t>() < least || json.get<std::int64_t>() > 1000000000)
    refuse(key, *value, "a whole number of at least " + std::to_string(least));
  return json.get<int>();
}

double TraceOptions::seconds(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : read_value(key, [&] { return parse_seconds(*value).si; });
}

double TraceOptions::bytes(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : read_value(key, [&] { return parse_bytes(*value).si; });
}

void TraceOptions::refuse_others(const std::string& source, const std::vector<TraceOption>& known) const {
  for (const auto& [key, value] : values_) {
    const auto same = [&key = key](const TraceOption& option) { return option.key == key; };
    if (std::any_of(known.begin(), known.end(), same)) continue;
    std::string keys;
    for (const TraceOption& option : known) keys += (keys.empty() ? "" : ", ") + option.key;
    throw InputError("option " + key + ": " + source + " takes " + (keys.empty() ? "none" : keys));
  }
}

}  // namespace linkcast
