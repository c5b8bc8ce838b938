#pragma once
// Adaptive routing in steady state: which share of each pair's bytes leaves the minimal ways for detours.
#include <functional>
#include <limits>
#include <vector>

#include "sim/machine/fabric.hpp"

namespace linkcast {

/// Bytes from one endpoint to another.
struct Demand {
  int from = 0, to = 0;
  double bytes = 0;
};

/// All bytes from the endpoints of one switch to those of another one.
struct SwitchDemand {
  int from = 0, to = 0;  ///< an endpoint of each, any
  double bytes = 0;
  double port_s = 0;  ///< that the busiest port of these endpoints is busy
};

/// Links that carry the same, where demands repeat from turn to turn of the fabric: those of one stand for all.
struct LinkOrbits {
  int turns = 1;
  std::vector<int> of_link{};  ///< by link; -1 for ports
  std::vector<int> sizes{};    ///< links of each orbit
};

/// What takes detours.
struct Detours {
  std::vector<double> shares;  ///< of each demand, 0 to 1
  int choices = 0;             ///< detours of a pair that stand for all, at most
};

/// Share of each demand that is spread evenly over its detours; the rest is spread evenly over the minimal ways. A pair
/// turns to detours while the busiest link of its minimal ways, on average over them, is busier than that of its
/// detours and busier than its own ports: what UGAL does with queues (Singh 2005), in equilibrium, by the method of
/// successive averages.
/// @param busy_s  seconds that a link needs for one byte
/// @param orbits  of more than one turn: demands are those of one, and the same in all others
/// @return  deterministic
Detours switch_detours(const Fabric& fabric, const std::function<double(int)>& busy_s,
                       const std::vector<SwitchDemand>& demands, const LinkOrbits& orbits = {});

/// Traffic that is on the fabric already.
struct Concurrent {
  std::function<double(int)> busy_s{};  ///< by link: how long others keep it busy meanwhile; empty: there is none
  double moving_s = 0;                  ///< that the demands take alone: at a link that is busy for less nobody waits
  int choices = 0;                      ///< detours of a pair, where others run
};
/// The same of single endpoints: those of the same two switches have one share.
Detours endpoint_detours(const Fabric& fabric, const std::function<double(int)>& busy_s,
                         const std::vector<Demand>& demands, const Concurrent& concurrent = {});

/// How the bytes between two endpoints are spread.
struct AdaptiveWay {
  double detoured = 0;                         ///< share of them
  int choices = 0;                             ///< detours that stand for all
  int most = std::numeric_limits<int>::max();  ///< ways of each kind; of fewer than choices, each pair has its own
};
/// Appends the links of both kinds of ways between two endpoints.
void add_adaptive_links(const Fabric& fabric, int from, int to, const AdaptiveWay& how,
                        std::vector<WeightedLink>& links);

}  // namespace linkcast
