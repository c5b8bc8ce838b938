#pragma once
// Adaptive routing in steady state: which share of each pair's bytes leaves the minimal ways for detours.
#include <functional>
#include <vector>

#include "sim/platform/fabric_routing.hpp"

namespace linkcast {

/// Bytes from one endpoint to another.
struct Demand {
  int from = 0, to = 0;
  double bytes = 0;
};

/// Share of each demand that takes detours, spread evenly over them; the rest is spread evenly over the minimal ways.
/// A pair turns to detours while the busiest link of its minimal ways, on average over them, is busier than that of its
/// detours and busier than its own ports: what UGAL does with queues (Singh 2005), in equilibrium, by the method of
/// successive averages.
/// @param busy_s  seconds that a link needs for one byte
/// @return  one share a demand, 0 to 1; deterministic
std::vector<double> detour_shares(const Fabric& fabric, const std::function<double(int)>& busy_s,
                                  const std::vector<Demand>& demands);

/// Appends the links of both kinds of ways between two endpoints. @param detoured  share of the bytes
void add_adaptive_links(const Fabric& fabric, int from, int to, double detoured, std::vector<WeightedLink>& links);

/// The detours that stand for all of a pair: all of them, or evenly chosen ones where there are very many.
std::vector<int> detour_choices(const Fabric& fabric, int from, int to);

}  // namespace linkcast
