// Queries of kind fabric: the network between nodes.
#include "sim/query/fabric_view.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::query {
namespace {

class FabricKind final : public QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable none;
    return none;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table = make_results();
    return table;
  }
  [[nodiscard]] std::string command() const override { return "show --fabric"; }
  [[nodiscard]] std::vector<std::string> examples() const override { return {R"({"platform": "alps"})"}; }
  [[nodiscard]] Json answer(const Question& asked, ObjectReader& r) const override {
    r.finish();
    const Topology& wiring = asked.machine->platform().wiring();
    return fabric_answer(wiring, build_fabric(wiring), false);
  }

 private:
  static Key value(const char* name, ValueType type, const char* help) {
    return {.name = name, .type = type, .help = help, .required = true};
  }

  static KeyTable class_fields() {
    return {value("name", ValueType::kText, ""),
            value("cable", ValueType::kText, "kind"),
            value("cables", ValueType::kNumber, "how many"),
            value("bandwidth_Bps", ValueType::kNumber, "of one, in one direction"),
            value("latency_s", ValueType::kNumber, ""),
            value("forwarding_index", ValueType::kNumber, "ways over the busiest"),
            value("mean_ways", ValueType::kNumber, "over one"),
            value("switches", ValueType::kWhole, "that have such links"),
            value("ports_of_a_switch", ValueType::kWhole, "at most"),
            value("parts_without", ValueType::kWhole, "that the fabric falls into without them"),
            value("nodes_of_a_part", ValueType::kWhole, ""),
            value("source", ValueType::kText, "")};
  }

  static KeyTable expectations() {
    const auto rate = [](const char* name) { return value(name, ValueType::kNumber, ""); };
    return {{.name = "bisection",
             .type = ValueType::kObject,
             .required = true,
             .fields = {rate("cables"), rate("bandwidth_Bps")}},
            {.name = "classes",
             .type = ValueType::kObjects,
             .help = "sorts of links",
             .required = true,
             .fields = class_fields()},
            {.name = "distances",
             .type = ValueType::kObjects,
             .help = "between two endpoints",
             .required = true,
             .fields = {value("name", ValueType::kText, ""), rate("share_of_pairs")}},
            {.name = "expected",
             .type = ValueType::kObject,
             .help = "upper bounds from the forwarding index",
             .required = true,
             .fields = {rate("alltoall_Bps"), value("alltoall_limit", ValueType::kText, "class of links"),
                        rate("alltoall_per_gpu_Bps"), rate("allreduce_Bps"), rate("allreduce_per_gpu_Bps")}},
            {.name = "inside_a_node",
             .type = ValueType::kObject,
             .help = "the same of the links between GPUs",
             .fields = {rate("forwarding_index"), rate("alltoall_Bps"), rate("rings"), rate("allreduce_Bps")}}};
  }

  static KeyTable make_results() {
    return joined({{value("platform", ValueType::kText, "name of the machine"),
                    value("generator", ValueType::kText, "kind of fabric: linkcast list fabrics"),
                    value("source", ValueType::kText, "of its parameters"),
                    value("routing", ValueType::kText, "how it chooses ways"),
                    value("endpoints", ValueType::kWhole, "cards of nodes"), value("nodes", ValueType::kWhole, ""),
                    value("nics_per_node", ValueType::kWhole, ""), value("switches", ValueType::kWhole, ""),
                    value("links", ValueType::kWhole, "directed"),
                    value("diameter_links", ValueType::kWhole, "most links between two endpoints"),
                    value("average_links", ValueType::kNumber, "between two endpoints")},
                   expectations()});
  }
};

const bool fabric_registered = query_kinds().add({"fabric", "the network between nodes", "docs/fabrics.md"},
                                                 [] { return std::make_unique<FabricKind>(); });

}  // namespace
}  // namespace linkcast::query
