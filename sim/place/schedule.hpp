#pragma once
// A queue of jobs on a machine under one placement policy: first come, first served.
#include "sim/base/progress.hpp"
#include "sim/place/machine.hpp"

namespace linkcast::scheduling {

struct JobOutcome {
  const ScheduledJob* job = nullptr;
  std::vector<int> gpus;
  double start_s = 0, end_s = 0;
  double ideal_s = 0;  ///< alone on the best GPUs of the idle machine
  double alone_s = 0;  ///< on its own GPUs, had it been alone there
  [[nodiscard]] double slowdown() const { return (end_s - start_s) / ideal_s; }
  /// What its GPUs cost it without any neighbour; the rest of slowdown() is what neighbours cost.
  [[nodiscard]] double slowdown_alone() const { return alone_s / ideal_s; }
};

/// Every job to its end. Whenever one starts or ends, the others' iterations take what their links leave them from then
/// on; of each of the others an average of its traffic is there (traffic.hpp).
/// @returns  in the order of the list
/// @throws InputError  a job needs more GPUs than the machine has
std::vector<JobOutcome> schedule(const JobList& list, Machine& machine, const std::string& policy, std::uint64_t seed,
                                 log::Progress& progress);

/// Keys jobs [{id, gpus, wait_s, run_s, ideal_s, slowdown, slowdown_alone}], slowdown and slowdown_alone {mean, median,
/// p95, max}, wait_s {mean, median, p95, max}, makespan_s, utilisation (of GPUs until the last end).
Json schedule_json(const std::vector<JobOutcome>& outcomes, int gpus);

}  // namespace linkcast::scheduling
