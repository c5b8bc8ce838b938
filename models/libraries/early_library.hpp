#pragma once
// What the versions before cost models have in common.
#include <string>

#include "models/libraries/compute_capability.hpp"
#include "models/libraries/early_blocks.hpp"
#include "models/libraries/members.hpp"
#include "sim/machine/library.hpp"

namespace linkcast {

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
