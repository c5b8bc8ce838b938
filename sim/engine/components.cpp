#include "sim/engine/components.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast {

std::size_t largest_component(const Problem& problem) {
  std::vector<int> parent(problem.capacity_Bps.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int c) {
    while (parent[at(c)] != c) c = parent[at(c)] = parent[at(parent[at(c)])];
    return c;
  };
  const auto first = [&](const Activity& flow) {  // constraint; kOwnCap: none
    const bool own = flow.trunk == kNoTrunk || problem.trunks[at(flow.trunk)].empty();
    const std::vector<Use>& uses = own ? flow.uses : problem.trunks[at(flow.trunk)];
    return uses.empty() ? kOwnCap : uses.front().constraint;
  };
  for (const std::vector<Use>& trunk : problem.trunks)
    for (const Use& use : trunk) parent[at(root(use.constraint))] = root(trunk.front().constraint);
  for (const Activity& flow : problem.activities)
    for (const Use& use : flow.uses) parent[at(root(use.constraint))] = root(first(flow));
  std::vector<std::size_t> flows(parent.size(), 0);
  std::size_t most = 0;
  for (const Activity& flow : problem.activities)
    if (const int meets = first(flow); meets != kOwnCap) most = std::max(most, ++flows[at(root(meets))]);
  return most;
}

}  // namespace linkcast
