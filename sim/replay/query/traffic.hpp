#pragma once
// What an application moves, and how long it is on the way: the sums that a profiler prints by kind of transfer.
#include <map>
#include <string>

#include "sim/replay/observer.hpp"

namespace linkcast::replay {

class Traffic final : public ReplayObserver {
 public:
  void meets(int rank, const TraceEvent& event, double now_s) override;
  void ends(int rank, const TraceEvent& event, double now_s) override;

  /// {compute_s, total_s, total_B, kinds: [{name, calls, size_B, time_s}]}. Kinds are operations of collectives, the
  /// three copies, send and recv; each rank's part counts, from the moment when all had come. total_* are of the kinds.
  [[nodiscard]] Json json() const;

 private:
  struct Kind {
    long calls = 0;
    double size_B = 0, time_s = 0;
  };
  std::map<std::string, Kind> kinds_;
  std::map<std::pair<int, std::string>, double> since_s_;  ///< rank and stream of what is on the way
  double compute_s_ = 0;
};

}  // namespace linkcast::replay
