#pragma once
// Times work on several streams that all start at the same moment.
//
// Measures: seconds from the release of the lane to the end of the work queued on it, by CUDA events of its own device.
// Method: every lane is held by a spinning kernel that polls one word of mapped host memory; the work is queued behind
// it, then the word is set. Queueing and launch costs on the host are therefore outside the measured time.
// Limits: lanes start within one PCIe round trip of each other (about 1 us); the event pair itself costs a little,
// `empty_pair_s` of the record says how much. Work that makes the host wait while it is queued cannot be held: the hold
// gives up after kHoldLimit and the result says held = false.
#include <functional>
#include <vector>

#include "calibrate/bench/device.hpp"

namespace linkcast::bench {

using Streams = std::vector<cudaStream_t>;
using Enqueue = std::function<void(const Streams&)>;

/// How much to spend on one point.
struct Effort {
  int warm_up = 1;
  int min_repetitions = 3;
  int max_repetitions = 10;
  double budget_s = 0.1;  ///< after min_repetitions, stop once this is spent
};

struct Samples {
  std::vector<double> makespan_s;           ///< slowest lane, one entry a repetition
  std::vector<std::vector<double>> lane_s;  ///< [lane][repetition]
  bool held = true;                         ///< false: the lanes were not released together
};

class LaneTimer {
 public:
  /// One lane per entry; a device may appear several times.
  explicit LaneTimer(const std::vector<int>& devices);

  /// Seconds of every lane for one run of `enqueue`; `hold` becomes false when the work cannot be queued behind a hold.
  std::vector<double> time(const Enqueue& enqueue, bool& hold);

  /// Warm-up and repetitions as `effort` says; times are divided by `copies`, the number of equal items in the queue.
  Samples repeat(const Enqueue& enqueue, int copies, const Effort& effort, bool hold = true);

 private:
  struct Lane {
    Stream stream;
    Event start, end;
  };
  void queue(const Enqueue& enqueue, bool hold);

  std::vector<Lane> lanes_;
  Streams streams_;
  PinnedMemory words_;  ///< [0] ticket, [1] expired
  int ticket_ = 0;
};

/// Items in one repetition of a back-to-back measurement of a transfer of `bytes`.
int copies_per_repetition(std::size_t bytes);
/// The rule above in words, for the record.
const char* copies_rule();

}  // namespace linkcast::bench
