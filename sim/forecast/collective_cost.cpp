#include "sim/forecast/collective_cost.hpp"

#include <cmath>

namespace linkcast {
namespace {

// The library's table is no measurement. source: it differs by up to a factor of 2 between versions for the same GPU
// (ring LL base 3.6 to 6.6 us, hop 0.4 to 0.6 us).
constexpr double kTableError = 0.35;
// A tree's blocks split their threads between the way up and the way down. source: NCCL's all_reduce kernel runs both
// at once in one block (docs/communicators.md)
constexpr double kTreeShare = 0.5;

}  // namespace

CollectiveCost collective_cost(const Platform& platform, const Library& library, const Communicator& communicator,
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

}  // namespace linkcast
