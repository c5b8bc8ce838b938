#include "sim/machine/variant.hpp"

#include <algorithm>

#include "sim/base/file_hash.hpp"
#include "sim/machine/edited.hpp"

namespace linkcast {
namespace {

Edit edit_at(const Variant& variant, std::size_t i) {
  try {
    return parse_edit(variant.changes[i].edit);
  } catch (const InputError& error) {
    throw InputError(variant.path, "/changes/" + std::to_string(i) + "/edit", error.what());
  }
}

/// Only cables: a variant is a wiring. Rates and fabrics belong into a topology and its calibration.
void check_verb(const Variant& variant, const Edit& edit, std::size_t i) {
  if (edit.verb != EditVerb::kRemove && edit.verb != EditVerb::kAdd)
    throw InputError(variant.path, "/changes/" + std::to_string(i) + "/edit",
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

}  // namespace

Variant read_variant(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("variant/1");
  Variant v;
  v.path = path;
  v.sha256 = sha256_of_file(path);
  v.name = r.required<std::string>("name");
  v.title = r.required<std::string>("title");
  v.source = r.required<std::string>("source");
  v.base = r.required<std::string>("base");
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

}  // namespace linkcast
