#include "sim/forecast/near_ties.hpp"

#include <algorithm>
#include <cmath>

#include "sim/forecast/algorithm.hpp"

namespace linkcast::collective {
namespace {

// How far off the ratio of two rows may be: a row whose estimate is r times the best one's is r^(-1 / this) times as
// likely. source: Alps, all_reduce of 2 MiB on 4 nodes and of 256 KiB on 64: what ran was a row 1.15 and 1.12 times the
// best one; 1 MiB on 2 and 4 nodes and 512 KiB on 64: the best one ran, others were at 1.27, 1.4 and 1.31
// (calibrate/data/alps, and the rest of the same source)
constexpr double kTieError = 0.12;

}  // namespace

std::vector<NearRow> near_rows(const CollectiveJob& job) {
  const bool forced = !job.algorithm.empty() && !job.protocol.empty();
  if (job.one_node() || forced || job.own != nullptr || job.of_rounds() || job.of_messages()) return {};
  const TunerRequest request = job.tuner_request();
  if (!job.communicator.plugin.tuner.empty()) {
    const auto choice = job.rings().choose(job.node(), job.communicator, request);
    if (choice && choice->by_rule) return {};
  }
  std::vector<TunerEntry> entries = job.rings().tuner(job.node(), job.communicator, request);
  std::erase_if(entries, [&](const TunerEntry& row) {
    return !row.enabled || !request.admits(row) ||
           (!job.nvls && algorithms().get(row.algorithm).needs(job.communicator.nodes).multicast);
  });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TunerEntry& a, const TunerEntry& b) { return a.time < b.time; });
  std::vector<NearRow> rows;
  for (const TunerEntry& entry : entries) {
    const double weight = std::pow(entry.time.si / entries.front().time.si, -1 / kTieError);
    if (weight >= kLeastShare) rows.push_back({entry.algorithm, entry.protocol, weight});
  }
  if (rows.size() < 2) rows.clear();
  return rows;
}

}  // namespace linkcast::collective
