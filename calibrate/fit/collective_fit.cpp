// What no copy can show of a communication library: launch, steps of a protocol, and what one channel moves.
// Smallest all_reduce by n GPUs on a ring or a tree:   base + steps hop               steps = 2 (n - 1)
// The same with one channel and S bytes each hop:      base + steps hop + S (steps + turn) / (steps rate)
// where turn, in steps, is what a round of the ring takes in which its channel sends nothing.
#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {
namespace {

// Sizes whose bytes cost nothing beside a step. source: H200, all_reduce of 8 B and 1 KiB differ by under two hops
constexpr double kSmallest_B = 1024;
// Sizes of which one channel takes milliseconds. source: H200, 3 ms of 64 MiB
constexpr double kPlenty_B = 16777216;

int steps_of(const MeasuredCollective& c) { return 2 * (static_cast<int>(c.gpus.size()) - 1); }
/// Bytes that cross each hop of the ring. source: 2 (n - 1) steps of size / n
double hop_bytes(const MeasuredCollective& c) { return c.size_B * steps_of(c) / static_cast<double>(c.gpus.size()); }

/// "nccl.ring.LL" of a parameter of it.
std::string subject_of(const ParameterKey& key) { return key.name.substr(0, key.name.rfind('.')); }

class CollectiveFit {
 public:
  CollectiveFit(FitContext& context, const std::vector<Measurement>& measurements) : context_(context) {
    for (const Measurement& m : measurements)
      if (m.of_base_costs()) points_.insert(points_.end(), m.collectives.begin(), m.collectives.end());
  }

  void run() {
    if (points_.empty()) return;
    for (const std::string protocol : {"LL", "LL128", "Simple"}) {
      if (fit_steps(ForcedAlgorithm::kRing, key::ring_base[protocol], key::ring_hop[protocol], protocol))
        fit_channel(protocol);
      fit_steps(ForcedAlgorithm::kTree, key::tree_base[protocol], key::tree_hop[protocol], protocol);
    }
    fit_sendrecv();
  }

 private:
  bool fit_steps(ForcedAlgorithm algorithm, const LibraryRow& base_row, const LibraryRow& hop_row,
                 const std::string& protocol) {
    const ParameterKey base = base_row.of_all(kBenchFamily), hop = hop_row.of_all(kBenchFamily);
    std::vector<Observation> rows;
    for (const MeasuredCollective& c : points_) {
      if (c.op != NcclOp::kAllReduce || c.algorithm != algorithm || c.protocol != protocol || c.channels > 0 ||
          c.size_B > kSmallest_B)
        continue;
      for (const double time : c.time_s) rows.push_back({{1, static_cast<double>(steps_of(c))}, time});
    }
    if (rows.empty()) return false;
    const bool counts =
        std::any_of(rows.begin(), rows.end(), [&](const Observation& o) { return o.row != rows[0].row; });
    if (!counts) {  // as on a machine with two GPUs
      context_.undetermined.push_back(base.name + " and " + std::string(hop.row->what) +
                                      ": smallest all_reduce of another GPU count");
      return false;
    }
    const LinearFit fit = robust_fit(rows, {base.name, hop.name});
    if (!(fit.value[0] > 0 && fit.value[1] > 0)) {
      context_.undetermined.push_back(subject_of(base) + ": smallest all_reduce of three GPU counts");
      return false;
    }
    context_.set(base, fit.value[0], fit.stderr_[0]);
    context_.set(hop, fit.value[1], fit.stderr_[1]);
    return true;
  }

  void fit_channel(const std::string& protocol) {
    const ParameterKey base = key::ring_base[protocol].of_all(kBenchFamily),
                       hop = key::ring_hop[protocol].of_all(kBenchFamily),
                       channel = key::ring_channel[protocol].of_all(kBenchFamily),
                       turn = key::ring_turn[protocol].of_all(kBenchFamily);
    std::vector<Observation> rows;
    for (const MeasuredCollective& c : points_) {
      if (c.op != NcclOp::kAllReduce || c.algorithm != ForcedAlgorithm::kRing || c.protocol != protocol ||
          c.channels != 1 || c.size_B < kPlenty_B)
        continue;
      const double latency = context_.value(base) + steps_of(c) * context_.value(hop);
      for (const double time : c.time_s)
        if (time > latency) rows.push_back({{hop_bytes(c), hop_bytes(c) / steps_of(c)}, time - latency});
    }
    if (rows.empty()) {
      context_.undetermined.push_back(channel.name + ": all_reduce of 16 MiB or more on one channel");
      return;
    }
    const LinearFit fit = robust_fit(rows, {channel.name, turn.name});
    const double rate = 1 / fit.value[0];
    context_.set(channel, rate, fit.stderr_[0] * rate * rate);
    context_.set(turn, std::max(0.0, fit.value[1] * rate), fit.stderr_[1] * rate);
  }

  void fit_sendrecv() {
    std::vector<double> small;
    for (const MeasuredCollective& c : points_)
      if (c.op == NcclOp::kSendrecv && c.channels == 0 && c.size_B <= kSmallest_B)
        small.insert(small.end(), c.time_s.begin(), c.time_s.end());
    if (small.empty()) return;
    const MedianEstimate base = estimate_median(small);
    context_.set(key::sendrecv_base.of_all(kBenchFamily), base.value, base.stderr_);
    std::vector<double> rates;
    for (const MeasuredCollective& c : points_)
      if (c.op == NcclOp::kSendrecv && c.channels == 1 && c.size_B >= kPlenty_B)
        for (const double time : c.time_s)
          if (time > base.value) rates.push_back(c.size_B / (time - base.value));
    if (rates.empty()) return;
    const MedianEstimate rate = estimate_median(rates);
    context_.set(key::sendrecv_channel.of_all(kBenchFamily), rate.value, rate.stderr_);
  }

  FitContext& context_;
  std::vector<MeasuredCollective> points_;
};

}  // namespace

void fit_collectives(FitContext& context, const std::vector<Measurement>& measurements) {
  CollectiveFit(context, measurements).run();
}

}  // namespace linkcast::fit
