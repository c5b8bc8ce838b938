// Queries of kind collective: one operation of a communication library.
#include "sim/machine/collective.hpp"

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/forecast/collective_answer.hpp"
#include "sim/forecast/collective_forecast.hpp"
#include "sim/forecast/launching.hpp"
#include "sim/forecast/query/operation_key.hpp"
#include "sim/forecast/schedule_forecast.hpp"
#include "sim/machine/transport.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/query/key.hpp"
#include "sim/query/nccl_environment.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::collective {
namespace {

using query::Key;
using query::KeyTable;
using query::ValueType;

/// "all_reduce:64MiB:4-7", "all_reduce:64MiB:1:0-3"
Json other_of(const std::string& text, const std::string& option) {
  const std::vector<std::string> parts = query::at_colons(text);
  if (parts.size() != 3 && parts.size() != 4)
    throw InputError(option + ": '" + text + "' is not OP:SIZE:GPUS, e.g. all_reduce:64MiB:4-7");
  Json other{{"op", parts[0]}, {"gpus", query::gpus_of(parts[2], option)}};
  other.update(query::size_keys_of(parts[1], option));
  if (parts.size() == 4) other["nodes"] = query::numbers_of(parts[3], option);
  return other;
}

Json names_of(const std::string& text, const std::string& option) {
  if (text.empty() || text.ends_with(',')) throw InputError(option + ": names none, or ends with a comma");
  return split(text, ',');
}

/// Algorithms that a query may force: all but groups of messages.
std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = algorithms().names();
  std::erase_if(names, [](const std::string& name) { return algorithms().get(name).routes() == Routes::kPairs; });
  return names;
}

Key size_key() {
  return {.name = "size_B",
          .type = ValueType::kSize,
          .help = "the size column of nccl-tests, e.g. 1GiB",
          .required = true,
          .example = "67108864",
          .cli = {.name = "--size", .parse = query::size_of}};
}

/// Operations whose calls may say such sizes.
std::string with_sizes(PartSizes parts) {
  std::vector<std::string> names;
  for (const std::string& name : collectives().names())
    if (collectives().get(name).traits().parts == parts) names.push_back(name);
  return linkcast::joined(names);
}

/// Of the call that is asked for: one size, or that of each part.
KeyTable size_keys() {
  Key size = size_key();
  size.required = false;
  size.unless = "sizes_B";
  size.excludes = {"sizes_B"};
  return {
      size,
      {.name = "sizes_B",
       .help = "instead of size: of " + with_sizes(PartSizes::kOfRanks) + " each rank's part, e.g. 1MiB,2MiB; of " +
               with_sizes(PartSizes::kOfPairs) + " what each rank sends to each, a row each, e.g. \"0,1MiB;2MiB,0\"",
       .files = query::Files::kNone,
       .schema = R"({"type": "array", "items": {"anyOf": [{"type": ["integer", "string"], "minimum": 0},
              {"type": "array", "items": {"type": ["integer", "string"], "minimum": 0}}]}})",
       .example = "[1048576, 2097152]",
       .cli = {.name = "--sizes", .parse = query::sizes_of}}};
}

Key buffer_key(const char* name, const char* protocol, const char* variable, const char* unset, const char* option) {
  return {.name = name,
          .type = ValueType::kSize,
          .help = fmt::format("a channel's buffer of {}, as {}", protocol, variable),
          .unset = unset,
          .least = kLeastBuffer_B,
          .example = "8388608",
          .cli = {.name = option, .parse = query::size_of}};
}

/// Settings of NCCL that change how channels and messages move bytes.
KeyTable channel_settings() {
  return {buffer_key("buffer_B", "Simple", "NCCL_BUFFSIZE", "4 MiB, or what the network's plug-in sets", "--buffer"),
          buffer_key("ll_buffer_B", "LL, flags included", "NCCL_LL_BUFFSIZE", "512 KiB", "--ll-buffer"),
          buffer_key("ll128_buffer_B", "LL128, flags included", "NCCL_LL128_BUFFSIZE", "4800 KiB", "--ll128-buffer"),
          {.name = "peer_channels",
           .type = ValueType::kWhole,
           .help = "most channels of a message to another node, as NCCL_NCHANNELS_PER_NET_PEER",
           .unset = "what the library takes",
           .least = 1,
           .example = "2",
           .needs = {"nodes"},
           .cli = {.name = "--peer-channels"}},
          {.name = "shm",
           .type = ValueType::kFlag,
           .help = "GPUs of a node may exchange through host memory; false: refused where they would, as "
                   "NCCL_SHM_DISABLE=1",
           .unset = "true",
           .example = "false",
           .cli = {.name = "--shm", .opposite = "--no-shm"}},
          {.name = "plugin_tuner",
           .type = ValueType::kFlag,
           .help = "the network's plug-in chooses algorithm and protocol, where it has rules for that; false: NCCL "
                   "does, as OFI_NCCL_TUNER_TYPE=INTERNAL",
           .unset = "true",
           .example = "false",
           .needs = {"nodes"},
           .cli = {.name = "--plugin-tuner", .opposite = "--no-plugin-tuner"}}};
}

/// Settings of NCCL's environment, one by one and as it is.
KeyTable settings() {
  return {{.name = "least_channels",
           .type = ValueType::kWhole,
           .help = "thread blocks of each GPU at least, before a small size leaves some out, as NCCL_MIN_NCHANNELS",
           .unset = "what the library takes",
           .least = 1,
           .example = "16",
           .cli = {.name = "--least-channels"}},
          {.name = "most_channels",
           .type = ValueType::kWhole,
           .help = "the same at most, as NCCL_MAX_NCHANNELS",
           .unset = "what the library takes",
           .least = 1,
           .example = "8",
           .cli = {.name = "--most-channels"}},
          {.name = "without",
           .type = ValueType::kTexts,
           .help = "algorithms and protocols to leave out, as NCCL_ALGO and NCCL_PROTO with ^",
           .unset = "none",
           .files = query::Files::kNone,
           .example = R"(["LL"])",
           .cli = {.name = "--without", .parse = names_of, .type_name = "NAME,..."}},
          {.name = "nccl_env",
           .type = ValueType::kObject,
           .help = "NCCL's environment, instead of keys that say the same: NCCL_PROTO=^LL,NCCL_MAX_NCHANNELS=8",
           .unset = "nothing is set",
           .files = query::Files::kNone,
           .example = R"({"NCCL_PROTO": "^LL"})",
           .cli = {.name = "--nccl-env", .parse = query::nccl_environment_of, .type_name = "NAME=VALUE,..."}}};
}

KeyTable choices() {
  Key own =
      query::algorithm_file_key("schedule of your own, in MSCCL's XML: it runs in the place of the library's choice");
  own.excludes = {"algorithm"};
  return {query::library_key(),
          {.name = "algorithm",
           .help = "ring, tree, nvls; between nodes nvls_tree, pat, collnet_*; engines: one_shot, ...; MPI: a schedule",
           .unset = "what the library takes for the size",
           .registered = algorithm_names,
           .listed = "algorithms",
           .example = "\"ring\"",
           .cli = {.name = "--algorithm"}},
          own,
          {.name = "protocol",
           .help = "LL, LL128 or Simple",
           .unset = "what the library takes for the size",
           .choices = {"LL", "LL128", "Simple"},
           .example = "\"Simple\"",
           .cli = {.name = "--protocol"}},
          {.name = "channels",
           .type = ValueType::kWhole,
           .help = "thread blocks of each GPU, as NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS",
           .unset = "what the library takes for the size",
           .least = 1,
           .example = "16",
           .excludes = {"least_channels", "most_channels"},
           .cli = {.name = "--channels"}},
          {.name = "nvls",
           .type = ValueType::kFlag,
           .help = "NVSwitches multicast and reduce sums (NVLS); false leaves them out, as NCCL_NVLS_ENABLE=0",
           .unset = "where machine and library have it",
           .example = "false",
           .cli = {.name = "--nvls", .opposite = "--no-nvls"}},
          {.name = "collnet",
           .type = ValueType::kFlag,
           .help = "switches between nodes reduce (CollNet, SHARP), as NCCL_COLLNET_ENABLE=1: of a fabric with sharp",
           .example = "false",
           .cli = {.name = "--collnet"}},
          {.name = "calls",
           .type = ValueType::kWhole,
           .help = "made one behind the other; the time is that of one",
           .unset = "20 as nccl-tests",
           .least = 1,
           .example = "1",
           .cli = {.name = "--calls"}},
          launch::launch_key(launch_kinds(), "process; MPI's own calls are in its times"),
          launch::host_scale_key(),
          query::explain_key()};
}

KeyTable surroundings() {
  return {{.name = "with",
           .type = ValueType::kObjects,
           .help = "another communicator that starts at the same moment; SIZE may be a list, as sizes",
           .fields = query::joined({{operation_key(true)},
                                    size_keys(),
                                    {Key{.name = "gpus",
                                         .type = ValueType::kWholes,
                                         .help = "its members, of each node",
                                         .required = true,
                                         .gpus = query::GpuNames::kList},
                                     query::library_key(),
                                     Key{.name = "nodes",
                                         .type = ValueType::kWholes,
                                         .help = "its nodes by number, in rank order",
                                         .unset = "those of the query"}}}),
           .example = R"([{"op": "all_reduce", "gpus": [2, 3], "size_B": 67108864}])",
           .excludes = {"noise", "beside", "allocation"},
           .cli = {.name = "--with", .parse = other_of, .repeated = true, .type_name = "OP:SIZE:GPUS[:NODES]"}},
          {.name = "engine",
           .help = "of operations made of messages between nodes: each by itself, or alike ones together",
           .unset = "the cheaper one that is exact enough",
           .choices = {"direct", "reduced"},
           .example = "\"reduced\"",
           .needs = {"nodes"},
           .cli = {.name = "--engine"}},
          {.name = "transport",
           .help = "of MPI's messages between nodes",
           .unset = "what the library takes",
           .choices = Transports::message_names(),
           .example = "\"mpi_network\"",
           .needs = {"nodes", "library"},
           .cli = {.name = "--transport"}},
          {.name = "alternatives",
           .type = ValueType::kFlag,
           .help = "the other algorithms and protocols too; the command line always asks for them",
           .unset = "false",
           .example = "true",
           .excludes = {}},
          {.name = "utilisation",
           .type = ValueType::kFlag,
           .help = "what each link carries, and the share of the time",
           .unset = "false",
           .example = "true",
           .cli = {.name = "--utilisation"}}};
}

class CollectiveQuery final : public query::QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable table = query::joined({{operation_key(true)},
                                                 query::member_keys(),
                                                 size_keys(),
                                                 choices(),
                                                 exit_keys(),
                                                 settings(),
                                                 channel_settings(),
                                                 query::library_topology_keys(),
                                                 surroundings(),
                                                 query::noise_keys(),
                                                 query::job_keys()});
    return table;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table =
        query::joined({collective_results(), query::noise_results(), {query::library_topology_result()}});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "predict collective"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {
        R"({"platform": "v100-dgx1", "gpus": [0, 1], "op": "all_reduce", "size_B": 67108864, "library": "nccl-2.18"})",
        R"({"platform": "leonardo", "nodes": 4, "gpus_per_node": 4, "op": "all_reduce", "size_B": 67108864})",
        R"({"platform": "leonardo", "nodes": 4, "gpus_per_node": 4, "op": "alltoall", "size_B": 1048576})",
        R"({"platform": "v100-dgx1", "gpus": [0, 1], "op": "allgatherv", "sizes_B": [1048576, 4194304]})",
        R"({"platform": "leonardo", "nodes": 4, "gpus_per_node": 4, "op": "all_reduce", "size_B": 67108864, "library": "mpi-openmpi"})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    if (asked.query.contains("with"))
      congestion::refuse_network_keys(asked.query, "is not modelled together with other communicators (with)");
    const catalogue::MachinePtr machine = query::read_library_topology(asked.catalogue, asked.machine, r);
    const bool explain = query::read_explain(r);
    Json out = collective_answer(asked.catalogue, *machine, asked.solver, r, explain);
    query::put_library_topology(*machine, out);
    return out;
  }
};

const bool collective_registered = query::query_kinds().add(
    {"collective", "one collective operation of a communication library", "docs/communicators.md"},
    [] { return std::make_unique<CollectiveQuery>(); });

}  // namespace
}  // namespace linkcast::collective
