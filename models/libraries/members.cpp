#include "models/libraries/members.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "sim/records/input_error.hpp"

namespace linkcast {

void check_members(const Platform& platform, const std::vector<int>& gpus) {
  if (gpus.size() < 2) throw InputError("gpus: a communicator needs at least 2");
  const int count = platform.gpu_count();
  std::set<int> seen;
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= count)
      throw InputError("gpus: no GPU " + std::to_string(gpu) + ": 0 to " + std::to_string(count - 1) + " exist");
    if (!seen.insert(gpu).second) throw InputError("gpus: GPU " + std::to_string(gpu) + " is given twice");
  }
}

int oldest_generation(const Platform& platform, const std::vector<int>& gpus) {
  const auto sm = [&](int gpu) { return platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm; };
  int least = sm(gpus.front());
  for (const int gpu : gpus) least = std::min(least, sm(gpu));
  return least;
}

}  // namespace linkcast
