#include "sim/query/schema.hpp"

#include "sim/query/query_kind.hpp"

namespace linkcast::query {
namespace {

constexpr const char* kDraft = "https://json-schema.org/draft/2020-12/schema";

Json schema_of(const Key& key);

Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

/// The key or the one that it is not required beside; or none of what it needs.
Json one_of_two(const Key& key) {
  Json either = Json::array({{{"required", {key.name}}}, {{"required", {key.unless}}}});
  for (const std::string& other : key.needs) either.push_back({{"not", {{"required", Json::array({other})}}}});
  return {{"anyOf", either}};
}

/// Of an object with these keys and no others.
Json object_of(const KeyTable& table) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  Json required = Json::array(), rules = Json::array();
  for (const Key& key : table) {
    schema["properties"][key.name] = schema_of(key);
    if (key.required) required.push_back(key.name);
    if (!key.unless.empty()) rules.push_back(one_of_two(key));
    for (const std::string& other : key.excludes)
      rules.push_back({{"not", {{"required", Json::array({key.name, other})}}}});
    if (!key.needs.empty()) schema["dependentRequired"][key.name] = key.needs;
  }
  if (!required.empty()) schema["required"] = required;
  if (!rules.empty()) schema["allOf"] = rules;
  return schema;
}

Json type_of(const Key& key) {
  switch (key.type) {
    case ValueType::kText:
      return {{"type", "string"}};
    case ValueType::kFlag:
      return {{"type", "boolean"}};
    case ValueType::kWhole:
      return {{"type", "integer"}};
    case ValueType::kNumber:
      return {{"type", "number"}};
    case ValueType::kSize:
      return {{"type", {"integer", "string"}},  // "64MiB"
              {"minimum", 1},
              {"maximum", static_cast<std::int64_t>(kLargest_B)}};
    case ValueType::kTexts:
      return list_of({{"type", "string"}});
    case ValueType::kWholes:
      if (key.gpus == GpuNames::kNone) return list_of({{"type", "integer"}});
      return {{"type", {"string", "array"}}, {"items", {{"type", {"integer", "string"}}}}};
    case ValueType::kNumbers:
      return list_of({{"type", "number"}});
    case ValueType::kOrders:
      return list_of(list_of({{"type", "integer"}}));
    case ValueType::kObject:
      return key.fields.empty() ? Json{{"type", "object"}} : object_of(key.fields);
    case ValueType::kObjects:
      return list_of(object_of(key.fields));
    case ValueType::kAny:
      break;
  }
  return Json::object();
}

Json schema_of(const Key& key) {
  Json schema = key.schema.empty() ? type_of(key) : parse_json(key.schema, "schema of " + key.name);
  if (key.null) schema["type"] = {schema["type"], "null"};
  const std::vector<std::string> names = key.registered ? key.registered() : key.choices;
  if (!names.empty() && key.schema.empty()) schema["enum"] = names;
  if (!names.empty() && !key.schema.empty())
    schema = Json{{"anyOf", Json::array({Json{{"type", "string"}, {"enum", names}}, schema})}};
  if (key.least) schema["minimum"] = *key.least;
  if (key.most) schema["maximum"] = *key.most;
  if (!key.help.empty()) schema["description"] = key.help;
  if (!key.unset.empty()) schema["x-unset"] = key.unset;  // a default in words, which "default" must not be
  if (!unit_of(key).empty()) schema["x-unit"] = unit_of(key);
  if (!key.listed.empty()) schema["x-list"] = key.listed;
  if (!key.cli.name.empty()) schema["x-option"] = key.cli.name;
  if (!key.example.empty()) schema["examples"] = Json::array({parse_json(key.example, "example of " + key.name)});
  return schema;
}

/// The common keys that the kind has no row of its own for, then its own.
Json of_kind(const std::string& kind, const KeyTable& common, const KeyTable& own) {
  KeyTable table;
  for (const Key& key : common)
    if (find_key(own, key.name) == nullptr) table.push_back(key);
  table.insert(table.end(), own.begin(), own.end());
  Json schema = object_of(table);
  schema["properties"]["kind"]["const"] = kind;
  return schema;
}

Json query_of(const std::string& kind) {
  const QueryKind& asked = query_kinds().get(kind);
  Json schema = of_kind(kind, common_keys(), asked.keys());
  for (const std::string& text : asked.examples()) {
    Json example{{"kind", kind}};
    example.update(parse_json(text, "example of " + kind));
    schema["examples"].push_back(example);
  }
  return schema;
}
Json result_of(const std::string& kind) { return of_kind(kind, common_results(), query_kinds().get(kind).results()); }

Json error_schema() {
  return {{"type", "object"},
          {"properties", {{"id", Json::object()}, {"error", {{"type", "string"}}}}},
          {"required", {"error"}},
          {"additionalProperties", false}};
}

}  // namespace

Json kind_schema(const std::string& kind) {
  return {{"$schema", kDraft},
          {"title", "linkcast " + kind},
          {"$ref", "#/$defs/query"},
          {"$defs", {{"query", query_of(kind)}, {"result", result_of(kind)}}}};
}

Json all_schemas() {
  Json definitions{{"query", {{"oneOf", Json::array()}}}, {"result", {{"oneOf", Json::array()}}}};
  const auto put = [&](const char* which, const std::string& name, Json schema) {
    definitions[which]["oneOf"].push_back({{"$ref", "#/$defs/" + name}});
    definitions[name] = std::move(schema);
  };
  for (const PluginInfo& info : query_kinds().list()) {
    put("query", info.name + "_query", query_of(info.name));
    put("result", info.name + "_result", result_of(info.name));
  }
  put("result", "error", error_schema());
  return {{"$schema", kDraft}, {"title", "linkcast"}, {"$ref", "#/$defs/query"}, {"$defs", definitions}};
}

}  // namespace linkcast::query
