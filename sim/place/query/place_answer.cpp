#include "sim/place/query/place_answer.hpp"

namespace linkcast::placement {
namespace {

/// Times of the job and its neighbours on one node.
void put_times(Json& row, const Placement& placed) {
  row["time_s"] = placed.time_s;
  row["time_low_s"] = placed.low_s;
  row["time_high_s"] = placed.high_s;
  if (placed.neighbours.empty()) return;
  row["alone_s"] = placed.alone_s;
  row["neighbours"] = Json::array();
  for (const NeighbourTimes& one : placed.neighbours)
    row["neighbours"].push_back({{"job", one.job},
                                 {"gpus", one.gpus},
                                 {"alone_s", one.alone_s},
                                 {"time_s", *one.time_s},
                                 {"slowdown", *one.time_s / one.alone_s}});
}

Json short_row(const Placement& placed) {
  return {{"gpus", placed.gpus}, {"time_s", placed.time_s}, {"regret", placed.regret}};
}

Json on_one_node(const PlaceResult& result) {
  const PlaceResult::Sets& sets = *result.one_node;
  Json out;
  put_times(out, result.best);
  out["gpus"] = result.best.gpus;
  out["job"] = result.job;
  out["ranks"] = result.ranks;
  out["objective"] = to_text(result.objective);
  out["bottleneck"] = result.bottleneck;
  out["why"] = result.best.why;
  out["warnings"] = result.warnings;
  out["placements"] = Json::array();
  for (const Placement& placed : result.placements) {
    Json row{{"gpus", placed.gpus}};
    put_times(row, placed);
    row["regret"] = placed.regret;
    row["class"] = placed.alike;
    row["why"] = placed.why;
    out["placements"].push_back(std::move(row));
  }
  out["classes"] = Json::array();
  for (const Placement& one : sets.classes)
    out["classes"].push_back({{"gpus", one.gpus}, {"sets", one.sets}, {"time_s", one.time_s}, {"regret", one.regret}});
  out["worst"] = short_row(sets.worst);
  out["first_free"] = short_row(result.first_free);
  out["mean_regret"] = sets.mean_regret;
  out["search"] = {
      {"exact", result.exact}, {"sets", sets.sets}, {"classes", sets.classes.size()}, {"evaluated", result.evaluated}};
  return out;
}

void put_names(Json& row, const std::vector<std::string>& names) {
  if (!names.empty()) row["names"] = names;
}

Json over_nodes(const PlaceResult& result) {
  const PlaceResult::Nodes& nodes = *result.over_nodes;
  const Placement& best = result.best;
  Json out{{"time_s", best.time_s},   {"time_low_s", best.low_s}, {"time_high_s", best.high_s},
           {"alone_s", best.alone_s}, {"nodes", best.nodes},      {"gpus_per_node", nodes.gpus_each},
           {"job", result.job},       {"ranks", result.ranks},    {"objective", to_text(result.objective)},
           {"rule", best.rule}};
  put_names(out, best.names);
  for (const LeafNodes& leaf : nodes.switches) out["switches"].push_back({{"name", leaf.name}, {"nodes", leaf.nodes}});
  if (nodes.bound_s > 0) {
    out["bound_s"] = nodes.bound_s;
    out["gap"] = best.time_s / nodes.bound_s - 1;
  }
  for (const NeighbourTimes& one : best.neighbours) {
    Json row{{"job", one.job}, {"nodes", one.nodes}, {"before_s", one.alone_s}};
    put_names(row, one.names);
    if (one.time_s) {
      row["time_s"] = *one.time_s;
      row["slowdown"] = *one.time_s / one.alone_s;
    }
    out["neighbours"].push_back(std::move(row));
  }
  out["placements"] = Json::array();
  for (const Placement& placed : result.placements) {
    out["placements"].push_back({{"nodes", placed.nodes},
                                 {"rule", placed.rule},
                                 {"time_s", placed.time_s},
                                 {"regret", placed.regret},
                                 {"groups", placed.groups}});
    put_names(out["placements"].back(), placed.names);
  }
  const Placement& first = result.first_free;
  out["first_free"] = {{"nodes", first.nodes}, {"time_s", first.time_s}, {"regret", first.regret}};
  put_names(out["first_free"], first.names);
  out["why"] = best.why;
  out["search"] = {{"exact", result.exact}, {"forecasts", result.evaluated}};
  out["bottleneck"] = result.bottleneck;
  out["warnings"] = result.warnings;
  return out;
}

}  // namespace

Json to_json(const PlaceResult& result) { return result.one_node ? on_one_node(result) : over_nodes(result); }

}  // namespace linkcast::placement
