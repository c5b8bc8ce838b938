#include "cli/serve/openapi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/text.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/schema.hpp"

namespace linkcast::serve {
namespace {

constexpr std::string_view kDefinitions = "#/$defs/";
constexpr std::string_view kComponents = "#/components/schemas/";

/// References into $defs become references into the components.
void move_references(Json& schema) {
  if (schema.is_array())
    for (Json& one : schema) move_references(one);
  if (!schema.is_object()) return;
  for (auto& [key, value] : schema.items())
    if (key == "$ref" && value.is_string() && value.get<std::string>().starts_with(kDefinitions))
      value = std::string(kComponents) + value.get<std::string>().substr(kDefinitions.size());
    else
      move_references(value);
}

Json object_schema(const char* description, Json properties) {
  Json schema{{"type", "object"}, {"description", description}};
  if (!properties.empty()) schema["properties"] = std::move(properties);
  return schema;
}

/// Schemas of all that is no query and no answer of one.
Json own_schemas() {
  const Json text{{"type", "string"}}, number{{"type", "integer"}};
  const Json busy{{"type", {"array", "string"}}, {"items", {{"type", {"integer", "string"}}}}};
  Json with = object_schema("a job of others", {{"job", text}, {"gpus", busy}});
  Json state = object_schema("what a node runs",
                             {{"platform", text}, {"busy", busy}, {"with", {{"type", "array"}, {"items", with}}}});
  Json log = object_schema("what a benchmark printed, and the machine that it should be like",
                           {{"platform", text},
                            {"log", text},
                            {"edits", {{"type", "array"}, {"items", text}}},
                            {"force", {{"type", "boolean"}}}});
  Json node = object_schema(
      "a node that the job may get",
      {{"name", text}, {"platform", text}, {"gpus_busy", busy}, {"with", {{"type", "array"}, {"items", with}}}});
  node["type"] = {"string", "object"};
  node["required"] = {"name", "platform"};
  node["additionalProperties"] = false;
  Json job = object_schema(
      "a job as Slurm's plug-in sends it, with its GPUs or tasks: docs/schedulers.md",
      {{"job_id", Json::object()}, {"comment", text}, {"nodes", {{"type", {"array", "string"}}, {"items", node}}}});
  for (const char* key : {"num_tasks", "ntasks"}) job["properties"][key] = number;
  for (const char* key : {"tres_per_node", "gres"}) job["properties"][key] = text;
  job["required"] = {"comment"};
  for (const char* key : {"num_tasks", "ntasks", "tres_per_node", "gres"})
    job["anyOf"].push_back({{"required", {key}}});
  job["additionalProperties"] = false;
  log["required"] = {"platform", "log"};
  log["additionalProperties"] = false;
  state["required"] = {"platform"};
  state["additionalProperties"] = false;
  return {
      {"status", object_schema("how the service is", {{"status", text}})},
      {"node_state", state},
      {"node_states",
       {{"type", "object"}, {"additionalProperties", {{"$ref", std::string(kComponents) + "node_state"}}}}},
      {"forgotten", object_schema("nothing", Json::object())},
      {"diagnose_body", log},
      {"diagnosis",
       object_schema("as `linkcast diagnose --json`, and as text", {{"text", text}, {"files", {{"type", "array"}}}})},
      {"platforms",
       {{"type", "array"}, {"items", object_schema("a platform that is served", {{"id", text}, {"gpus", number}})}}},
      {"schema", {{"type", "object"}, {"description", "JSON Schema, draft 2020-12, or this description"}}},
      {"extender_args", object_schema("ExtenderArgs of Kubernetes' scheduler extender, version 1", Json::object())},
      {"extender_filter_result", object_schema("ExtenderFilterResult of the same", Json::object())},
      {"host_priorities",
       {{"type", "array"}, {"items", object_schema("HostPriority", {{"Host", text}, {"Score", number}})}}},
      {"slurm_job", job},
      {"slurm_place", object_schema("the best node and the times on the others", Json::object())},
      {"slurm_nodes",
       {{"type", "array"},
        {"items", object_schema("a node", {{"node", text}, {"platform", text}, {"busy", busy}, {"refused", text}})}}},
  };
}

/// Queries, answers, and what is the service's own; of /v1/place the kind may be left out.
Json components() {
  Json schemas = served_schemas()["$defs"];
  Json place = schemas["place_query"];
  Json required = Json::array();
  for (const Json& key : place.value("required", Json::array()))
    if (key != "kind") required.push_back(key);
  place["required"] = required;
  schemas["place_body"] = std::move(place);
  move_references(schemas);
  schemas.update(own_schemas());
  return {{"schemas", std::move(schemas)}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}};
}

Json reference(const std::string& schema) { return {{"$ref", std::string(kComponents) + schema}}; }

/// "get_v1_nodes_name"
std::string operation_id(const ApiPath& path) {
  std::string id = path.method + path.path;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_'; });
  while (id.ends_with('_')) id.pop_back();
  return id;
}

Json answer(const std::string& description, const std::string& type, Json schema) {
  return {{"description", description}, {"content", {{type, {{"schema", std::move(schema)}}}}}};
}

Json operation(const ApiPath& path) {
  Json out{{"operationId", operation_id(path)}, {"summary", path.summary}};
  const Json schema = path.gives.empty() ? Json{{"type", "string"}} : reference(path.gives);
  out["responses"]["200"] = answer("the answer", path.type, schema);
  out["responses"]["default"] = answer("one line says what is wrong", "application/json", reference("error"));
  if (!path.takes.empty())
    out["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", reference(path.takes)}}}}}};
  if (!path.open) out["security"] = Json::array({Json{{"token", Json::array()}}, Json::object()});
  for (std::size_t at = path.path.find('{'); at != std::string::npos; at = path.path.find('{', at + 1))
    out["parameters"].push_back({{"name", path.path.substr(at + 1, path.path.find('}', at) - at - 1)},
                                 {"in", "path"},
                                 {"required", true},
                                 {"schema", {{"type", "string"}}}});
  return out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

/// "place_body" of a schema that refers to it; empty: it refers to none.
std::string referred(const Json& schema) {
  const auto text = schema.value("$ref", std::string());
  return text.starts_with(kComponents) ? text.substr(kComponents.size()) : "";
}

std::string link_to(const Json& schema) {
  const std::string name = referred(schema);
  return name.empty() ? "text" : fmt::format(R"(<a href="#{0}"><code>{0}</code></a>)", escaped(name));
}

std::string type_text(const Json& schema) {
  if (const std::string name = referred(schema); !name.empty()) return link_to(schema);
  if (schema.contains("const")) return "<code>" + escaped(schema["const"].dump()) + "</code>";
  if (!schema.contains("type")) return "";
  const Json& type = schema["type"];
  if (type.is_string()) return type.get<std::string>();
  std::string text;
  for (const Json& one : type)
    if (one.is_string()) text += (text.empty() ? "" : " or ") + one.get<std::string>();
  return text;
}

bool is_required(const Json& schema, const std::string& key) {
  const Json required = schema.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

std::string schema_section(const std::string& name, const Json& schema) {
  std::string out = fmt::format("<section id=\"{0}\"><h3>{0}</h3>\n", escaped(name));
  if (schema.contains("description")) out += "<p>" + escaped(schema["description"].get<std::string>()) + "</p>\n";
  if (schema.contains("oneOf")) {
    out += "<p>One of";
    for (const Json& one : schema["oneOf"]) out += " " + link_to(one);
    out += "</p>\n";
  }
  if (schema.contains("properties")) {
    out += "<table><tr><th>key</th><th>type</th><th>meaning</th></tr>\n";
    for (const auto& [key, value] : schema["properties"].items()) {
      std::string meaning = escaped(value.value("description", std::string()));
      if (value.contains("x-unset")) meaning += " (unset: " + escaped(value["x-unset"].get<std::string>()) + ")";
      out += fmt::format("<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(key),
                         is_required(schema, key) ? " *" : "", type_text(value), meaning);
    }
    out += "</table>\n";
  }
  for (const Json& example : schema.value("examples", Json::array()))
    out += "<pre>" + escaped(example.dump()) + "</pre>\n";
  return out + "</section>\n";
}

std::string operation_section(const std::string& path, const std::string& method, const Json& one) {
  std::string upper = method;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string out = fmt::format("<section id=\"{}\"><h3><code>{} {}</code></h3>\n<p>{}</p>\n",
                                escaped(one["operationId"].get<std::string>()), upper, escaped(path),
                                escaped(one["summary"].get<std::string>()));
  if (one.contains("requestBody"))
    out += "<p>Body: " + link_to(one["requestBody"]["content"]["application/json"]["schema"]) + "</p>\n";
  for (const auto& [type, content] : one["responses"]["200"]["content"].items())
    out += fmt::format("<p>Answer: {} ({}){}</p>\n", link_to(content["schema"]), escaped(type),
                       one.contains("security") ? "" : "; needs no token");
  return out + "</section>\n";
}

}  // namespace

Json served_schemas() {
  Json schemas = query::all_schemas();
  for (auto& [name, schema] : schemas["$defs"].items())
    if (schema.contains("properties") && schema["properties"].contains(kSolver))
      schema["properties"][kSolver].update({{"enum", {kServedSolver}}, {"description", "only this one is served"}});
  return schemas;
}

Json openapi(const std::vector<ApiPath>& paths) {
  Json api{{"openapi", "3.1.0"},
           {"info",
            {{"title", "linkcast"},
             {"version", query::build_version()},
             {"summary", "Forecasts of copies, collectives and placements on GPU interconnects"}}},
           {"paths", Json::object()},
           {"components", components()}};
  for (const ApiPath& path : paths) {
    std::string method = path.method;
    std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
    api["paths"][path.path][method] = operation(path);
  }
  return api;
}

std::string api_page(const Json& api) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>linkcast {0}: HTTP</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"stylesheet\" href=\"page.css\">\n"
      "</head><body>\n<h1>linkcast {0}: HTTP</h1>\n"
      "<p>{1}. Written from <a href=\"openapi.json\">openapi.json</a> (OpenAPI 3.1). Errors are "
      "<a href=\"#error\"><code>error</code></a>; * marks keys that must be there.</p>\n<h2>Paths</h2>\n",
      escaped(api["info"]["version"].get<std::string>()), escaped(api["info"]["summary"].get<std::string>()));
  for (const auto& [path, methods] : api["paths"].items())
    for (const auto& [method, one] : methods.items()) page += operation_section(path, method, one);
  page += "<h2>Schemas</h2>\n";
  for (const auto& [name, schema] : api["components"]["schemas"].items()) page += schema_section(name, schema);
  return page + "</body></html>\n";
}

}  // namespace linkcast::serve
