// Queries of kind show: what is wired to what, with rates and their sources.
#include "sim/query/show.hpp"

#include "sim/query/query_kind.hpp"

namespace linkcast::query {
namespace {

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
