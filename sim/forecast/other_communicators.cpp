#include "sim/forecast/other_communicators.hpp"

#include <algorithm>
#include <set>

#include "sim/base/index.hpp"
#include "sim/forecast/call_sizes.hpp"
#include "sim/plan/request.hpp"

namespace linkcast::collective {
namespace {

/// Node numbers, all different. @returns  those of the first job where there is no such key
std::vector<int> read_nodes(const catalogue::Machine& machine, int first_nodes, ObjectReader& r) {
  if (!r.has("nodes")) return first_numbers(first_nodes);
  const auto nodes = r.required<std::vector<int>>("nodes");
  if (nodes.empty()) r.fail("nodes", "needs at least one node");
  if (nodes == std::vector<int>{0}) return nodes;
  const int most = machine.cluster().nodes();
  std::set<int> seen;
  for (const int node : nodes) {
    if (node < 0 || node >= most)
      r.fail("nodes", std::to_string(node) + " is no node: 0 to " + std::to_string(most - 1));
    if (!seen.insert(node).second) r.fail("nodes", "node " + std::to_string(node) + " is given twice");
  }
  return nodes;
}

PlacedJob read_other(const catalogue::Machine& machine, const PlacedCollective& first, int first_nodes,
                     ObjectReader& r) {
  PlacedCollective asked = first;
  asked.op = r.required<std::string>("op");
  PlacedNodes where{read_nodes(machine, first_nodes, r), {}};
  where.gpus = activities::read_gpus(r, machine.platform(), where.nodes.size() > 1 ? 1 : 2);
  const SizedCall size(asked.op, static_cast<int>(where.nodes.size() * where.gpus.size()), r);
  asked.size_B = size.size_B();
  asked.parts_B = size.op().parts_B();
  if (r.has("library")) asked.library = r.choice("library", libraries().names());
  r.finish();
  return place_job(machine, asked, where);
}

}  // namespace

std::vector<PlacedJob> read_others(const catalogue::Machine& machine, const PlacedCollective& first, int first_nodes,
                                   ObjectReader& r) {
  std::vector<PlacedJob> others;
  if (!r.has("with")) return others;
  const Json& list = r.raw("with");
  if (!list.is_array()) r.fail("with", "must be an array of {\"op\", \"size_B\", \"gpus\"}");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader one(list[i], r.file(), r.pointer("with") + "/" + std::to_string(i));
    others.push_back(read_other(machine, first, first_nodes, one));
  }
  return others;
}

const Cluster& shared_machine(const catalogue::Machine& machine, int first_nodes,
                              const std::vector<PlacedJob>& others) {
  const bool one_node = first_nodes == 1 && std::all_of(others.begin(), others.end(), [](const PlacedJob& other) {
                          return nodes_of(other.job) == std::vector<int>{0};
                        });
  return one_node ? machine.lone_node() : machine.cluster();
}

}  // namespace linkcast::collective
