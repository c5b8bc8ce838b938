// Queries of kind place: which GPUs for a job.
#include <algorithm>
#include <sstream>

#include "sim/place/query/place_answer.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::placement {
namespace {

using query::Key;
using query::KeyTable;
using query::ValueType;

constexpr const char* kJobSchema = R"({"oneOf": [{"type": "string"},
    {"type": "object", "required": ["op"], "additionalProperties": false,
     "oneOf": [{"required": ["size_B"]}, {"required": ["sizes_B"]}],
     "properties": {"op": {"type": "string"}, "size_B": {"type": ["integer", "string"], "minimum": 1}, "sizes_B": {"type": "array"}}},
    {"type": "object", "required": ["trace"], "additionalProperties": false,
     "properties": {"trace": {"type": "string"},
                    "options": {"type": "object", "additionalProperties": {"type": ["string", "number"]}}}}]})";
constexpr const char* kBusySchema =
    R"({"type": ["string", "array"], "items": {"type": ["integer", "string", "object"]}})";
constexpr const char* kNamesSchema = R"({"type": "array", "items": {"type": ["integer", "string"]}})";

/// "JOB:GPUS"
Json neighbour_of(const std::string& text, const std::string& option) {
  const std::size_t at = text.size() - std::min(text.size(), query::at_colons(text).back().size() + 1);
  if (at == 0) throw InputError(option + ": '" + text + "' is not JOB:GPUS, e.g. all_reduce:64MiB:4-7");
  return {{"job", text.substr(0, at)}, {"gpus", query::gpus_of(text.substr(at + 1), option)}};
}

/// "gpu0,gpu1" or "0-3,6".
Json busy_of(const std::string& text, const std::string& option) {
  Json busy = Json::array();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.starts_with("node"))
      busy.push_back(part);
    else
      for (const Json& gpu : query::gpus_of(part, option)) busy.push_back(gpu);
  }
  return busy;
}

KeyTable job_keys() {
  return {
      {.name = "job",
       .help = "OP:SIZE, e.g. all_reduce:64MiB or allgatherv:1MiB,2MiB; or a trace file, shipped trace or application",
       .required = true,
       .files = query::Files::kTrace,
       .schema = kJobSchema,
       .example = "\"all_reduce:64MiB\"",
       .cli = {.name = "--job", .optional = true}},
      {.name = "ranks",
       .type = ValueType::kWhole,
       .help = "GPUs of the job",
       .required = true,
       .least = 1,
       .example = "4",
       .cli = {.name = "--ranks", .optional = true}},
      {.name = "busy",
       .help = "GPUs that are not free: gpu0,gpu1 or 0-3,6; of several nodes their numbers or names",
       .gpus = query::GpuNames::kSome,
       .schema = kBusySchema,
       .example = "[0, 1]",
       .cli = {.name = "--busy", .parse = busy_of}},
      {.name = "with",
       .type = ValueType::kObjects,
       .help = "what a neighbour does, e.g. all_reduce:64MiB:4-7; its GPUs are busy",
       .fields =
           {{.name = "job", .help = "as above", .required = true, .files = query::Files::kTrace, .schema = kJobSchema},
            {.name = "gpus", .type = ValueType::kWholes, .help = "in one node", .gpus = query::GpuNames::kList},
            {.name = "nodes", .help = "of several nodes", .files = query::Files::kNone, .schema = kNamesSchema}},
       .example = R"([{"job": "all_reduce:64MiB", "gpus": [6, 7]}])",
       .cli = {.name = "--with", .parse = neighbour_of, .repeated = true, .type_name = "JOB:GPUS", .several = false}}};
}

KeyTable search_keys() {
  return {{.name = "objective",
           .help = "time (of the job), neighbours (what they lose), both (the sum, in shares of times)",
           .unset = "time",
           .choices = {"time", "neighbours", "both"},
           .example = "\"time\"",
           .cli = {.name = "--objective"}},
          query::library_key(),
          query::algorithm_file_key("schedule of your own for the job's collectives, in MSCCL's XML; rank orders of a "
                                    "node are searched for it"),
          {.name = "top",
           .type = ValueType::kWhole,
           .help = "so many placements are listed",
           .unset = "10",
           .least = 1,
           .example = "3",
           .cli = {.name = "--top"}},
          {.name = "nodes",
           .type = ValueType::kWhole,
           .help = "whole nodes of a machine of so many, on its fabric; busy and with then name nodes",
           .least = 1,
           .example = "8",
           .cli = {.name = "--nodes"}},
          {.name = "groups",
           .type = ValueType::kObject,
           .help = "record node-groups/1 in place of nodes: busy, with and the answer then have its names",
           .files = query::Files::kNone,
           .schema = R"({"type": "object", "required": ["schema", "switches"]})",
           .example = R"({"schema": "node-groups/1", "name": "row", "source": "topology.conf",)"
                      R"( "switches": [{"name": "leaf0", "nodes": ["n1", "n2"]}]})"},
          {.name = "gpus_per_node",
           .type = ValueType::kWhole,
           .help = "with nodes or groups: of each node, the first ones",
           .unset = "all",
           .least = 1,
           .example = "4",
           .cli = {.name = "--gpus-per-node"}}};
}

Key number(const char* name, const char* help) { return {.name = name, .type = ValueType::kNumber, .help = help}; }
Key whole(const char* name, const char* help) { return {.name = name, .type = ValueType::kWhole, .help = help}; }
Key list(const char* name, const char* help) { return {.name = name, .type = ValueType::kWholes, .help = help}; }

KeyTable neighbour_fields() {
  return {{.name = "job"},       list("gpus", ""),
          list("nodes", ""),     {.name = "names", .type = ValueType::kTexts},
          number("alone_s", ""), number("before_s", "with the others"),
          number("time_s", ""),  number("slowdown", "")};
}

KeyTable best_results() {
  return query::joined(
      {query::interval_results(),
       {number("alone_s", "time of the job without neighbours"),
        list("gpus", "the best ones in rank order"),
        list("nodes", "the best ones"),
        {.name = "names", .type = ValueType::kTexts, .help = "with groups: of these nodes"},
        {.name = "switches",
         .type = ValueType::kObjects,
         .help = "with groups: the leaf switches that they are on",
         .fields = {{.name = "name"}, whole("nodes", "")}},
        whole("gpus_per_node", "of several nodes"),
        {.name = "job", .help = "in words", .required = true},
        {.name = "ranks", .type = ValueType::kWhole, .help = "GPUs of the job", .required = true},
        {.name = "objective", .help = "that was minimised", .required = true},
        {.name = "rule", .help = "of several nodes: how they were found"},
        {.name = "why", .help = "what makes it better, in words", .required = true},
        {.name = "neighbours", .type = ValueType::kObjects, .help = "what they lose", .fields = neighbour_fields()},
        query::bottleneck_result()}});
}

KeyTable search_results() {
  const KeyTable row = {list("gpus", ""),
                        list("nodes", ""),
                        {.name = "names", .type = ValueType::kTexts},
                        number("time_s", ""),
                        number("regret", "time over the best, less 1")};
  const KeyTable more = {number("time_low_s", ""),
                         number("time_high_s", ""),
                         number("alone_s", ""),
                         {.name = "neighbours", .type = ValueType::kObjects, .fields = neighbour_fields()},
                         whole("class", "of sets that are alike"),
                         {.name = "why"},
                         {.name = "rule"},
                         list("groups", "of the fabric, nearest first")};
  return {{.name = "placements",
           .type = ValueType::kObjects,
           .help = "best first",
           .required = true,
           .fields = query::joined({row, more})},
          {.name = "classes",
           .type = ValueType::kObjects,
           .help = "sets of GPUs that are alike",
           .fields = query::joined({row, {whole("sets", "")}})},
          {.name = "worst",
           .type = ValueType::kObject,
           .help = "the slowest set, its ranks as in first_free",
           .fields = row},
          {.name = "first_free",
           .type = ValueType::kObject,
           .help = "what one gets without choosing",
           .required = true,
           .fields = row},
          number("mean_regret", "of a set by chance"),
          number("bound_s", "of several nodes: no placement is faster"),
          number("gap", "time over bound_s, less 1"),
          {.name = "search",
           .type = ValueType::kObject,
           .help = "how far it went",
           .required = true,
           .fields = {{.name = "exact", .type = ValueType::kFlag},
                      whole("sets", ""),
                      whole("classes", ""),
                      whole("evaluated", "forecasts"),
                      whole("forecasts", "")}}};
}

struct Remembered final : query::KindMemory {
  PlacementMemory placements;
};

class PlaceQuery final : public query::QueryKind {
 public:
  [[nodiscard]] const KeyTable& keys() const override {
    static const KeyTable table = query::joined({job_keys(), search_keys()});
    return table;
  }
  [[nodiscard]] const KeyTable& results() const override {
    static const KeyTable table = query::joined({best_results(), search_results()});
    return table;
  }
  [[nodiscard]] std::string command() const override { return "place"; }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {R"({"platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4})",
            R"({"platform": "alps", "nodes": 8, "job": "all_reduce:64MiB", "ranks": 8})"};
  }
  [[nodiscard]] Json answer(const query::Question& asked, ObjectReader& r) const override {
    const PlaceRequest request = read_place_request(asked.machine, r);
    if (asked.memory == nullptr) return to_json(place(asked.catalogue, request));
    return to_json(place(asked.catalogue, request, static_cast<Remembered&>(*asked.memory).placements));
  }
  [[nodiscard]] std::unique_ptr<query::KindMemory> new_memory() const override {
    return std::make_unique<Remembered>();
  }
};

const bool place_query_registered = query::query_kinds().add({"place", "which GPUs for a job", "docs/placement.md"},
                                                             [] { return std::make_unique<PlaceQuery>(); });

}  // namespace
}  // namespace linkcast::placement
