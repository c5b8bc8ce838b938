#pragma once
// What every bench is given: the machine, the options and the shared memory, all made on first use.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/bench/device.hpp"
#include "calibrate/bench/lane_timer.hpp"
#include "calibrate/bench/options.hpp"

namespace linkcast::bench {

class Context {
 public:
  Context(Options options, int gpus) : options(std::move(options)), gpus(gpus) {}

  const Options options;
  const int gpus;

  Buffers& buffers();
  PeerAccess& peers();
  /// The timer with one lane on each of these devices.
  LaneTimer& timer(const std::vector<int>& devices);
  /// Repetitions of a point; large transfers get fewer.
  [[nodiscard]] Effort effort(std::size_t bytes) const;
  /// Busy copies on every GPU until the clocks are up.
  void warm_clocks();

 private:
  std::unique_ptr<Buffers> buffers_;
  std::unique_ptr<PeerAccess> peers_;
  std::map<std::vector<int>, LaneTimer> timers_;
};

std::string gpu_id(int gpu);  ///< "gpu0"

}  // namespace linkcast::bench
