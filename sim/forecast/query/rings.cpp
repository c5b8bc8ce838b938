// Queries of kind rings: what a communication library builds, and why.
#include "sim/forecast/collective_answer.hpp"
#include "sim/forecast/query/operation_key.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::collective {
namespace {

using query::Key;
using query::KeyTable;
using query::ValueType;

// source of the words: NicWay
constexpr const char* kNicEnd = R"({"type": "object", "required": ["gpu", "nic", "through_host"], "properties":
  {"gpu": {"type": "integer"}, "nic": {"type": "string"}, "through_host": {"type": "boolean"},
   "proxy": {"type": "integer"}}})";
const std::string kRingNics = std::string(R"({"type": "array", "items": {"type": "object", "properties": {"in": )") +
                              kNicEnd + R"(, "out": )" + kNicEnd + "}}}";
const std::string kTreeNics = std::string(R"({"type": "array", "items": )") + kNicEnd + "}";

KeyTable model_keys() {
  Key op = operation_key(false);
  return {query::library_key(),
          op,
          {.name = "size_B",
           .type = ValueType::kSize,
           .help = "and this size, e.g. 64MiB",
           .unless = "sizes_B",
           .example = "67108864",
           .needs = {"op"},
           .excludes = {"sizes_B"},
           .cli = {.name = "--size", .parse = query::size_of}},
          {.name = "sizes_B",
           .help = "or of each part, as of predict collective",
           .files = query::Files::kNone,
           .schema = R"({"type": "array", "items": {"anyOf": [{"type": ["integer", "string"], "minimum": 0},
              {"type": "array", "items": {"type": ["integer", "string"], "minimum": 0}}]}})",
           .example = "[1048576, 2097152]",
           .needs = {"op"},
           .cli = {.name = "--sizes", .parse = query::sizes_of}},
          {.name = "nvls",
           .type = ValueType::kFlag,
           .help = "NVSwitches multicast and reduce sums (NVLS); false leaves them out",
           .unset = "where machine and library have it",
           .example = "false",
           .cli = {.name = "--nvls", .opposite = "--no-nvls"}}};
}

KeyTable ring_results() {
  return {{.name = "channels", .type = ValueType::kOrders, .help = "distinct orders of GPUs", .required = true},
          {.name = "hops",
           .help = "between one GPU and the next, for each channel: peer, host memory or through a GPU",
           .required = true,
           .schema = R"({"type": "array", "items": {"type": "array", "items": {"type": "string"}}})"},
          {.name = "blocks", .type = ValueType::kWhole, .help = "thread blocks", .required = true},
          {.name = "path_class", .help = "as the library names the paths between members", .required = true},
          {.name = "library_channel_bandwidth_Bps",
           .type = ValueType::kNumber,
           .help = "what the library assumes of a channel",
           .required = true},
          {.name = "library_bandwidth_Bps", .type = ValueType::kNumber, .help = "of all channels", .required = true},
          {.name = "link_equivalents",
           .type = ValueType::kNumber,
           .help = "links that the rings are worth",
           .required = true},
          {.name = "fallback", .type = ValueType::kFlag, .help = "through host memory", .required = true},
          {.name = "why", .help = "in words", .required = true},
          {.name = "library", .help = "that was taken", .required = true},
          {.name = "ranks", .type = ValueType::kWhole, .help = "GPUs that take part", .required = true},
          {.name = "nodes", .type = ValueType::kWhole, .help = "of several nodes"},
          {.name = "gpus_per_node", .type = ValueType::kWhole, .help = "of several nodes"},
          {.name = "nics",
           .help = "between nodes: GPU and NIC by which each ring enters and leaves a node; the GPU that sends in its "
                   "place (PXN); whether host memory lies between",
           .schema = kRingNics},
          {.name = "tree_nics", .help = "the same of the first GPU of each tree", .schema = kTreeNics},
          {.name = "network_class", .help = "between nodes: worst class of a way to a NIC"},
          {.name = "swaps_rings",
           .type = ValueType::kFlag,
           .help = "in every second node rings 2k and 2k+1 change places, so that the NICs at both ends are the same"},
          {.name = "library_network_channel_bandwidth_Bps",
           .type = ValueType::kNumber,
           .help = "between nodes: what the library assumes of a channel"},
          query::bottleneck_result()};
}

KeyTable tuner_results() {
  const auto number = [](const char* name) { return Key{.name = name, .type = ValueType::kNumber, .required = true}; };
  const KeyTable entry = {{.name = "algorithm", .required = true},
                          {.name = "protocol", .required = true},
                          number("bandwidth_Bps"),
                          number("latency_s"),
                          number("time_s"),
                          {.name = "enabled", .type = ValueType::kFlag, .required = true}};
  const KeyTable chosen = {{.name = "channels", .type = ValueType::kWhole},
                           {.name = "threads", .type = ValueType::kWhole},
                           {.name = "payload_share", .type = ValueType::kNumber}};
  return {
      {.name = "trees", .type = ValueType::kOrders, .help = "chains of GPUs", .required = true},
      {.name = "tree_class", .help = "as path_class, of the trees"},
      {.name = "library_tree_bandwidth_Bps", .type = ValueType::kNumber, .help = "what the library assumes of a tree"},
      {.name = "rings_found", .type = ValueType::kWhole, .help = "by the library's search, before it doubles them"},
      {.name = "tuner",
       .type = ValueType::kObjects,
       .help = "the library's cost model: of op and size",
       .fields = entry},
      {.name = "library_takes",
       .type = ValueType::kObject,
       .help = "row of the tuner that is taken",
       .fields = query::joined({entry, chosen})}};
}

class Rings final : public query::QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable table =
        query::joined({query::member_keys(), model_keys(), exit_keys(), query::library_topology_keys()});
    return table;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table = query::joined({ring_results(), tuner_results(), {query::library_topology_result()}});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "rings"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {
        R"({"platform": "v100-dgx1", "gpus": [0, 1, 2], "library": "nccl-2.18", "op": "all_reduce", "size_B": 1048576})",
        R"({"platform": "alps", "nodes": 4, "gpus_per_node": 4})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    const catalogue::MachinePtr machine = query::read_library_topology(asked.catalogue, asked.machine, r);
    Json out = rings_answer(*machine, r);
    query::put_library_topology(*machine, out);
    return out;
  }
};

const bool rings_registered =
    query::query_kinds().add({"rings", "the rings a communication library builds, and why", "docs/communicators.md"},
                             [] { return std::make_unique<Rings>(); });

}  // namespace
}  // namespace linkcast::collective
