#include "sim/collective/collective_cost.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::collective {
namespace {

// The library's table is no measurement. source: it differs by up to a factor of 2 between versions for the same GPU
// (ring LL base 3.6 to 6.6 us, hop 0.4 to 0.6 us).
constexpr double kTableError = 0.35;
// A tree's blocks split their threads between the way up and the way down. source: NCCL's all_reduce kernel runs both
// at once in one block (docs/communicators.md)
constexpr double kTreeShare = 0.5;
// source: NVIDIA CUDA C++ Programming Guide, device memory accesses: at most 16 bytes a thread and instruction, aligned
constexpr double kWidestAccess_B = 16;
// Where blocks do not start at 16 bytes, threads move single elements. source: all_gather and reduce_scatter on 3 H200,
// occasions 20261121a and b: 0.44 and 0.54 of the rate, the same for blocks at 8 and at 4 bytes (20261121e)
constexpr double kNarrowShare = 0.5;

/// Every step of a ring waits for its slowest member; the hops of a tree follow each other through all of them.
double slowness(const Platform& platform, const Communicator& communicator, bool tree) {
  double most = 1, sum = 0;
  for (const int gpu : communicator.gpus) {
    const double slow = platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].slow;
    most = std::max(most, slow);
    sum += slow;
  }
  return tree ? sum / static_cast<double>(communicator.gpus.size()) : most;
}

/// Kernels that take `slow` times as long; `hops` for the steps.
void slow_down(CollectiveCost& cost, double slow, double hops) {
  cost.base_s *= slow;
  cost.hop_s *= hops;
  cost.error_s *= slow;
  cost.channel_Bps /= slow;
}

/// Base and hop as measured on this machine, or as the library's table says.
CollectiveCost cost_as_fitted(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                              const std::string& algorithm, const std::string& protocol, int steps) {
  const Calibration& calibration = platform.calibration();
  const std::string prefix = "nccl." + algorithm + "." + protocol + ".";
  const Parameter* base = calibration.find(prefix + "base_s");
  const Parameter* hop = calibration.find(prefix + "hop_s");
  CollectiveCost cost;
  if (!base || !hop) {
    const bool tree = algorithm == "tree";
    cost.base_s = library.base_latency(protocol).si;
    cost.hop_s = library.hop_latency(protocol, tree ? communicator.tree_class : communicator.path_class).si;
    cost.error_s = kTableError * (cost.base_s + steps * cost.hop_s);
    return cost;
  }
  cost.measured = true;
  cost.base_s = base->value;
  cost.hop_s = hop->value;
  cost.error_s = std::hypot(base->stderr_, steps * hop->stderr_);
  const std::string ring = "nccl.ring." + protocol + ".";
  if (const Parameter* rate = calibration.find(ring + "channel_Bps"))
    cost.channel_Bps = rate->value * (algorithm == "tree" ? kTreeShare : 1);
  if (const Parameter* turn = calibration.find(ring + "turn_steps"))
    if (algorithm == "ring") cost.turn_steps = turn->value;
  return cost;
}

}  // namespace

CollectiveCost collective_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                               const std::string& algorithm, const std::string& protocol, int steps) {
  CollectiveCost cost = cost_as_fitted(platform, library, communicator, algorithm, protocol, steps);
  slow_down(cost, slowness(platform, communicator, false), slowness(platform, communicator, algorithm == "tree"));
  return cost;
}

CollectiveCost library_cost(Seconds latency) {
  CollectiveCost cost;
  cost.base_s = latency.si;
  cost.error_s = kTableError * latency.si;
  return cost;
}

double alignment_share(const std::string& protocol, double distance_B) {
  if (protocol == "LL" || distance_B <= 0) return 1;
  return std::fmod(distance_B, kWidestAccess_B) == 0 ? 1 : kNarrowShare;
}

CollectiveCost message_cost(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                            const std::string& protocol) {
  const double slow = slowness(platform, communicator, false);
  CollectiveCost cost = cost_as_fitted(platform, library, communicator, "ring", protocol, 1);
  cost.turn_steps = 0;
  const Calibration& calibration = platform.calibration();
  const Parameter* base = calibration.find("nccl.sendrecv.base_s");
  if (!base || !cost.measured) {
    slow_down(cost, slow, slow);
    return cost;
  }
  // The base is that of the smallest messages, which take LL; what Simple costs more is what it costs a ring more.
  const CollectiveCost smallest = cost_as_fitted(platform, library, communicator, "ring", "LL", 1);
  cost.base_s += base->value - smallest.base_s;
  cost.hop_s = 0;
  cost.error_s = base->stderr_;
  const Parameter* rate = calibration.find("nccl.sendrecv.channel_Bps");
  if (rate && protocol == "Simple") cost.channel_Bps = rate->value;
  slow_down(cost, slow, slow);
  return cost;
}

}  // namespace linkcast::collective
