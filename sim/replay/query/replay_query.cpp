// Queries of kind replay: a batch line, a claim or a what-if asks for an application on a machine.
#include "sim/machine/transport.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/query/replay_answer.hpp"
#include "sim/replay/replay_request.hpp"

namespace linkcast::replay {
namespace {

using query::Key;
using query::KeyTable;
using query::ValueType;

KeyTable trace_keys() {
  return {{.name = "trace",
           .help = "trace file, or a trace or application that 'linkcast list traces' names",
           .required = true,
           .listed = "traces",
           .files = query::Files::kTrace,
           .example = "\"data_parallel\"",
           .cli = {.name = "trace"}},
          {.name = "options",
           .type = ValueType::kObject,
           .help = "key=value of an application, see 'linkcast help trace'",
           .files = query::Files::kNone,
           .schema = R"({"type": "object", "additionalProperties": {"type": ["string", "number"]}})",
           .example = R"({"ranks": 4, "steps": 1})",
           .cli = {.name = "--option",
                   .parse = query::option_of,
                   .repeated = true,
                   .type_name = "KEY=VALUE",
                   .several = false}},
          {.name = "placement",
           .type = ValueType::kWholes,
           .help = "GPU of each rank, e.g. 0,3,1,2",
           .unset = "the first ones",
           .gpus = query::GpuNames::kList,
           .example = "[0, 3, 1, 2]",
           .cli = {.name = "--placement", .parse = query::gpus_of}},
          {.name = "ranks",
           .type = ValueType::kWhole,
           .help = "replay on another number of ranks than were recorded, where all do the same",
           .unset = "as recorded",
           .least = 1,
           .most = 1e6,  // source: sim/replay/replay_request.cpp, ours
           .example = "4",
           .cli = {.name = "--ranks"}}};
}

/// Other jobs at the same time, and how the first one goes on.
KeyTable more_keys() {
  return {{.name = "also",
           .type = ValueType::kObjects,
           .help = "other jobs at the same time, on GPUs that this one leaves free",
           .fields = {{.name = "trace", .required = true, .files = query::Files::kTrace},
                      {.name = "placement", .type = ValueType::kWholes, .gpus = query::GpuNames::kList},
                      {.name = "ranks", .type = ValueType::kWhole, .least = 1},
                      {.name = "options",
                       .type = ValueType::kObject,
                       .files = query::Files::kNone,
                       .schema = R"({"type": "object", "additionalProperties": {"type": ["string", "number"]}})"}},
           .example = R"([{"trace": "data_parallel", "options": {"ranks": 2, "steps": 1}}])"},
          {.name = "repeat",
           .type = ValueType::kWhole,
           .help = "the trace so many times, one after the other",
           .unset = "1",
           .least = 1,
           .example = "2"},
          {.name = "utilisation",
           .type = ValueType::kFlag,
           .help = "the answer says how busy each link is over time",
           .example = "true"},
          {.name = "network",
           .help = "kind of network that is played",
           .unset = "node, of several nodes cluster",
           .registered = [] { return network_kinds().names(); },
           .example = "\"node\""}};
}

KeyTable machine_keys() {
  return {query::library_key(),
          query::algorithm_file_key("schedule of your own, in MSCCL's XML: collectives that it is for run by it, the "
                                    "others as the library chooses"),
          {.name = "local",
           .type = ValueType::kFlag,
           .help = "each rank by itself: without collectives, messages and what the trace marks as part of an exchange",
           .example = "true",
           .cli = {.name = "--local"}},
          {.name = "host_scale",
           .type = ValueType::kNumber,
           .help = "CPU times are multiplied by it; 0: CPUs take no time",
           .unset = "the trace's own factor",
           .least = 0,
           .example = "0",
           .cli = {.name = "--host-scale"}},
          {.name = "nvls",
           .type = ValueType::kFlag,
           .help = "NVSwitches multicast and reduce sums (NVLS); false leaves them out",
           .unset = "as the trace was recorded, else where machine and library have it",
           .example = "false",
           .cli = {.name = "--nvls", .opposite = "--no-nvls"}},
          {.name = "nodes",
           .type = ValueType::kWhole,
           .help = "nodes of the platform on its fabric",
           .unset = "one node alone",
           .least = 1,
           .example = "2",
           .cli = {.name = "--nodes"}},
          {.name = "gpus_per_node",
           .type = ValueType::kWhole,
           .help = "of each node, the first ones",
           .unset = "all",
           .least = 1,
           .example = "1",
           .cli = {.name = "--gpus-per-node"}},
          {.name = "interval",
           .type = ValueType::kFlag,
           .help = "the 90 % interval, from two more runs; false: one run, and its ends are null",
           .unset = "true",
           .example = "false",
           .cli = {.name = "--interval", .opposite = "--no-interval"}},
          {.name = "transport",
           .help = "of messages between nodes, as of p2p",
           .unset = "what the library would take",
           .choices = Transports::message_names(),
           .example = "\"pinned\"",
           .cli = {.name = "--transport"}}};
}

Key number(const char* name, const char* help, bool null = false) {
  return {.name = name, .type = ValueType::kNumber, .help = help, .required = true, .null = null};
}

/// Of each job.
KeyTable step_results() {
  return {number("step_time_s", "median step; null without markers", true),
          number("step_time_low_s", "lower end of its 90 % interval", true),
          number("step_time_high_s", "upper end", true),
          {.name = "steps_s", .type = ValueType::kNumbers, .help = "each step", .required = true},
          number("recorded_step_time_s", "median step of the recording; null where the trace does not say it", true),
          {.name = "recorded_steps_s",
           .type = ValueType::kNumbers,
           .help = "each step of the recording, in its median rank",
           .required = true},
          number("exposed_communication_s", "of the median rank: communication while nothing computes")};
}

KeyTable time_results() {
  return query::joined(
      {{{.name = "platform", .help = "name of the machine", .required = true},
        number("time_s", "makespan"),
        number("time_low_s",
               "lower end of its 90 % interval; null with interval false, and where a pipe would have to be read again",
               true),
        number("time_high_s", "upper end", true),
        number("makespan_s", "from the first event to the last")},
       step_results()});
}

KeyTable detail_results() {
  const KeyTable rank = {{.name = "rank", .type = ValueType::kWhole},
                         {.name = "gpu", .type = ValueType::kWhole},
                         {.name = "job", .type = ValueType::kWhole},
                         number("compute_s", ""),
                         number("communication_s", ""),
                         number("exposed_s", ""),
                         number("waiting_s", ""),
                         number("idle_s", "")};
  const KeyTable operation = {{.name = "op", .help = "collective, or message"},
                              number("calls", "of a rank"),
                              number("size_B", "of these calls, as nccl-tests counts"),
                              number("time_s", "on the network, from when all ranks of a call had come"),
                              number("exposed_s", "waiting or moving while nothing computes"),
                              number("bus_bandwidth_Bps", "of all calls together"),
                              number("recorded_s", "time_s of the recording; null where unknown", true),
                              number("recorded_bus_bandwidth_Bps", "the same of the recording", true)};
  return {
      {.name = "operations",
       .type = ValueType::kObjects,
       .help = "each kind of collective, and messages: the mean of the ranks that take part",
       .required = true,
       .fields = operation},
      {.name = "ranks", .type = ValueType::kObjects, .help = "what each rank does", .required = true, .fields = rank},
      {.name = "links",
       .type = ValueType::kObjects,
       .help = "what each link carries",
       .required = true,
       .fields = {{.name = "id"}, number("carried_B", ""), number("utilisation", "share of the time")}}};
}

KeyTable summary_results() {
  return {
      {.name = "jobs",
       .type = ValueType::kObjects,
       .help = "with also: each job, the first one first",
       .fields = query::joined({{{.name = "trace"}, {.name = "gpus", .type = ValueType::kWholes}}, step_results()})},
      {.name = "utilisation",
       .type = ValueType::kObject,
       .help = "where asked for: busy shares over time, of ranks and links",
       .fields = {number("bin_s", "length of each piece of time"),
                  {.name = "ranks", .type = ValueType::kObjects, .required = true},
                  {.name = "links", .type = ValueType::kObject, .required = true}}},
      query::bottleneck_result(),
      {.name = "critical_path",
       .type = ValueType::kObject,
       .help = "what the makespan is made of",
       .required = true,
       .fields = {number("host_s", ""), number("launch_s", ""), number("compute_s", ""), number("copy_s", ""),
                  number("network_s", "")}},
      {.name = "compute_device",
       .help = "GPU that the trace's compute times are of, of the first job; null where it does not say",
       .required = true,
       .null = true},
      {.name = "other_gpu",
       .help = "GPU of this platform where that is another one: compute times are no forecast then; else null",
       .required = true,
       .null = true},
      {.name = "bound",
       .help = "what limits it: begins with host-bound, device-bound or link-bound; null where nothing takes time",
       .required = true,
       .null = true},
      {.name = "events", .type = ValueType::kWhole, .help = "of the trace", .required = true},
      {.name = "traffic",
       .type = ValueType::kObject,
       .help = "sums over ranks",
       .required = true,
       .fields = {number("compute_s", ""),
                  number("communication_s", ""),
                  number("exposed_s", ""),
                  number("total_s", ""),
                  number("total_B", ""),
                  {.name = "kinds",
                   .type = ValueType::kObjects,
                   .fields = {{.name = "name"},
                              {.name = "calls", .type = ValueType::kWhole},
                              number("size_B", ""),
                              number("time_s", "")}}}}};
}

class ReplayQuery final : public query::QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable table =
        query::joined({trace_keys(), machine_keys(), query::library_topology_keys(), more_keys()});
    return table;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table =
        query::joined({time_results(), detail_results(), summary_results(), {query::library_topology_result()}});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "replay"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {R"({"platform": "hgx-h200", "trace": "data_parallel", "options": {"ranks": 4, "steps": 1}})",
            R"({"platform": "hgx-h200", "trace": "h200x4-alexnet", "ranks": 2})",
            R"({"platform": "apenet-plus", "trace": "spin_glass", "options": {"nodes": 2, "steps": 2}, "nodes": 2,
                "gpus_per_node": 1, "transport": "pinned"})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    return replay_answer(asked.catalogue, read_replay_request(asked.machine, r));
  }
};

const bool replay_query_registered =
    query::query_kinds().add({"replay", "an application's trace on a machine", "docs/traces.md"},
                             [] { return std::make_unique<ReplayQuery>(); });

}  // namespace

}  // namespace linkcast::replay
