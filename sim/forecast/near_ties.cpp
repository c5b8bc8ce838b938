#include "sim/forecast/near_ties.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "sim/forecast/algorithm.hpp"

namespace linkcast::collective {
namespace {

// How far off the ratio of two rows may be, where the machine's own were measured: a row whose estimate is r times the
// best one's is r^(-1 / this) times as likely. source: Alps, all_reduce of 2 MiB on 4 nodes and of 256 KiB on 64: what
// ran was a row 1.15 and 1.12 times the best one; 1 MiB on 2 and 4 nodes and 512 KiB on 64: the best one ran, others
// were at 1.27, 1.4 and 1.31 (calibrate/data/alps, and the rest of the same source)
constexpr double kMeasuredTieError = 0.12;
// Where nobody looked what runs, on other machines and of other operations, and latencies decide, it is 0.63 standard
// deviations of ln(ratio). source: from one modelled version of NCCL to the next it moves by 0.31 (root mean square
// over nine machines, 2 to 64 nodes, five operations, 4 KiB to 1 GiB; 0.15 from 256 MiB on), by 0.6 between trees in
// Simple and other rows; versions between two of them, what a plug-in reports of its network, and settings move it as
// much: on two nodes of Alps 1 MiB, whose rows are 1.27 apart, took 921 us on one partition and 164 to 188 on another
// (docs/accuracy.md)
constexpr double kTieError = 0.35;
// A row that is less likely by its estimate alone does not run; of the others counts what they are more likely, so that
// none comes in with a jump. source: ours, a tenth of what is not named
constexpr double kLeastWeight = 0.005;
// A row that takes r times as long as the best other one is r^(-this) times as likely. source: ours; of the two
// partitions of Alps above one runs a row that is 5 to 7 times as slow as what the other runs
constexpr double kTuned = 2;
constexpr double kNarrowest = 1e-3;  // source: ours, of ln(time): a spread that is none
// Rows that calls of so many times the size may take were weighed against this one by whoever drew the limit. source:
// ours, two of the steps of two by which such tables go
constexpr double kLarger = 4;

std::vector<TunerEntry> rows_that_may_run(const CollectiveJob& job, const TunerRequest& request) {
  std::vector<TunerEntry> entries = job.rings().tuner(job.node(), job.communicator, request);
  std::erase_if(entries, [&](const TunerEntry& row) {
    return !row.enabled || !request.admits(row) ||
           (!job.nvls && algorithms().get(row.algorithm).needs(job.communicator.nodes).multicast);
  });
  return entries;
}

/// Rows of a machine whose own were measured: those whose estimate is near the best one's.
std::vector<NearRow> measured_rows(const std::vector<TunerEntry>& entries) {
  std::vector<NearRow> rows;
  for (const TunerEntry& entry : entries) {
    const double weight = std::pow(entry.time.si / entries.front().time.si, -1 / kMeasuredTieError);
    if (weight >= kLeastShare) rows.push_back({entry.algorithm, entry.protocol, weight});
  }
  return rows;
}

/// How far off the ratio of two rows may be of which nobody looked what runs: by bytes as where somebody did, by
/// latencies more.
double tie_error(const TunerEntry& one, const TunerEntry& other) {
  const double latency = std::max(one.latency.si / one.time.si, other.latency.si / other.time.si);
  return kMeasuredTieError + (kTieError - kMeasuredTieError) * std::clamp(latency, 0.0, 1.0);
}

/// All rows; by a rule the library takes one of them for sure.
std::vector<NearRow> weighted_rows(const std::vector<TunerEntry>& entries, const std::optional<TunerChoice>& by_rule) {
  std::vector<NearRow> rows;
  for (const TunerEntry& entry : entries) {
    const double weight = std::pow(entry.time.si / entries.front().time.si, -1 / tie_error(entry, entries.front()));
    const bool chosen =
        by_rule && entry.algorithm == by_rule->entry.algorithm && entry.protocol == by_rule->entry.protocol;
    rows.push_back({entry.algorithm, entry.protocol,
                    by_rule ? (chosen ? 1 : 0) : std::max(0.0, (weight - kLeastWeight) / (1 - kLeastWeight))});
  }
  return rows;
}

/// Rows that only larger calls may take, with a weight of 0.
void add_larger(const CollectiveJob& job, TunerRequest request, const std::vector<TunerEntry>& entries,
                std::vector<NearRow>& rows) {
  request.size.si *= kLarger;
  for (const TunerEntry& larger : rows_that_may_run(job, request))
    if (std::none_of(entries.begin(), entries.end(), [&](const TunerEntry& row) {
          return row.algorithm == larger.algorithm && row.protocol == larger.protocol;
        }))
      rows.push_back({larger.algorithm, larger.protocol, 0});
}

}  // namespace

bool choice_measured(const CollectiveJob& job) {
  const LibraryParameters known = job.node().library_parameters();
  if (known.records()) return true;
  // source: calibrate/data: of several nodes of a machine only all_reduce has been published with its sizes
  const CollectiveTraits traits = job.op.traits();
  if (!traits.reduces || !traits.gathers) return false;
  const auto& hops = key::network_hop.all();
  return std::any_of(hops.begin(), hops.end(), [&](const LibraryRow& hop) {
    return learned(known, job.communicator.library, hop).provenance == "fitted";
  });
}

std::vector<NearRow> near_rows(const CollectiveJob& job) {
  const bool forced = !job.algorithm.empty() && !job.protocol.empty();
  if (job.one_node() || forced || job.own != nullptr || job.of_rounds() || job.of_messages()) return {};
  const TunerRequest request = job.tuner_request();
  const bool measured = choice_measured(job);
  std::optional<TunerChoice> by_rule;
  if (!job.communicator.plugin.tuner.empty()) {
    by_rule = job.rings().choose(job.node(), job.communicator, request);
    if (by_rule && !by_rule->by_rule) by_rule.reset();
    if (by_rule && measured) return {};
  }
  std::vector<TunerEntry> entries = rows_that_may_run(job, request);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TunerEntry& a, const TunerEntry& b) { return a.time < b.time; });
  std::vector<NearRow> rows = measured ? measured_rows(entries) : weighted_rows(entries, by_rule);
  if (!measured) add_larger(job, request, entries, rows);
  const bool any = std::any_of(rows.begin(), rows.end(), [](const NearRow& row) { return row.weight > 0; });
  if (rows.size() < 2 || !any) rows.clear();
  return rows;
}

Tuned as_tuned(double excess, double spread) {
  const double sigma = std::max(spread, kNarrowest);
  const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); };
  // A normal distribution times exp(-kTuned x) above 0 is there a part of one around `shifted`.
  const double shifted = excess - kTuned * sigma * sigma;
  const double scale = std::exp(kTuned * (kTuned * sigma * sigma / 2 - excess));
  const double faster = below(-excess / sigma), slower = scale * below(shifted / sigma);
  const double mean =
      excess * faster - sigma * density(excess / sigma) + shifted * slower + scale * sigma * density(shifted / sigma);
  const double likelihood = faster + slower;
  // A row that is as fast as any stays as it is, and none gets faster than these.
  return {likelihood, std::min(excess, std::max(mean / likelihood, 0.0))};
}

}  // namespace linkcast::collective
