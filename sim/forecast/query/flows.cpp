// Queries of kind flows: several copies that start together and contend.
#include "sim/forecast/copies.hpp"
#include "sim/forecast/copy_forecast.hpp"
#include "sim/forecast/copy_request.hpp"
#include "sim/forecast/launching.hpp"
#include "sim/forecast/query/copy_keys.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::copy {
namespace {

using query::ValueType;

/// "gpu0:gpu1:64MiB"
Json flow_of(const std::string& text, const std::string& option) {
  const std::vector<std::string> parts = query::at_colons(text);
  if (parts.size() != 3) throw InputError(option + ": '" + text + "' is not SRC:DST:SIZE, e.g. gpu0:gpu1:64MiB");
  return {parts[0], parts[1], query::parse_size(option, parts[2])};
}

std::vector<std::string> flow_transports() {
  std::vector<std::string> names = {"peer", "relay", "staged", kMessage};
  names.insert(names.end(), Transports::message_names().begin(), Transports::message_names().end());
  return names;
}

query::KeyTable flow_keys() {
  return {{.name = "flows",
           .type = ValueType::kAny,
           .help = "the copies, each [src, dst, size_B]; ends as gpu0 or node3/gpu1",
           .required = true,
           .gpus = query::GpuNames::kFlows,
           .schema = R"({"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 3, "maxItems": 3,
               "prefixItems": [{"type": ["string", "integer"]}, {"type": ["string", "integer"]},
                               {"type": ["integer", "string"], "minimum": 1, "maximum": 9007199254740992}]}})",
           .example = R"([["gpu0", "gpu1", 67108864], ["gpu0", "gpu2", 67108864]])",
           .cli = {.name = "--flow", .parse = flow_of, .repeated = true, .type_name = "SRC:DST:SIZE"}},
          engine_key(),
          {.name = "transport",
           .help = "of all inside nodes peer, relay or staged; of all between them one of the kinds of messages; mpi: "
                   "all are messages",
           .unset = "what the runtime takes",
           .registered = flow_transports,
           .example = "\"staged\"",
           .cli = {.name = "--transport"}},
          direction_key("write if that was measured"),
          timing_key("single"),
          copy_launch_key(),
          launch::host_scale_key(),
          query::explain_key()};
}

class Flows final : public query::QueryKind {
 public:
  [[nodiscard]] const query::KeyTable& keys() const override {
    static const query::KeyTable table = query::joined({flow_keys(), query::noise_keys()});
    return table;
  }
  [[nodiscard]] const query::KeyTable& results() const override {
    static const query::KeyTable table = query::joined({flow_results(), query::noise_results()});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "predict flows"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {R"({"platform": "v100-dgx1", "flows": [["gpu0", "gpu1", 67108864], ["gpu0", "gpu2", 67108864]]})",
            R"({"platform": "leonardo", "flows": [["node0/gpu0", "node9/gpu1", 1048576]], "noise": 3})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    return flows_answer(machine_of(asked, names_nodes(asked.query)), asked.solver, r, asked.catalogue.progress(),
                        read_host(asked, r), query::read_explain(r));
  }
};

const bool flows_registered =
    query::query_kinds().add({"flows", "several copies that start together and contend", "docs/model.md"},
                             [] { return std::make_unique<Flows>(); });

}  // namespace
}  // namespace linkcast::copy
