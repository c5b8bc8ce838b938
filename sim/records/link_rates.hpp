#pragma once
// Nominal rates of links from published specifications: one link or lane, one direction.
// Header only: linkcast-bench is built without our libraries.
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "sim/units/quantity.hpp"

namespace linkcast {

struct NvlinkType {
  int generation = 0;
  BytesPerSecond rate;
  int links = 0;  ///< of the largest GPU with this compute capability
};

/// @source  NVIDIA datasheets of P100, V100, RTX 2080 Ti, A100, A6000, H100 and B200; the totals there count both
///          directions of all links
/// @returns nothing for a compute capability (x 10) without NVLink, or not known here
inline std::optional<NvlinkType> nvlink_of(int sm) {
  switch (sm) {
    case 60:
      return NvlinkType{1, {20e9}, 4};
    case 70:
      return NvlinkType{2, {25e9}, 6};
    case 75:
      return NvlinkType{2, {25e9}, 2};
    case 80:
      return NvlinkType{3, {25e9}, 12};
    case 86:
      return NvlinkType{3, {14.0625e9}, 4};
    case 90:
      return NvlinkType{4, {25e9}, 18};
    case 100:
    case 103:
      return NvlinkType{5, {50e9}, 18};
    default:
      return std::nullopt;
  }
}

/// After line coding.
/// @source  PCI-SIG, PCI Express Base Specification: 2.5 and 5 GT/s with 8b/10b, 8 to 32 GT/s with 128b/130b, 64 GT/s
///          with 242 of 256 bytes payload
/// @returns nothing for a generation not known here
inline std::optional<BytesPerSecond> pcie_lane(int generation) {
  constexpr std::array<double, 6> bits = {2.5 * 8 / 10,     5.0 * 8 / 10,     8.0 * 128 / 130,
                                          16.0 * 128 / 130, 32.0 * 128 / 130, 64.0 * 242 / 256};
  if (generation < 1 || generation > static_cast<int>(bits.size())) return std::nullopt;
  return BytesPerSecond{bits[static_cast<std::size_t>(generation) - 1] * 1e9 / 8};
}

struct SocketLink {
  std::string kind;
  BytesPerSecond rate;
};

/// The slowest link of the family that the maker of a CPU joins sockets with; upi also for makers not known here.
/// @source  Intel UPI 10.4 GT/s x 2 bytes, AMD xGMI 18 GT/s x 16 bits, IBM POWER9 X-bus 64 GB/s datasheets
inline SocketLink socket_link(const std::string& vendor) {
  if (vendor == "amd") return {"infinity_fabric_cpu", {36e9}};
  if (vendor == "ibm") return {"xbus", {64e9}};
  return {"upi", {20.8e9}};
}

/// "15.754 GB/s": as topologies write rates.
inline std::string rate_text(BytesPerSecond rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.5g GB/s", rate.si / 1e9);
  return text.data();
}

}  // namespace linkcast
