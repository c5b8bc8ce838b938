#include "sim/forecast/narrow_steps.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/index.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/forecast/host_path.hpp"

namespace linkcast::collective {
namespace {

// A load from the GPU's own memory. source: NVIDIA CUDA C Programming Guide 8.0, 5.2.3: 400 to 600 cycles are hidden,
// at the boost clock of a P100 (1,480 MHz, NVIDIA Tesla P100 whitepaper, table 1); later GPUs are within the spread
constexpr double kOwnLoad_s = 500 / 1480e6, kOwnSpread = 0.2;

/// Rank whose part leaves position `from` of a ring in a step: in an all_gather that of whoever is `step` places
/// before, in a reduce_scatter that of the rank where it ends.
int part_moved(const CollectiveJob& job, const Channel& ring, int from, int step) {
  const int ranks = job.ranks();
  const int owner = from - step - (job.op.traits().reduces ? 1 : 0);
  const int gpu = ring.order[at((owner + 2 * ranks) % ranks)];
  const std::vector<int>& members = job.communicator.gpus;
  return static_cast<int>(std::find(members.begin(), members.end(), gpu) - members.begin());
}

}  // namespace

double narrow_host_share(const CollectiveJob& job, const Channel& ring, double distance_B, CollectiveCost& cost) {
  if (!job.one_node() || !job.rings().keeps_step() || !job.op.closed()) return 1;
  const int worst_B = access_width_B(distance_B), steps = job.op.steps(job.ranks());
  if (worst_B == access_width_B(0) || !through_host(job.communicator)) return 1;
  const double slower = kHostLoad_s / kOwnLoad_s;
  double time = 0, of_host = 0;  // in steps without host memory
  for (int step = 0; step < steps; ++step) {
    double slowest = 1;
    for (std::size_t hop = 0; hop < ring.hops.size(); ++hop) {
      if (ring.hops[hop].kind != HopKind::kHostMemory) continue;
      const int width_B = part_width_B(part_moved(job, ring, static_cast<int>(hop), step), distance_B);
      if (width_B == access_width_B(0)) continue;
      const double wider = narrow_rate(job.node(), job.rings(), job.communicator, width_B).value /
                           narrow_rate(job.node(), job.rings(), job.communicator, worst_B).value;
      slowest = std::max(slowest, slower / wider);
    }
    time += slowest;
    if (slowest > 1) of_host += slowest;
  }
  cost.add(Figure::kBlock,
           {uncertainty::term::kAlignment, 0, ErrorPart(of_host / time * std::hypot(kOwnSpread, kHostLoadSpread)),
            uncertainty::kAssumed});
  return steps / time;
}

}  // namespace linkcast::collective
