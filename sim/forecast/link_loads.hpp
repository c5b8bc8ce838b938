#pragma once
// Load of each link by a collective.
#include <string>
#include <vector>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/collective_job.hpp"
#include "sim/query/key.hpp"

namespace linkcast::collective {

struct LinkLoad {
  std::string id;
  double carried_B = 0;
  double utilisation = 0;  ///< share of the time in which it carries them at its attained bandwidth
};

/// By its own bytes, the busiest first, and no more than a page can show.
/// @param time_s  that it takes, alone or with others
std::vector<LinkLoad> link_loads(const CollectiveJob& job, double time_s, Solver& solver);

/// The key `links` of answers, and its value.
query::Key links_result();
Json to_json(const std::vector<LinkLoad>& loads);

}  // namespace linkcast::collective
