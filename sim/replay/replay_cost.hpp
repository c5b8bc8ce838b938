#pragma once
#include "sim/replay/replay.hpp"
#include "sim/work/estimate.hpp"

namespace linkcast::replay {

/// What a replay will take, from the applications' first steps and the lengths of files, without the replay.
/// Where counting already exceeds work::limits() it ends: then this is less than it would be.
work::Estimate estimate_of(const std::string& data_dir, const ReplayRequest& request);

/// Whether a trace comes through a pipe: it is read once, and its length is not known before its end.
bool through_a_pipe(const ReplayRequest& request);

/// Ends a replay whose length is not known where it has taken too long.
class Watch final : public ReplayObserver {
 public:
  /// @throws InputError  more than work::limits() allow, what was replayed so far, and what lifts the limit
  void ends(int /*rank*/, const FedEvent& /*event*/, double /*now_s*/) override { rounds_.done(++events_); }

 private:
  work::Rounds rounds_{"replay", "events", 0};
  std::int64_t events_ = 0;
};

}  // namespace linkcast::replay
