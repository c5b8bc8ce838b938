// A step of synchronous data-parallel training: forward, backward with one all_reduce a bucket of gradients that runs
// beside the rest of the backward pass, and the update of the weights.
#include <cstdint>

#include "apps-traces/generators/rank_writer.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

/// Options, with the defaults.
struct DataParallelTraining {
  int ranks, steps, buckets;
  double gradients_B, forward_s, backward_s, update_s;
};

DataParallelTraining training_of(const TraceOptions& options) {
  return {options.whole("ranks", 4, 2),       options.whole("steps", 3), options.whole("buckets", 4),
          options.bytes("gradients", 100e6),   // source: assumed, 25 million parameters of 4 bytes (ResNet-50)
          options.seconds("forward", 10e-3),   // source: assumed, what options are for
          options.seconds("backward", 20e-3),  // source: assumed, backward costs twice the forward pass
          options.seconds("update", 1e-3)};    // source: assumed, what options are for
}

/// Events of one rank; ids are those of the whole trace of this rank.
class RankSteps {
 public:
  RankSteps(int rank, const DataParallelTraining& training, TraceSink& sink)
      : rank_(rank), training_(training), sink_(sink) {}

  void step() {
    compute("forward", training_.forward_s);
    std::vector<std::int64_t> sums;
    for (int bucket = 0; bucket < training_.buckets; ++bucket) {
      compute("backward", training_.backward_s / training_.buckets);
      sums.push_back(all_reduce(training_.gradients_B / training_.buckets));
    }
    TraceEvent update = event(TraceKind::kCompute, "update");
    update.time_s = training_.update_s;
    update.after = sums;
    sink_.event(update);
    sink_.event(event(TraceKind::kSync, ""));
    sink_.event(event(TraceKind::kStep, ""));
  }

 private:
  TraceEvent event(TraceKind kind, const std::string& name) {
    TraceEvent event;
    event.rank = rank_;
    event.kind = kind;
    event.stream = kind == TraceKind::kSync ? "" : "0";
    event.name = name;
    if (kind != TraceKind::kSync && kind != TraceKind::kStep) event.id = ++id_;
    return event;
  }
  void compute(const std::string& name, double time_s) {
    TraceEvent part = event(TraceKind::kCompute, name);
    part.time_s = time_s;
    sink_.event(part);
  }
  std::int64_t all_reduce(double size_B) {
    TraceEvent sum = event(TraceKind::kCollective, "gradients");
    sum.stream = "communication";
    sum.after = {*sum.id - 1};
    sum.op = "all_reduce";
    sum.group = "all";
    sum.size_B = size_B;
    sink_.event(sum);
    return *sum.id;
  }

  int rank_;
  const DataParallelTraining& training_;
  TraceSink& sink_;
  std::int64_t id_ = 0;
};

class DataParallel final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"ranks", "GPUs, 4 unless said"},
            {"steps", "3 unless said"},
            {"buckets", "all_reduces a step, 4 unless said"},
            {"gradients", "bytes of all gradients, 100MB unless said"},
            {"forward", "time of the forward pass, 10ms unless said"},
            {"backward", "time of the backward pass, 20ms unless said"},
            {"update", "time of the update, 1ms unless said"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const DataParallelTraining training = training_of(options);
    TraceHeader header;
    header.name = "data_parallel";
    refuse_many_ranks(training.ranks);
    header.ranks = training.ranks;
    header.source = "generated: synchronous data-parallel training, one all_reduce a bucket beside the backward pass";
    header.notes = {"assumed: times and sizes that no option gave"};
    for (int rank = 0; rank < training.ranks; ++rank) header.groups["all"].push_back(rank);
    sink.header(header);
    std::vector<RankSteps> ranks;
    for (int rank = 0; rank < training.ranks; ++rank) ranks.emplace_back(rank, training, sink);
    for (int step = 0; step < training.steps; ++step)
      for (RankSteps& rank : ranks) rank.step();
  }
};

const bool data_parallel_registered = trace_generators().add(
    {"data_parallel", "synchronous data-parallel training with overlapped all_reduces",
     "S. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020"},
    [] { return std::make_unique<DataParallel>(); });

}  // namespace
}  // namespace linkcast
