#include "sim/machine/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/file_hash.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/edited.hpp"
#include "sim/machine/edited_network.hpp"

namespace linkcast {
namespace {

Edit edit_at(const Variant& variant, std::size_t i) {
  try {
    return parse_edit(variant.changes[i].edit);
  } catch (const InputError& error) {
    throw InputError(variant.path, fmt::format("/changes/{}/edit", i), error.what());
  }
}

/// Only cables: a variant is a wiring. Rates and fabrics belong into a topology and its calibration.
void check_verb(const Variant& variant, const Edit& edit, std::size_t i) {
  if (edit.verb != EditVerb::kRemove && edit.verb != EditVerb::kAdd)
    throw InputError(variant.path, fmt::format("/changes/{}/edit", i),
                     "'" + edit.text + "': a variant removes and adds cables, nothing else");
}

/// The cable that a change was about, nullptr if nothing is left of it.
Cable* changed(Topology& topology, const Edit& edit) {
  for (Cable& cable : topology.cables) {
    const std::string &a = topology.devices[static_cast<std::size_t>(cable.a)].id,
                      &b = topology.devices[static_cast<std::size_t>(cable.b)].id;
    const bool ends = edit.subject == a + "-" + b || edit.subject == b + "-" + a;
    if (ends && (edit.kind.empty() || edit.kind == cable.kind)) return &cable;
  }
  return nullptr;
}

/// "gpu*" fits all that begin so, another text itself alone.
bool fits(const std::string& pattern, const std::string& id) {
  return pattern.ends_with('*') ? id.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == id;
}

/// Replacements of one key, whose values the reader of topologies judges. @param pattern  key that says whose they are
Json replacements(ObjectReader& r, const std::string& key, const std::string& pattern,
                  const std::vector<std::string>& values) {
  Json found = Json::array();
  if (!r.has(key)) return found;
  for (ObjectReader& one : r.objects(key)) {
    Json row{{pattern, one.raw(pattern)}};
    for (const std::string& value : values)
      if (one.has(value)) row[value] = one.raw(value);
    if (row.size() == (row.contains("source") ? 2 : 1))
      one.fail(pattern, "nothing of it is another one: say one of " + joined(values));
    one.finish();
    found.push_back(std::move(row));
  }
  return found;
}

void read_own(ObjectReader& r, Variant& v) {
  if (v.inherits.empty()) r.fail("inherits", "at least one: a machine whose parameters this one takes");
  v.also = r.optional<std::vector<std::string>>("also").value_or(std::vector<std::string>{});
  v.devices = replacements(r, "devices", "id", {"model", "sm", "vendor"});
  for (std::size_t i = 0; i < v.devices.size(); ++i)
    if (!v.devices[i]["id"].is_string())
      throw InputError(v.path, fmt::format("/devices/{}/id", i), "must be a string: gpu0, or gpu* for all");
  v.cables = replacements(r, "cables", "between", {"kind", "count", "bandwidth", "source"});
  for (std::size_t i = 0; i < v.cables.size(); ++i) {
    const Json& ends = v.cables[i]["between"];
    if (!ends.is_array() || ends.size() != 2 || !ends[0].is_string() || !ends[1].is_string())
      throw InputError(v.path, fmt::format("/cables/{}/between", i), "must name two devices: gpu0, or gpu* for all");
    if (!v.cables[i].contains("source"))
      throw InputError(v.path, fmt::format("/cables/{}/source", i), "is missing: where is that known from?");
  }
  for (const char* key : {"pcie_peer", "gpudirect_rdma"})
    if (r.has(key)) v.whole[key] = r.raw(key);
  v.network = r.optional<std::string>("network").value_or("");
}

/// Puts the values of a replacement, less its pattern, into what it fits.
void replace(const Json& row, const std::string& pattern, Json& value) {
  for (const auto& [key, other] : row.items())
    if (key != pattern) value[key] = other;
}

Edit network_edit(const Variant& variant) {
  try {
    return parse_edit("network " + variant.network);
  } catch (const InputError& error) {
    throw InputError(variant.path, "/network", error.what());
  }
}

}  // namespace

Variant read_variant(const std::string& path) { return read_variant(read_json_file(path), path); }

Variant read_variant(const Json& json, const std::string& path) {
  ObjectReader r(json, path);
  r.schema("variant/1");
  Variant v;
  v.path = path;
  v.sha256 = sha256_of_file(path);
  v.name = r.required<std::string>("name");
  v.title = r.required<std::string>("title");
  v.source = r.required<std::string>("source");
  v.base = r.required<std::string>("base");
  if (r.has("inherits")) {
    v.inherits = r.required<std::vector<std::string>>("inherits");
    read_own(r, v);
    r.finish();
    return v;
  }
  for (ObjectReader& change : r.objects("changes")) {
    v.changes.push_back({change.required<std::string>("edit"), change.required<std::string>("source")});
    if (v.changes.back().source.empty()) change.fail("source", "a change without a source is not accepted");
    change.finish();
  }
  if (v.changes.empty()) r.fail("changes", "at least one: without any it is the base");
  r.finish();
  return v;
}

Platform variant_platform(const Variant& variant, const Platform& base) {
  std::vector<std::string> texts;
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < variant.changes.size(); ++i) {
    edits.push_back(edit_at(variant, i));
    check_verb(variant, edits.back(), i);
    texts.push_back(edits.back().text);
  }
  const EditedPlatform edited = [&] {
    try {
      return edited_platform(base, parse_edits(texts), [](const std::string&) { return std::nullopt; });
    } catch (const InputError& error) {
      throw InputError(variant.path, "/changes", error.what());
    }
  }();
  Topology topology = edited.platform.wiring();
  Calibration calibration = edited.platform.calibration();
  topology.name = calibration.topology = variant.name;
  topology.title = variant.title;
  topology.source = variant.source + ". All else as " + base.wiring().name + ": " + base.wiring().source;
  topology.path = variant.path;
  topology.sha256 = variant.sha256;
  for (std::size_t i = 0; i < edits.size(); ++i)
    if (Cable* cable = changed(topology, edits[i])) {
      const std::string& source = variant.changes[i].source;
      const bool is_new = cable->source == "edit: " + edits[i].text;
      cable->source = is_new ? source : cable->source + "; " + edits[i].text + ": " + source;
    }
  return {std::move(topology), std::move(calibration)};
}

Json variant_wiring(const Variant& variant, const Json& base) {
  Json wiring = base;
  const std::string as_there = "assumed: as on " + variant.base + ": ";
  wiring["name"] = variant.name;
  wiring["title"] = variant.title;
  wiring["source"] = variant.source + (variant.source.ends_with('.') ? " " : ". ") + "Else as " + variant.base;
  wiring["inherits"] = variant.inherits;
  wiring.update(variant.whole);
  for (Json& cable : wiring["cables"]) cable["source"] = as_there + cable["source"].get<std::string>();
  if (wiring.contains("fabric")) wiring["fabric"]["source"] = as_there + wiring["fabric"]["source"].get<std::string>();
  for (std::size_t i = 0; i < variant.devices.size(); ++i) {
    const Json& row = variant.devices[i];
    bool any = false;
    for (Json& device : wiring["devices"]) {
      if (!fits(row["id"], device["id"])) continue;
      replace(row, "id", device);
      any = true;
    }
    if (!any)
      throw InputError(variant.path, fmt::format("/devices/{}/id", i),
                       variant.base + " has no device " + row["id"].get<std::string>());
  }
  for (std::size_t i = 0; i < variant.cables.size(); ++i) {
    const Json &row = variant.cables[i], &ends = row["between"];
    bool any = false;
    for (Json& cable : wiring["cables"]) {
      const Json& there = cable["between"];
      if (!(fits(ends[0], there[0]) && fits(ends[1], there[1])) &&
          !(fits(ends[0], there[1]) && fits(ends[1], there[0])))
        continue;
      replace(row, "between", cable);
      any = true;
    }
    if (!any)
      throw InputError(variant.path, fmt::format("/cables/{}/between", i),
                       fmt::format("{} has no cable between {} and {}", variant.base, ends[0].get<std::string>(),
                                   ends[1].get<std::string>()));
  }
  Topology topology = parse_topology(wiring, variant.path);
  Calibration unused;
  put_network(variant, topology, unused);
  if (variant.network.empty()) return wiring;
  wiring["fabric"] = topology.fabric;
  wiring["gpudirect_rdma"] = topology.gpudirect_rdma;
  return wiring;
}

void put_network(const Variant& variant, Topology& topology, Calibration& calibration) {
  if (variant.network.empty()) return;
  std::vector<std::string> notes;
  const Edit edit = network_edit(variant);
  try {
    edit_network(edit, topology, calibration, notes);
  } catch (const InputError& error) {
    throw InputError(variant.path, "/network", error.what());
  }
  topology.fabric["source"] = "assumed: switches as on " + variant.base + ". " + variant.source;
  const std::string prefix = "edit '" + edit.text + "': ";
  for (const std::string& note : notes)
    calibration.notes.push_back(note.starts_with(prefix) ? note.substr(prefix.size()) : note);
}

}  // namespace linkcast
