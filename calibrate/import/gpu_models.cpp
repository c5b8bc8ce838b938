#include "calibrate/import/gpu_models.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace linkcast::topology_import {
namespace {

// GB/s that nvidia-smi nvlink -s prints for one link.
// source: 26.562 by the H200 that linkcast-bench measured; the others as public logs of P100, V100, A100, RTX 3090 and
// B200 show them, not seen by this project
constexpr std::array kShown = {std::pair(1, 19.531), std::pair(2, 25.781), std::pair(3, 25.781), std::pair(3, 25.0),
                               std::pair(3, 14.062), std::pair(4, 26.562), std::pair(5, 53.125)};

}  // namespace

int nvlink_generation_of(double shown_GBps) {
  int generation = 0;
  for (const auto& [candidate, shown] : kShown) {
    if (std::abs(shown - shown_GBps) > 0.002) continue;  // cut or rounded to three digits. source: nvidia-smi
    if (generation != 0) return 0;
    generation = candidate;
  }
  return generation;
}

bool shows_as(const NvlinkType& type, double shown_GBps) {
  const int only = nvlink_generation_of(shown_GBps);
  if (only != 0 && only != type.generation) return false;
  // source: the rates above lie between 2.4 % below (NVLink 1) and 6.3 % above (NVLink 4, 5) the nominal rate
  const double per_nominal = shown_GBps * 1e9 / type.rate.si;
  return per_nominal > 0.95 && per_nominal < 1.07;
}

}  // namespace linkcast::topology_import
