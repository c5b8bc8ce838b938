// What kernels get of the links between GPUs.
#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::activities {
namespace {

/// What kernels get of Infinity Fabric is the link's doing, not the kernel's: one, two and four links of MI250X carry
/// 38, 76 and 148 GB/s of its stores. source: calibrate/data/lumi/reframe-kernel.json
bool limited_by_link(const Cable& cable) {
  const CableKind* kind = find_cable_kind(cable.kind);
  return kind != nullptr && kind->trait == CableTrait::kForwarded;
}

}  // namespace

double kernel_link_share(const Platform& platform, int cable) {
  const Cable& one = platform.topology().cables[at(cable)];
  const auto stored = limited_by_link(one) ? platform.cable_parameter(one, key::cable_store) : std::nullopt;
  const auto copied = stored ? platform.cable_parameter(one, key::cable_bandwidth) : std::nullopt;
  return stored && copied ? std::min(1.0, stored->value / copied->value) : kernel_link_share();
}

double kernel_link_share(const Platform& platform, const std::vector<int>& links) {
  double share = 1;
  for (const int link : links) share = std::min(share, kernel_link_share(platform, platform.links()[at(link)].cable));
  return share;
}

double kernel_rate(const Platform& platform, const std::vector<int>& links, bool loads) {
  double rate = kInfinity;
  for (const int link : links)
    if (!limited_by_link(platform.topology().cables[at(platform.links()[at(link)].cable)]))
      rate = std::min(rate, platform.kernel_cap(link, loads));
  return rate;
}

}  // namespace linkcast::activities
