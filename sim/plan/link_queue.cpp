#include "sim/plan/link_queue.hpp"

#include <algorithm>

namespace linkcast::activities {

double queued_Bps(int channels, double channel_Bps, double link_Bps) {
  const double service = std::min(1.0, channel_Bps / link_Bps);  // of the time of a chunk that meets no other
  double rate = 0, waiting = 0;                                  // in chunks of that time
  for (int k = 1; k <= channels; ++k) {
    const double at_link = service * (1 + waiting);
    rate = k / (1 - service + at_link);
    waiting = rate * at_link;
  }
  return rate * service * link_Bps;
}

}  // namespace linkcast::activities
