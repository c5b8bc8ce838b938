#pragma once
// Base and hop latencies of versions without a cost model: those of the oldest version that has one, 2.5.
#include <string>

#include "sim/base/factors.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast {

/// Of a ring. source: models/libraries/SOURCES.md (table of NCCL 2.5.6)
struct EarlyLatency {
  double base_us, nvlink_hop_us, pci_hop_us;
  [[nodiscard]] Seconds base() const { return {base_us * kMicro}; }
  [[nodiscard]] Seconds hop(const std::string& path_class) const {
    return {(path_class == "NVL" ? nvlink_hop_us : pci_hop_us) * kMicro};
  }
};
inline constexpr EarlyLatency kEarlyLL{3.6, 0.4, 1.0};      // source: as the struct
inline constexpr EarlyLatency kEarlySimple{8.4, 5.7, 5.7};  // source: as the struct

}  // namespace linkcast
