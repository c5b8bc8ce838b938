#include "sim/query/shared_keys.hpp"

#include <algorithm>
#include <cctype>

#include "sim/machine/library.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::query {
namespace {

constexpr double kMostSamples = 1e6;  // source: sim/plan/network_load.cpp, ours
constexpr const char* kNotOfThisKind = "is of p2p and flows between nodes and of collectives";
constexpr const char* kOfCollectives = "is of collectives between nodes";

int whole_number(const std::string& text, const std::string& all, const std::string& option) {
  const bool digits = !text.empty() && text.size() < 7 &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits) throw InputError(option + ": '" + all + "' is not OP:NODES or OP:NODES:LEVEL, e.g. incast:32");
  return std::stoi(text);
}

/// "incast:32" or "incast:32:1"
Json beside_of(const std::string& text, const std::string& option) {
  const auto first = text.find(':');
  const std::string rest = first == std::string::npos ? "" : text.substr(first + 1);
  const auto second = rest.find(':');
  Json job{{"op", text.substr(0, first)}, {"nodes", whole_number(rest.substr(0, second), text, option)}};
  if (second != std::string::npos) job["service_level"] = whole_number(rest.substr(second + 1), text, option);
  return job;
}

Key service_level(const std::string& help, const std::string& unset) {
  return {.name = "service_level",
          .type = ValueType::kWhole,
          .help = help,
          .unset = unset,
          .least = 0,
          .most = 15,
          .example = "0"};
}

KeyTable make_noise_keys() {
  Key level = service_level("of the messages; noise is on the level that other jobs use", "0");
  level.elsewhere = kNotOfThisKind;
  level.cli = {.name = "--service-level"};
  return {{.name = "noise",
           .type = ValueType::kWhole,
           .help = "seed of traffic of other jobs between switches; the answer then has percentiles",
           .unset = "an empty network",
           .least = 0,
           .example = "3",
           .elsewhere = kNotOfThisKind,
           .cli = {.name = "--noise", .parse = seed_of, .type_name = "SEED"}},
          {.name = "samples",
           .type = ValueType::kWhole,
           .help = "draws of noise",
           .unset = "200",
           .least = 1,
           .most = kMostSamples,
           .example = "20",
           .needs = {"noise"},
           .elsewhere = kNotOfThisKind,
           .cli = {.name = "--samples"}},
          level};
}

KeyTable make_job_keys() {
  return {
      {.name = "allocation",
       .help = "which nodes the jobs get: packed (in order, no switch shared) or random",
       .unset = "packed",
       .choices = {"packed", "random"},
       .example = "\"random\"",
       .elsewhere = kOfCollectives,
       .cli = {.name = "--allocation"}},
      {.name = "allocation_seed",
       .type = ValueType::kWhole,
       .help = "of allocation random",
       .unset = "0",
       .least = 0,
       .example = "7",
       .needs = {"allocation"},
       .elsewhere = kOfCollectives,
       .cli = {.name = "--allocation-seed", .parse = seed_of, .type_name = "SEED"}},
      {.name = "beside",
       .type = ValueType::kObjects,
       .help = "another job that runs for as long on other nodes, as many GPUs of each",
       .fields =
           {{.name = "op", .help = "what it does", .required = true, .choices = {"incast", "alltoall", "all_reduce"}},
            {.name = "nodes", .type = ValueType::kWhole, .help = "how many it has", .required = true, .least = 2},
            service_level("of its messages", "that of the first job")},
       .example = R"([{"op": "incast", "nodes": 4}])",
       .elsewhere = kOfCollectives,
       .cli = {.name = "--beside", .parse = beside_of, .repeated = true, .type_name = "OP:NODES[:LEVEL]"}}};
}

KeyTable make_noise_results() {
  const auto number = [](const char* name, const char* help) {
    return Key{.name = name, .type = ValueType::kNumber, .help = help};
  };
  Key percentiles{.name = "percentiles", .type = ValueType::kObject, .help = "of the draws, times in seconds"};
  for (const char* name : {"p5", "p25", "p50", "p75", "p95", "p99"}) percentiles.fields.push_back(number(name, ""));
  return {{.name = "seed", .type = ValueType::kWhole, .help = "of the noise"},
          {.name = "samples", .type = ValueType::kWhole, .help = "draws of noise"},
          {.name = "service_level", .type = ValueType::kWhole, .help = "of the messages"},
          number("quiet_s", "time in an empty network; time_s is that of the median draw"),
          percentiles,
          number("mean_s", "mean of the draws"),
          number("min_s", "shortest draw"),
          number("max_s", "longest draw")};
}

}  // namespace

// source: NCCL user guide, NCCL_P2P_LEVEL; NVB and C2C are among its names too (src/graph/topo.cc, topoPathTypeStr)
const std::vector<std::string>& path_classes() {
  static const std::vector<std::string> levels = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"};
  return levels;
}

const KeyTable& noise_keys() {
  static const KeyTable table = make_noise_keys();
  return table;
}

const KeyTable& job_keys() {
  static const KeyTable table = make_job_keys();
  return table;
}

const KeyTable& noise_results() {
  static const KeyTable table = make_noise_results();
  return table;
}

Key explain_key() {
  return {.name = "explain",
          .type = ValueType::kFlag,
          .help = "the terms that the time is made of, and the share of each in time and uncertainty",
          .unset = "false",
          .example = "true",
          .cli = {.name = "--explain"}};
}

Key terms_result() {
  const auto number = [](const char* name, const char* help) {
    return Key{.name = name, .type = ValueType::kNumber, .help = help, .required = true};
  };
  return {.name = "terms",
          .type = ValueType::kObjects,
          .help = "with explain: parts of the time and of its uncertainty",
          .fields = {
              {.name = "label", .help = "base, hops, serialisation, ...", .required = true},
              number("time_s", "part of time_s"),
              number("time_share", "time_s of the term over that of the answer"),
              number("spread", "standard deviation of ln(time) from this term alone"),
              number("uncertainty_share", "of the variance of ln(time)"),
              {.name = "source",
               .help = "measured, inherited from a machine, derived from measurements, library's table, nominal "
                       "rate, other machines, assumed, scatter of measurements",
               .required = true},
              {.name = "sources", .type = ValueType::kTexts, .help = "all, the largest first, where there are several"},
              {.name = "parameter", .help = "of the calibration that it follows from; the least sure of several"},
              {.name = "parameters", .type = ValueType::kTexts, .help = "all of them, where there are several"}}};
}

bool read_explain(ObjectReader& r) { return r.optional<bool>("explain").value_or(false); }

const KeyTable& interval_results() {
  static const KeyTable table = {
      {.name = "time_s", .type = ValueType::kNumber, .help = "forecast", .required = true},
      {.name = "time_low_s", .type = ValueType::kNumber, .help = "lower end of its 90 % interval", .required = true},
      {.name = "time_high_s", .type = ValueType::kNumber, .help = "upper end", .required = true}};
  return table;
}

const KeyTable& member_keys() {
  static const KeyTable table = {{.name = "gpus",
                                  .type = ValueType::kWholes,
                                  .help = "members in rank order, of each node, e.g. 0-3 or 0,1,4,5; also UUIDs and "
                                          "PCI bus ids",
                                  .unset = "all of a node",
                                  .gpus = GpuNames::kList,
                                  .example = "[0, 1]",
                                  .excludes = {"gpus_per_node"},
                                  .cli = {.name = "--gpus", .parse = gpus_of}},
                                 {.name = "nodes",
                                  .type = ValueType::kWhole,
                                  .help = "the first so many nodes of a cluster",
                                  .unset = "one",
                                  .least = 1,
                                  .example = "4",
                                  .cli = {.name = "--nodes"}},
                                 {.name = "gpus_per_node",
                                  .type = ValueType::kWhole,
                                  .help = "instead of gpus: the first GPUs of each node",
                                  .unset = "all",
                                  .least = 1,
                                  .example = "4",
                                  .needs = {"nodes"},
                                  .cli = {.name = "--gpus-per-node"}}};
  return table;
}

/// As library_meant() (sim/machine/library_name.hpp) reads them.
constexpr const char* kLibraryVersionSchema =
    R"json({"type": "string", "pattern": "^([NnRr][Cc][Cc][Ll]|([NnRr][Cc][Cc][Ll][- _v]*)?[0-9][0-9.]*([-+].*)?)$"})json";

Key library_key() {
  return {.name = "library",
          .help = "communication library",
          .unset = "the platform's",
          .registered = [] { return libraries().names(); },
          .listed = "libraries",
          .schema = kLibraryVersionSchema,
          .example = "\"nccl-2.18\"",
          .cli = {.name = "--library"}};
}

Key algorithm_file_key(const std::string& help) {
  return {.name = "algorithm_file",
          .help = help,
          .files = Files::kFile,
          .example = "\"ring.xml\"",
          .cli = {.name = "--algorithm-file", .type_name = "FILE"}};
}

KeyTable library_topology_keys() {
  return {
      {.name = "library_topology",
       .help = "NCCL topology file (NCCL_TOPO_FILE) that the library is told; bytes move over the machine's own links",
       .unset = "the machine as it is",
       .files = Files::kFile,
       .example = "\"topo.xml\"",
       .cli = {.name = "--library-topo", .type_name = "FILE"}},
      {.name = "p2p_level",
       .help = "worst class of path over which the library lets GPUs access each other (NCCL_P2P_LEVEL)",
       .unset = "what its version takes",
       .choices = path_classes(),
       .example = "\"NVL\"",
       .cli = {.name = "--p2p-level"}}};
}

Key library_topology_result() {
  return {.name = "library_topology_sha256", .help = "of the file that the library was told"};
}

void read_library_topology(ObjectReader& r, std::string& library_topology, std::string& p2p_level) {
  library_topology = r.optional<std::string>("library_topology").value_or("");
  if (r.has("library_topology") && library_topology.empty()) r.fail("library_topology", "names no file");
  if (r.has("p2p_level")) p2p_level = r.choice("p2p_level", path_classes());
}

catalogue::MachinePtr read_library_topology(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine,
                                            ObjectReader& r) {
  std::string file, level;
  read_library_topology(r, file, level);
  return catalogue.with_library_topology(machine, file, level);
}

void put_library_topology(const catalogue::Machine& machine, Json& out) {
  const std::string& sha256 = machine.platform().library_topology().sha256;
  if (!sha256.empty()) out["library_topology_sha256"] = sha256;
}

const Key& bottleneck_result() {
  static const Key key{.name = "bottleneck",
                       .type = ValueType::kTexts,
                       .help = "ids of the links that limit it; empty where no link does, as for a start-up",
                       .required = true};
  return key;
}

const KeyTable& common_keys() {
  static const KeyTable table = {
      {.name = "id",
       .type = ValueType::kAny,
       .help = "anything; the answer has the same",
       .files = Files::kNone,
       .example = "\"q1\""},
      {.name = "kind", .help = "what is asked", .required = true, .files = Files::kNone},
      {.name = "platform",
       .help = "machine",
       .required = true,
       .listed = "platforms",
       .files = Files::kNone,
       .example = "\"v100-dgx1\"",
       .cli = {.name = "-p,--platform"}},
      {.name = "edits",
       .type = ValueType::kTexts,
       .help = "what-if changes of the machine in words, e.g. \"remove gpu0-gpu4\": docs/what-if.md",
       .unset = "the machine as it is",
       .files = Files::kNone,
       .example = R"(["slow gpu0:2"])"},
      {.name = "solver",
       .help = "fluid; fluid_simgrid (the same, moved by SimGrid's main loop); native (SimGrid's own network model)",
       .unset = "fluid",
       .choices = {"fluid", "fluid_simgrid", "native"},
       .example = "\"fluid\"",
       .cli = {.name = "--solver"}}};
  return table;
}

const KeyTable& common_results() {
  static const KeyTable table = {
      {.name = "id", .type = ValueType::kAny, .help = "that of the query"},
      {.name = "kind", .help = "that of the query", .required = true},
      {.name = "warnings", .type = ValueType::kTexts, .help = "what to know before relying on it"},
      {.name = "inputs",
       .type = ValueType::kObject,
       .help = "where the answer comes from",
       .required = true,
       .fields = {{.name = "query", .type = ValueType::kObject, .help = "as given", .required = true},
                  {.name = "solver", .help = "that was used"},
                  {.name = "topology_sha256", .help = "of the file of the machine", .required = true},
                  {.name = "calibration_sha256", .help = "of its parameters", .required = true},
                  {.name = "edits", .type = ValueType::kTexts, .help = "that were made"}}},
      {.name = "versions",
       .type = ValueType::kObject,
       .help = "of this program",
       .required = true,
       .fields = {{.name = "linkcast", .help = "version", .required = true},
                  {.name = "git", .help = "commit", .required = true}}}};
  return table;
}

}  // namespace linkcast::query
