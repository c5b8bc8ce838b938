#include "sim/forecast/collective_result.hpp"

#include "sim/forecast/terms.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::collective {
namespace {

using query::Key;
using query::KeyTable;
using query::ValueType;

constexpr std::size_t kAnswerKeys = 32;  // source: ours, keys of an answer

void put_beside(const CollectiveForecast::Beside& beside, double time_s, Json& out) {
  out["alone_s"] = beside.alone_s;
  out["slowdown"] = time_s / beside.alone_s;
  out["others"] = Json::array();
  for (const CollectiveForecast::Other& other : beside.others) {
    Json row{{"op", other.op}, {"gpus", other.gpus}, {"size_B", other.size_B}, {"library", other.library}};
    if (!other.nodes.empty()) row["nodes"] = other.nodes;
    row["time_s"] = other.time_s;
    row["alone_s"] = other.alone_s;
    out["others"].push_back(std::move(row));
  }
}

void put_messages(const CollectiveForecast::Messages& messages, Json& out) {
  out["bottlenecks"] = messages.bottlenecks;
  out["engine"] = messages.engine;
  out["messages"] = static_cast<long>(messages.count);
  out["classes"] = messages.classes;
  if (!messages.why_direct.empty()) out["why_direct"] = messages.why_direct;
}

void put_alternatives(const Alternatives& alternatives, Json& out) {
  if (const auto& entry = alternatives.believes)
    out["library_believes"] = {{"time_s", entry->time.si}, {"bandwidth_Bps", entry->bandwidth.si}};
  out["alternatives"] = Json::array();
  for (const Alternatives::Row& row : alternatives.rows) {
    out["alternatives"].push_back({{"algorithm", row.algorithm}, {"protocol", row.protocol}, {"time_s", row.time_s}});
    if (row.believed_s) out["alternatives"].back()["library_believes_s"] = *row.believed_s;
  }
  if (!alternatives.hint.empty()) out["hint"] = alternatives.hint;
}

/// What runs it: rounds of messages or channels, and where.
void put_choice(const CollectiveForecast& forecast, Json& out) {
  out["library"] = forecast.library;
  out["algorithm"] = forecast.algorithm;
  out["protocol"] = forecast.protocol;
  if (const auto& rounds = forecast.rounds) {
    out["rounds"] = rounds->rounds;
    out["steady_state"] = rounds->steady;
  }
  out["ranks"] = forecast.nodes * forecast.gpus_per_node;
  if (forecast.nodes > 1 || forecast.rounds) {
    out["nodes"] = forecast.nodes;
    out["gpus_per_node"] = forecast.gpus_per_node;
  }
  if (const auto& rounds = forecast.rounds) {
    out["staging_s"] = rounds->staging_s;
    out["reducing_s"] = rounds->reducing_s;
    out["transports"] = rounds->transports;
  }
  out["channels"] = forecast.channels;
  out["blocks"] = forecast.blocks;
  out["channel_bandwidth_Bps"] = forecast.channel_Bps ? Json(*forecast.channel_Bps) : Json(0);
  if (forecast.path_class) out["path_class"] = *forecast.path_class;
  out["fallback"] = forecast.fallback;
}

KeyTable run_results() {
  return {
      query::terms_result(),
      {.name = "latency_s", .type = ValueType::kNumber, .help = "start-up and hops", .required = true},
      {.name = "algbw_Bps", .type = ValueType::kNumber, .help = "size over time", .required = true},
      {.name = "busbw_Bps", .type = ValueType::kNumber, .help = "bus bandwidth of nccl-tests", .required = true},
      {.name = "library", .help = "that was taken", .required = true},
      {.name = "algorithm", .help = "that was taken", .required = true},
      {.name = "protocol", .help = "that was taken", .required = true},
      {.name = "ranks", .type = ValueType::kWhole, .help = "GPUs that take part", .required = true},
      {.name = "nodes", .type = ValueType::kWhole, .help = "of several nodes"},
      {.name = "gpus_per_node", .type = ValueType::kWhole, .help = "of several nodes"},
      {.name = "channels", .type = ValueType::kOrders, .help = "distinct orders of GPUs", .required = true},
      {.name = "blocks", .type = ValueType::kWhole, .help = "thread blocks", .required = true},
      {.name = "channel_bandwidth_Bps", .type = ValueType::kNumber, .help = "of the busiest channel", .required = true},
      {.name = "path_class", .help = "as the library names the paths between members"},
      {.name = "fallback", .type = ValueType::kFlag, .help = "through host memory", .required = true},
      query::bottleneck_result(),
      {.name = "limited_by", .help = "where no link is: host, start-up, thread blocks or rates of single messages"}};
}

KeyTable choice_results() {
  const Key time{.name = "time_s", .type = ValueType::kNumber, .help = "forecast", .required = true};
  const Key algorithm{.name = "algorithm", .required = true}, protocol{.name = "protocol", .required = true};
  return {{.name = "library_believes",
           .type = ValueType::kObject,
           .help = "its tuner, not a forecast",
           .fields = {time, {.name = "bandwidth_Bps", .type = ValueType::kNumber, .required = true}}},
          {.name = "alternatives",
           .type = ValueType::kObjects,
           .help = "other algorithms and protocols, fastest first",
           .fields = {algorithm, protocol, time, {.name = "library_believes_s", .type = ValueType::kNumber}}},
          {.name = "hint", .help = "where another choice would be faster"}};
}

KeyTable load_results() {
  const auto number = [](const char* name, const char* help) {
    return Key{.name = name, .type = ValueType::kNumber, .help = help};
  };
  return {number("alone_s", "time without the others"),
          number("slowdown", "time over alone_s"),
          {.name = "others",
           .type = ValueType::kObjects,
           .help = "the communicators of with",
           .fields = {{.name = "op"},
                      {.name = "gpus", .type = ValueType::kWholes},
                      {.name = "nodes", .type = ValueType::kWholes, .help = "where several are in play"},
                      number("size_B", ""),
                      {.name = "library"},
                      number("time_s", "forecast"),
                      number("alone_s", "without the others")}},
          {.name = "beside",
           .type = ValueType::kObjects,
           .help = "the jobs of beside",
           .fields = {{.name = "op"},
                      {.name = "nodes", .type = ValueType::kWhole},
                      {.name = "gpus_per_node", .type = ValueType::kWhole},
                      {.name = "service_level", .type = ValueType::kWhole},
                      number("sends_of_port", "share of its ports that it gets to use")}}};
}

KeyTable message_results() {
  return {
      {.name = "engine", .help = "of messages between nodes: direct or reduced"},
      {.name = "messages", .type = ValueType::kWhole, .help = "that were sent"},
      {.name = "classes", .type = ValueType::kWhole, .help = "sorts of them"},
      {.name = "why_direct", .help = "why alike messages were not taken together"},
      {.name = "bottlenecks", .type = ValueType::kWhole, .help = "links that limit, of which bottleneck names some"},
      {.name = "rounds", .type = ValueType::kWhole, .help = "of an MPI schedule"},
      {.name = "steady_state", .type = ValueType::kFlag, .help = "some rounds stand for others"},
      {.name = "staging_s", .type = ValueType::kNumber, .help = "of it copies between GPU and host"},
      {.name = "reducing_s", .type = ValueType::kNumber, .help = "of it reducing buffers"},
      {.name = "transports", .type = ValueType::kTexts, .help = "of MPI's messages"}};
}

}  // namespace

KeyTable collective_results() {
  return query::joined({query::interval_results(),
                        launch::launch_results(),
                        run_results(),
                        choice_results(),
                        load_results(),
                        message_results(),
                        {links_result()}});
}

Json to_json(const CollectiveForecast& forecast) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(kAnswerKeys);
  uncertainty::put_interval(out, forecast.time_s, forecast.interval);
  if (!forecast.rounds) launch::put_launch(out, forecast.launching, forecast.device_s);
  out["latency_s"] = forecast.latency_s;
  out["algbw_Bps"] = forecast.size_B / forecast.time_s;
  out["busbw_Bps"] = forecast.size_B / forecast.time_s * forecast.bus_factor;
  put_choice(forecast, out);
  out["bottleneck"] = forecast.bottleneck;
  if (!forecast.limited_by.empty()) out["limited_by"] = forecast.limited_by;
  out["warnings"] = forecast.warnings;
  if (!forecast.load.is_null()) out.update(forecast.load);
  if (forecast.beside) put_beside(*forecast.beside, forecast.time_s, out);
  if (forecast.messages) put_messages(*forecast.messages, out);
  if (forecast.alternatives) put_alternatives(*forecast.alternatives, out);
  if (forecast.links) out["links"] = to_json(*forecast.links);
  return out;
}

}  // namespace linkcast::collective
