#include "sim/forecast/alignment.hpp"

#include <cmath>

#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::collective {
namespace {

// source: NVIDIA CUDA C++ Programming Guide, device memory accesses: at most 16 bytes a thread and instruction, aligned
constexpr int kWidestAccess_B = 16;

}  // namespace

int access_width_B(double distance_B) {
  if (distance_B <= 0) return kWidestAccess_B;
  const double whole_B = kElement_B * std::floor(distance_B / kElement_B);
  int width_B = kWidestAccess_B;
  while (width_B > kElement_B && std::fmod(whole_B, width_B) != 0) width_B /= 2;
  return width_B;
}

double part_distance_B(const CollectiveJob& job, double exact_B) {
  if (job.rings().keeps_step() || exact_B == std::floor(exact_B)) return exact_B;
  return kWidestAccess_B * std::floor(exact_B / kWidestAccess_B);
}

int part_width_B(int part, double distance_B) {
  return access_width_B(part * kElement_B * std::floor(distance_B / kElement_B));
}

Learned narrow_rate(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                    int width_B) {
  const Prior believed = library.narrow_share(platform, communicator, width_B);
  return learned(platform.library_parameters(), communicator.library, width_B == 8 ? key::narrow8 : key::narrow4,
                 believed);
}

bool narrow_blocks(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                   const std::string& protocol, double distance_B, CollectiveCost& cost) {
  if (protocol == "LL" || distance_B <= 0) return false;
  const int width_B = access_width_B(distance_B);
  if (width_B == kWidestAccess_B) return false;
  const Learned share = narrow_rate(platform, library, communicator, width_B);
  cost.channel_Bps *= share.value;
  cost.add(Figure::kBlock, term_of(uncertainty::term::kAlignment, share, width_B == 8 ? key::narrow8 : key::narrow4));
  return true;
}

}  // namespace linkcast::collective
