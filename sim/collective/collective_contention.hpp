#pragma once
// Several collectives that start together, each of a communicator of its own, and share links.
#include <vector>

#include "sim/collective/collective_job.hpp"

namespace linkcast::collective {

/// The same collective with nothing else going on, and beside the others.
struct Contended {
  Run alone, together;
  [[nodiscard]] double slowdown() const { return together.time_s() / alone.time_s(); }
};

/// @param jobs  all on one platform. @returns  in the same order
std::vector<Contended> run_together(const std::vector<Job>& jobs, Solver& solver);

}  // namespace linkcast::collective
