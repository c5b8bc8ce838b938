#include "sim/collective/collective_forecast.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::collective {
namespace {

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
    out["ranks"] = rounds->ranks;
  }
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

}  // namespace

Json to_json(const CollectiveForecast& forecast) {
  Json out;
  uncertainty::put_interval(out, forecast.time_s, forecast.interval);
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
  return out;
}

}  // namespace linkcast::collective
