// Queries of kind show: what is wired to what, with rates and their sources.
#include <string>

#include "sim/machine/platform.hpp"
#include "sim/query/query_kind.hpp"
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
  for (const Constraint& constraint : platform.constraints()) {
    if (constraint.kind == ConstraintKind::kProcess) continue;  // of no hardware
    list.push_back({{"id", constraint.id},
                    {"kind", constraint.kind == ConstraintKind::kHostMemory
                                 ? "host_memory"
                                 : platform.topology().cables[static_cast<std::size_t>(constraint.cable)].kind},
                    {"both_directions", constraint.kind != ConstraintKind::kLink},
                    {"capacity_Bps", constraint.capacity.value},
                    {"rel_error", constraint.capacity.rel_error},
                    {"calibrated", constraint.capacity.calibrated},
                    {"parameter", constraint.capacity.name}});
  }
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

/// Answer of the kind "show": what is wired to what as built, rates in use with their source.
/// Cables give `bandwidth_Bps` (nominal, one cable, one direction); links give the rate the simulation uses.
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

Key text(const char* name, const char* help) { return {.name = name, .help = help, .required = true}; }
Key number(const char* name, const char* help) {
  return {.name = name, .type = ValueType::kNumber, .help = help, .required = true};
}

KeyTable device_fields() {
  return {text("id", ""),    text("kind", "gpu, cpu, pcie_switch, nvswitch, nic, switch"),
          {.name = "model"}, {.name = "sm", .type = ValueType::kNumber},
          {.name = "group"}, {.name = "engine", .type = ValueType::kObject, .help = "printed figures of a NIC"}};
}

KeyTable cable_fields() {
  return {text("id", ""),
          text("a", "one end"),
          text("b", "other end"),
          text("kind", ""),
          {.name = "count", .type = ValueType::kWhole, .help = "links", .required = true},
          number("bandwidth_Bps", "nominal, of one link in one direction"),
          text("source", "")};
}

KeyTable link_fields() {
  return {text("id", ""),
          text("kind", "of the cable"),
          {.name = "both_directions", .type = ValueType::kFlag, .required = true},
          number("capacity_Bps", "rate that forecasts use"),
          number("rel_error", "of it"),
          {.name = "calibrated", .type = ValueType::kFlag, .required = true},
          text("parameter", "where it comes from")};
}

KeyTable show_results() {
  return {text("name", "of the machine"),
          text("title", "in words"),
          text("source", "of the wiring"),
          {.name = "gpus", .type = ValueType::kWhole, .help = "how many", .required = true},
          text("default_library", "communication library of the machine's time"),
          {.name = "devices", .type = ValueType::kObjects, .required = true, .fields = device_fields()},
          {.name = "cables", .type = ValueType::kObjects, .required = true, .fields = cable_fields()},
          {.name = "links", .type = ValueType::kObjects, .required = true, .fields = link_fields()},
          {.name = "parameters",
           .type = ValueType::kObject,
           .help = "value, stderr, unit and provenance by name",
           .required = true},
          {.name = "valid_for",
           .type = ValueType::kObject,
           .help = "sizes of the calibration",
           .required = true,
           .fields = {number("from_B", ""), number("to_B", "")}},
          {.name = "from",
           .type = ValueType::kObjects,
           .help = "measurements",
           .required = true,
           .fields = {text("path", ""), text("sha256", "")}}};
}

class Show final : public QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable none;
    return none;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table = show_results();
    return table;
  }
  [[nodiscard]] std::string command() const override { return "show"; }
  [[nodiscard]] std::vector<std::string> examples() const override { return {R"({"platform": "gx8"})"}; }
  [[nodiscard]] Json answer(const Question& asked, ObjectReader& r) const override {
    r.finish();
    return show_answer(asked.machine->platform());
  }
};

const bool show_registered = query_kinds().add(
    {"show", "what is wired to what on a platform, with rates, parameters and sources", "docs/platforms.md"},
    [] { return std::make_unique<Show>(); });

}  // namespace
}  // namespace linkcast::query
