// Queries of kind routes: every way between two devices.
#include "sim/forecast/copies.hpp"
#include "sim/forecast/copy_forecast.hpp"
#include "sim/forecast/query/copy_keys.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::copy {
namespace {

using query::ValueType;

query::KeyTable route_results() {
  const query::Key warnings{.name = "warnings", .type = ValueType::kTexts, .help = "of this way", .required = true};
  return {{.name = "size_B", .type = ValueType::kNumber, .help = "the ways are ranked for", .required = true},
          {.name = "runtime_takes", .help = "in a node: the transport of a plain copy"},
          {.name = "minimal_ways", .type = ValueType::kWhole, .help = "between nodes: how many there are"},
          {.name = "detours", .type = ValueType::kWhole, .help = "between nodes: how many there are"},
          {.name = "routing", .help = "between nodes: how the fabric chooses"},
          {.name = "routes",
           .type = ValueType::kObjects,
           .help = "fastest first, each as an answer of p2p",
           .required = true,
           .fields = query::joined({copy_results(),
                                    {warnings,
                                     {.name = "way", .help = "between nodes: minimal or detour, and its number"},
                                     {.name = "hops", .type = ValueType::kWhole, .help = "links of the fabric"}}})},
          query::bottleneck_result()};
}

class Routes final : public query::QueryKind {
 public:
  [[nodiscard]] const query::KeyTable& keys() const override {
    static const query::KeyTable table = {source_key(),
                                          target_key(),
                                          size_key(false),
                                          {.name = "k",
                                           .type = ValueType::kWhole,
                                           .help = "between nodes: up to so many minimal ways and so many detours",
                                           .unset = "4",
                                           .least = 1,
                                           .most = 1000,
                                           .example = "2",
                                           .cli = {.name = "-k"}}};
    return table;
  }
  [[nodiscard]] const query::KeyTable& results() const override {
    static const query::KeyTable table = route_results();
    return table;
  }
  [[nodiscard]] std::string command() const override { return "routes"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {R"({"platform": "v100-dgx1", "src": "gpu0", "dst": "gpu7"})",
            R"({"platform": "alps", "src": "node0/gpu0", "dst": "node700/gpu0", "k": 2})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    return routes_answer(machine_of(asked, names_nodes(asked.query)), asked.solver, r);
  }
};

const bool routes_registered =
    query::query_kinds().add({"routes", "every way between two devices, ranked by predicted time", "docs/model.md"},
                             [] { return std::make_unique<Routes>(); });

}  // namespace
}  // namespace linkcast::copy
