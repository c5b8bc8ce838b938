#pragma once
// A collective on nodes wherever they are, as activities that share links.
#include <memory>

#include "sim/forecast/collective_forecast.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::collective {

/// Which GPUs of which nodes of a cluster, in rank order; the same GPUs of each.
struct PlacedNodes {
  std::vector<int> nodes, gpus;
};

/// What is asked of a library. @param library  empty: that of the machine's time that has such ranks
struct PlacedCollective {
  std::string library, op;
  double size_B = 0;
  int calls = kUsualCalls;
  bool nvls = true;                ///< false: without multicast by NVSwitch, whatever the machine offers
  std::string transport{};         ///< of a schedule's messages between nodes, where its buffers are not staged
  std::vector<double> parts_B{};   ///< of an operation whose parts differ: Collective::parts_B()
  const Algorithm* own = nullptr;  ///< a user's schedule, in the place of the library's choice
};

struct PlacedJob {
  std::unique_ptr<Cluster> machine;  ///< the job's nodes first; null where they are the first ones, or one alone
  std::shared_ptr<const Communicator> ranks;
  std::unique_ptr<Collective> own;  ///< with parts of its own
  CollectiveJob job;                ///< with its order; refers to the machine that it was placed on
};

/// @throws InputError  the library has no such ranks
PlacedJob place_job(const catalogue::Machine& machine, const PlacedCollective& asked, const PlacedNodes& where);

/// On these nodes. @returns  with keys of the platform's cluster
activities::Plan placed_collective(catalogue::Catalogue& catalogue, const catalogue::Machine& machine,
                                   const PlacedCollective& asked, const PlacedNodes& where);

/// The library of the machine's time; where that is modelled for one node only, or has no sends,
/// the oldest that has.
std::string usual_library_across(const Calibration& calibration);

}  // namespace linkcast::collective
