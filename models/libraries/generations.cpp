#include "models/libraries/generations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/base/input_error.hpp"

namespace linkcast {

void check_members(const Platform& platform, const std::vector<int>& gpus) {
  if (gpus.size() < 2) throw InputError("gpus: a communicator needs at least 2");
  const int count = platform.gpu_count();
  std::set<int> seen;
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= count) throw InputError(fmt::format("gpus: no GPU {}: 0 to {} exist", gpu, count - 1));
    if (!seen.insert(gpu).second) throw InputError(fmt::format("gpus: GPU {} is given twice", gpu));
  }
}

int oldest_generation(const Platform& platform, const std::vector<int>& gpus) {
  const auto sm = [&](int gpu) { return platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm; };
  int least = sm(gpus.front());
  for (const int gpu : gpus) least = std::min(least, sm(gpu));
  return least;
}

}  // namespace linkcast
