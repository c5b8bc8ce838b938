#include "sim/query/show.hpp"

#include "sim/records/parameters.hpp"

namespace linkcast::query {
namespace {

Json devices_json(const Topology& wiring) {
  Json list = Json::array();
  for (const Device& device : wiring.devices) {
    Json item{{"id", device.id}, {"kind", to_text(device.kind)}};
    if (!device.model.empty()) item["model"] = device.model;
    if (device.sm > 0) item["sm"] = device.sm;
    if (!device.group.empty()) item["group"] = device.group;
    if (device.engine) {
      for (const auto& [name, value] : device.engine->figures()) item["engine"][name] = value;
      item["engine"]["source"] = device.engine->source;
    }
    list.push_back(item);
  }
  return list;
}

Json cables_json(const Topology& wiring) {
  Json list = Json::array();
  for (const Cable& cable : wiring.cables)
    list.push_back({{"id", cable.id},
                    {"a", wiring.devices[static_cast<std::size_t>(cable.a)].id},
                    {"b", wiring.devices[static_cast<std::size_t>(cable.b)].id},
                    {"kind", cable.kind},
                    {"count", cable.count},
                    {"bandwidth_Bps", cable.bandwidth.si},
                    {"source", cable.source}});
  return list;
}

Json links_json(const Platform& platform) {
  Json list = Json::array();
  for (const Constraint& constraint : platform.constraints())
    list.push_back({{"id", constraint.id},
                    {"kind", constraint.kind == ConstraintKind::kHostMemory
                                 ? "host_memory"
                                 : platform.topology().cables[static_cast<std::size_t>(constraint.cable)].kind},
                    {"both_directions", constraint.kind != ConstraintKind::kLink},
                    {"capacity_Bps", constraint.capacity.value},
                    {"rel_error", constraint.capacity.rel_error},
                    {"calibrated", constraint.capacity.calibrated},
                    {"parameter", constraint.capacity.name}});
  return list;
}

Json parameters_json(const Calibration& calibration) {
  Json map = Json::object();
  for (const auto& [name, p] : calibration.parameters)
    map[name] = {{"value", p.value},
                 {"stderr", p.stderr_},
                 {"unit", p.unit},
                 {"meaning", find_parameter_row(name)->meaning},
                 {"provenance", p.provenance}};
  return map;
}

}  // namespace

Json show_answer(const Platform& platform) {
  const Topology& wiring = platform.wiring();
  const Calibration& calibration = platform.calibration();
  Json from = Json::array();
  for (const SourceFile& file : calibration.from) from.push_back({{"path", file.path}, {"sha256", file.sha256}});
  return {{"name", wiring.name},
          {"title", wiring.title},
          {"source", wiring.source},
          {"gpus", platform.gpu_count()},
          {"default_library", calibration.default_library},
          {"devices", devices_json(wiring)},
          {"cables", cables_json(wiring)},
          {"links", links_json(platform)},
          {"parameters", parameters_json(calibration)},
          {"valid_for", {{"from_B", calibration.valid_from_B}, {"to_B", calibration.valid_to_B}}},
          {"from", from}};
}

}  // namespace linkcast::query
