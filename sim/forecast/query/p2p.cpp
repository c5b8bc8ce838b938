// Queries of kind p2p: one copy between two devices, of one node or of several.
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

std::vector<std::string> transports() {
  std::vector<std::string> names = {"local", "peer", "relay", "staged", "host", kMessage};
  names.insert(names.end(), Transports::message_names().begin(), Transports::message_names().end());
  return names;
}

query::KeyTable ends() {
  return {
      source_key(),
      target_key(),
      size_key(true),
      {.name = "transport",
       .help = "local, peer, relay (through another GPU), staged (through host memory, as with peer access off), "
               "host; of messages from process to process mpi or their kind: between nodes always, in a node if named",
       .unset = "what the runtime takes",
       .registered = transports,
       .example = "\"staged\"",
       .cli = {.name = "--transport"}},
      {.name = "via",
       .help = "relaying GPU; implies transport relay. A NIC: out and in by that card",
       .gpus = query::GpuNames::kDevice,
       .schema = R"({"type": ["string", "integer"]})",
       .example = "\"gpu2\"",
       .cli = {.name = "--via"}}};
}

query::KeyTable manner() {
  return {engine_key(),
          direction_key("write if that was measured"),
          timing_key("in a node back_to_back (one of a queue of copies), between nodes single (from rest)"),
          copy_launch_key(),
          launch::host_scale_key(),
          query::explain_key(),
          {.name = "chunk_B",
           .type = ValueType::kSize,
           .help = "relay: chunk size, the second copy follows chunk by chunk",
           .example = "1048576",
           .cli = {.name = "--chunk", .parse = query::size_of}},
          {.name = "pageable",
           .type = ValueType::kFlag,
           .help = "host copies: memory that is not pinned",
           .example = "false",
           .cli = {.name = "--pageable"}},
          {.name = "bidirectional",
           .type = ValueType::kFlag,
           .help = "both directions at once; bandwidth is their sum",
           .example = "true",
           .cli = {.name = "--bidirectional"}}};
}

query::KeyTable ping_pong() {
  return {{.name = "round_trip",
           .type = ValueType::kFlag,
           .help = "each draw of noise is half of a message there and one back, as a ping-pong has it",
           .example = "true",
           .needs = {"noise"},
           .cli = {.name = "--round-trip"}}};
}

class P2p final : public query::QueryKind {
 public:
  [[nodiscard]] const query::KeyTable& keys() const override {
    static const query::KeyTable table = query::joined({ends(), manner(), query::noise_keys(), ping_pong()});
    return table;
  }
  [[nodiscard]] const query::KeyTable& results() const override {
    static const query::KeyTable table = query::joined({copy_results(), query::noise_results()});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "predict p2p"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {R"({"platform": "p100-dgx1", "src": "gpu0", "dst": "gpu5", "size_B": 67108864, "transport": "relay"})",
            R"({"platform": "p100-dgx1", "src": "gpu0", "dst": "cpu0", "size_B": 67108864})",
            R"({"platform": "leonardo", "src": "node0/gpu0", "dst": "node9/gpu1", "size_B": 1048576, "noise": 3})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    const bool networked = names_nodes(asked.query) || names_nic(asked.machine->platform(), asked.query);
    return p2p_answer(machine_of(asked, networked), asked.solver, r, asked.catalogue.progress(), read_host(asked, r),
                      query::read_explain(r));
  }
};

const bool p2p_registered =
    query::query_kinds().add({"p2p", "one copy between two devices, nothing else going on", "docs/model.md"},
                             [] { return std::make_unique<P2p>(); });

}  // namespace
}  // namespace linkcast::copy
