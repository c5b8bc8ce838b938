#include "sim/query/provenance.hpp"

#include <iterator>
#include <utility>

namespace linkcast::query {
namespace {

constexpr std::size_t kInputs = 5;  // source: the keys below

/// @param add  takes key and value of each of the inputs, in their order
template <class Add>
void each_input(const catalogue::Machine& machine, const Json& query, const std::string& solver, const Add& add) {
  const Platform& platform = machine.platform();
  add("query", query);
  if (!solver.empty()) add("solver", solver);
  add("topology_sha256", platform.wiring().sha256);
  add("calibration_sha256", platform.calibration().sha256);
  if (!machine.edits().empty()) add("edits", Json(machine.edits()));
}

/// Names of solvers and hashes stand in JSON as they are.
void append(const std::string& plain, std::string& out) { out.append(1, '"').append(plain).append(1, '"'); }
void append(const Json& json, std::string& out) { out += write_quickly(json); }

const Json& versions() {
  static const Json all = {{"linkcast", build_version()}, {"git", build_commit()}};
  return all;
}

}  // namespace

void put_notes(const catalogue::Machine& machine, Json& out) {
  Json::array_t warnings;
  for (const std::string& note : machine.platform().calibration().notes) warnings.emplace_back(note);
  for (const std::string& note : machine.edit_notes()) warnings.emplace_back(note);
  if (warnings.empty()) return;
  if (const auto own = out.find("warnings"); own != out.end())
    warnings.insert(warnings.end(), std::make_move_iterator(own->begin()), std::make_move_iterator(own->end()));
  out["warnings"] = std::move(warnings);
}

void put_provenance(const catalogue::Machine& machine, const Json& query, const std::string& solver, Json& out) {
  Json& inputs = out["inputs"] = Json::object();
  inputs.get_ref<Json::object_t&>().reserve(kInputs);
  each_input(machine, query, solver, [&](const char* key, const auto& value) { inputs[key] = value; });
  put_notes(machine, out);
  out["versions"] = versions();
}

std::string written_with_provenance(const catalogue::Machine& machine, const Json& query, const std::string& solver,
                                    Json& out) {
  if (!out.contains("warnings")) {  // where notes would stand behind the inputs
    put_provenance(machine, query, solver, out);
    return write_quickly(out);
  }
  put_notes(machine, out);
  std::string text = write_quickly(out);
  text.pop_back();  // the brace
  text += ",\"inputs\":";
  char before = '{';
  each_input(machine, query, solver, [&](const char* key, const auto& value) {
    text.append(1, std::exchange(before, ',')).append(1, '"').append(key).append("\":");
    append(value, text);
  });
  static const std::string end = "},\"versions\":" + write_quickly(versions()) + "}";
  return text += end;
}

}  // namespace linkcast::query
