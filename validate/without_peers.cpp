#include "validate/without_peers.hpp"

namespace linkcast::validate {

bool without_peers(const Platform& platform, const Measurement& measurement, const MeasuredCollective& c) {
  if (measurement.peer_access || c.gpus.size() < 2) return false;
  const auto known = [&](int gpu) { return gpu >= 0 && gpu < platform.gpu_count(); };
  return known(c.gpus[0]) && known(c.gpus[1]) &&
         platform.peer_route(platform.gpu(c.gpus[0]), platform.gpu(c.gpus[1])).has_value();
}

}  // namespace linkcast::validate
