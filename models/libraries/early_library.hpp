#pragma once
// Prior rates of thread blocks in versions without a cost model.
// Base and hop latencies of versions without a cost model: those of the oldest version that has one, 2.5.
// Base class of the versions without a cost model.
#include <string>

#include "models/libraries/generations.hpp"
#include "sim/base/quantity.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

// A thread of Simple and of LL. source: assumed: 64 bytes of loads on the way (four of 16) and about 0.8 us until they
// have arrived; of LL one line with 8 bytes of data in about 0.5 us
inline constexpr Prior kEarlyThread_Bps{80e6, 0.3}, kEarlyThreadLL_Bps{16e6, 0.5};
// The one block of version 1. source: assumed: 512 threads with two loads of 16 bytes each on the way (16 KiB), and
// about 1 us until a load from another GPU has arrived
inline constexpr Prior kFirstBlock_Bps{16e9, 0.4};

// Parts at multiples of 8 and of 4 bytes. source: models/libraries/SOURCES.md (uuudown/Tartan, scale_up_cl/nccl-v2: 6.6
// and 2.3 GB/s a block of a P100, where 16 bytes reach 8.7 and more)
inline constexpr Prior kPascalNarrow8{0.66, 0.3}, kPascalNarrow4{0.23, 0.3};
// Later GPUs ran later versions, which move single elements at either width. source: 18 MB/s a thread on P100 (2.3 GB/s
// of 128), 26 on H200 (three, all_gather and reduce_scatter: 0.48 x 28 GB/s of 512): their geometric mean over
// kEarlyThread_Bps, with half of the distance between the two and what one block of another GPU differs by
inline constexpr Prior kOtherNarrow{0.27, 0.35};

/// RingLibrary::narrow_share() of these versions. @param sm  compute capability x 10
constexpr Prior early_narrow_share(int sm, int width_B) {
  constexpr int kEight_B = 8;
  return !is_pascal(sm) ? kOtherNarrow : width_B == kEight_B ? kPascalNarrow8 : kPascalNarrow4;
}

/// Latencies of a ring. source: models/libraries/SOURCES.md (table of NCCL 2.5.6)
struct EarlyLatency {
  double base_us, nvlink_hop_us, pci_hop_us;
  [[nodiscard]] Seconds base() const { return {base_us * kMicro}; }
  [[nodiscard]] Seconds hop(const std::string& path_class) const {
    return {(path_class == "NVL" ? nvlink_hop_us : pci_hop_us) * kMicro};
  }
};
inline constexpr EarlyLatency kEarlyLL{3.6, 0.4, 1.0};      // source: as the struct
inline constexpr EarlyLatency kEarlySimple{8.4, 5.7, 5.7};  // source: as the struct

class EarlyLibrary : public Library, public RingLibrary {
 public:
  [[nodiscard]] const RingLibrary* rings() const final { return this; }
  [[nodiscard]] Prior narrow_share(const Platform& platform, const Communicator& communicator,
                                   int width_B) const final {
    return early_narrow_share(oldest_generation(platform, communicator.gpus), width_B);
  }
  /// As programs of their time were run: one process for all GPUs of a node. source: NVIDIA/nccl-tests of 2018, README:
  /// -g N; MPI was an option of the build
  [[nodiscard]] std::string usual_launch() const final { return "single_process"; }
  [[nodiscard]] bool keeps_step() const final { return true; }
};

}  // namespace linkcast
