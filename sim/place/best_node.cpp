#include "sim/place/best_node.hpp"

#include <fmt/format.h>

#include <optional>

namespace linkcast::placement {
namespace {

/// What is to be placed on one of the nodes.
struct AskedNode {
  PlaceRequest request{};
  int free = 0;  ///< GPUs; below the ranks there is no request
};

AskedNode asked_of_node(catalogue::Catalogue& catalogue, const NodeCandidate& node, Json query,
                        const std::string& name) {
  const catalogue::MachinePtr machine =
      node.machine ? node.machine : catalogue.machine(node.use.at("platform").get<std::string>());
  for (const char* key : {"busy", "with"})
    if (node.use.contains(key)) query[key] = node.use[key];
  const Platform& platform = machine->platform();
  ObjectReader use(query, name, node.place);
  AskedNode asked;
  asked.free = platform.gpu_count() - static_cast<int>(read_node_use(platform, use).busy.size());
  if (asked.free < query["ranks"].get<int>()) return asked;
  ObjectReader whole(query, name, node.place);
  asked.request = read_place_request(machine, whole);
  return asked;
}

bool is_better(double time_s, int free, const BestNode& best) {
  if (time_s < best.time_s * (1 - kSame)) return true;
  return time_s <= best.time_s * (1 + kSame) && free < best.free;
}

std::string refusals(const std::vector<TriedNode>& tried) {
  std::string each;
  for (const TriedNode& one : tried) each += (each.empty() ? ": " : ", ") + one.node + ": " + one.refused;
  return each;
}

}  // namespace

Json to_json(const std::vector<TriedNode>& tried) {
  Json rows = Json::array();
  for (const TriedNode& one : tried)
    rows.push_back(one.refused.empty() ? Json{{"node", one.node}, {"time_s", one.time_s}}
                                       : Json{{"node", one.node}, {"refused", one.refused}});
  return rows;
}

BestNode best_node(catalogue::Catalogue& catalogue, const Json& query, const std::vector<NodeCandidate>& candidates,
                   const std::string& name, PlacementMemory& memory) {
  const int ranks = query.at("ranks").get<int>();
  std::optional<BestNode> best;
  std::vector<TriedNode> tried;
  for (const NodeCandidate& node : candidates) {
    TriedNode& row = tried.emplace_back(TriedNode{node.name, 0, node.refused});
    if (!row.refused.empty()) continue;
    const AskedNode asked = asked_of_node(catalogue, node, query, name);
    if (asked.free < ranks) {
      row.refused = fmt::format("{} GPUs are free", asked.free);
      continue;
    }
    PlaceResult placed = place(catalogue, asked.request, memory);
    row.time_s = placed.best.time_s;
    if (!best || is_better(row.time_s, asked.free, *best))
      best = BestNode{node, row.time_s, asked.free, std::move(placed)};
  }
  if (!best) throw NoRoom(name, "/nodes", fmt::format("none has {} GPUs free{}", ranks, refusals(tried)));
  best->tried = std::move(tried);
  return std::move(*best);
}

}  // namespace linkcast::placement
