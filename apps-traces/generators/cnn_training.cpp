#include "apps-traces/generators/cnn_training.hpp"

#include <fmt/format.h>

#include "apps-traces/generators/rank_writer.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

constexpr double kValue_B = 4;  // single precision: paper 003, section 4.2
// Reads weight, gradient and momentum, writes weight and momentum.
constexpr double kUpdateValues = 5;
// source: paper 003, section 2.1: 4096 bits at 715 MHz, twice a cycle
constexpr double kMemory_Bps = 4096 / 8 * 715e6 * 2;
// source: assumed, three kernels a layer and pass of 5 us each, as launches cost on CPUs of that time
constexpr double kLaunch_s = 15e-6;

struct Training {
  int gpus, steps;
  double images;  ///< of one GPU
  bool layerwise;
  double launch_s, gradients_B;
};

Training training_of(const Cnn& net, int batch, const TraceOptions& options) {
  Training training{};
  training.gpus = options.whole("gpus", 8);
  training.steps = options.whole("steps", 4);
  const int images = options.whole("batch", batch);
  if (images % training.gpus != 0)
    throw InputError(fmt::format("option batch: {} images cannot be divided among {} GPUs", images, training.gpus));
  training.images = images / training.gpus;
  const std::string reduce = options.text("reduce", "end");
  if (reduce != "end" && reduce != "layer")
    throw InputError("option reduce: '" + reduce + "' is neither end nor layer");
  training.layerwise = reduce == "layer";
  training.launch_s = options.seconds("launch", kLaunch_s);
  training.gradients_B = kValue_B * (net.printed_parameters > 0 ? net.printed_parameters : net.parameters());
  return training;
}

/// One iteration of one rank.
class Iteration {
 public:
  Iteration(const Cnn& net, const Training& training, RankWriter& rank) : net_(net), training_(training), rank_(rank) {}

  /// @param input  copy of this batch; @returns  copy of the next
  std::int64_t run(std::int64_t input, bool last) {
    const std::int64_t next = last ? 0 : copy_batch();
    rank_.host(training_.launch_s);
    for (const CnnLayer& layer : net_.layers) {
      rank_.compute("0", layer.name, time_of(layer), {input});
      rank_.host(training_.launch_s);
    }
    for (auto layer = net_.layers.rbegin(); layer != net_.layers.rend(); ++layer) backward(*layer);
    if (!training_.layerwise) reduce(training_.gradients_B);
    rank_.sync({rank_.compute("0", "update", training_.gradients_B * kUpdateValues / kMemory_Bps, sums_)});
    rank_.step();
    return next;
  }

  std::int64_t copy_batch() { return rank_.copy("input", "h2d", training_.images * net_.input_values * kValue_B); }

 private:
  [[nodiscard]] double time_of(const CnnLayer& layer) const {
    return training_.images * layer.multiply_adds / net_.multiply_adds_per_s;
  }
  void backward(const CnnLayer& layer) {
    before_ = rank_.compute("0", layer.name + " backward", 2 * time_of(layer));
    rank_.host(training_.launch_s);
    if (training_.layerwise) reduce(training_.gradients_B * layer.parameters / net_.parameters());
  }
  void reduce(double size_B) {
    if (training_.gpus == 1) return;
    sums_.push_back(rank_.collective("gradients", "all_reduce", "all", size_B, {before_}));
  }

  const Cnn& net_;
  const Training& training_;
  RankWriter& rank_;
  std::int64_t before_ = 0;
  RankWriter::Ids sums_;
};

}  // namespace

std::vector<TraceOption> cnn_options(int batch) {
  return {{"gpus", "8 unless said"},
          {"batch", fmt::format("images of an iteration, all GPUs together, {} unless said", batch)},
          {"steps", "iterations, 4 unless said"},
          {"reduce",
           "end: one all_reduce behind the backward pass, as the paper says (default); layer: one for each "
           "layer, beside the rest of the backward pass"},
          {"launch", "CPU time for each layer and pass, 15us unless said (assumed)"}};
}

void write_cnn(const Cnn& net, int batch, const TraceOptions& options, TraceSink& sink) {
  const Training training = training_of(net, batch, options);
  TraceHeader header;
  header.name = net.name;
  header.source =
      "generated: N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017, sections 3 and 4";
  header.device = "Tesla P100 at 1227 MHz";
  header.notes = {
      "compute: multiply-adds of the layers, three passes, at the rate that convnet-benchmarks shows for cuDNN R4 on a "
      "Titan X, scaled by nominal peaks",
      "assumed: the rate does not depend on the images of a GPU; images are copied as 32-bit values, one batch ahead",
      fmt::format("assumed: {:f} s of CPU for each layer and pass", training.launch_s)};
  std::vector<RankWriter> ranks = start_ranks(header, training.gpus, sink);
  std::vector<std::int64_t> inputs;
  for (RankWriter& rank : ranks) inputs.push_back(Iteration(net, training, rank).copy_batch());
  for (int step = 1; step <= training.steps; ++step)
    for (RankWriter& rank : ranks) {
      std::int64_t& input = inputs[at(rank.rank())];
      input = Iteration(net, training, rank).run(input, step == training.steps);
    }
}

}  // namespace linkcast
