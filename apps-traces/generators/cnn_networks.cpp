#include "apps-traces/generators/cnn_networks.hpp"

#include <fmt/format.h>

#include <array>

#include "apps-traces/generators/rank_writer.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

// How fast a P100 trains. No text gives it; cuDNN's 32-bit rate on a GPU whose benchmark is public, scaled by nominal
// peaks. source: S. Chintala, convnet-benchmarks (github.com/soumith/convnet-benchmarks), Titan X (Maxwell), cuDNN R4
// fp32, batch 128, forward and backward: AlexNet 81 ms, GoogLeNet 470 ms
constexpr double kBenchmarkImages = 128, kAlexNet_s = 81e-3, kGoogLeNet_s = 470e-3;
// source: NVIDIA, GeForce GTX Titan X: 3072 cores, 1000 MHz; paper 003, section 2.1: 3584 cores, both capped at 1227
// MHz
constexpr double kTitanXPeak = 3072 * 1000e6, kP100Peak = 3584 * 1227e6;
// Backward computes gradients of inputs and of weights: twice the forward pass.
constexpr double kPasses = 3;

double attained(double multiply_adds, double benchmark_s) {
  return kPasses * multiply_adds * kBenchmarkImages / benchmark_s * kP100Peak / kTitanXPeak;
}

/// @param size    side of its output; @param kernel  side; @param groups  separate halves of AlexNet
CnnLayer convolution(const std::string& name, double in, double out, double kernel, double size, double groups = 1) {
  const double weights = in / groups * out * kernel * kernel;
  return {name, weights * size * size, weights + out, out * size * size};
}

/// A convolution with weights of its own at each place of its output.
CnnLayer local(const std::string& name, double in, double out, double kernel, double size) {
  const double weights = in * out * kernel * kernel * size * size;
  return {name, weights, weights + out * size * size, out * size * size};
}

CnnLayer dense(const std::string& name, double in, double out) { return {name, in * out, in * out + out, out}; }

/// Values of a blob that a layer without parameters writes.
CnnLayer& with_blob(CnnLayer& layer, double features, double size) {
  layer.activations += features * size * size;
  return layer;
}

/// Widths of an inception layer: 1x1; 3x3 reduced, 3x3; 5x5 reduced, 5x5; behind the pool.
struct Inception {
  const char* name;
  double in, size;
  std::array<double, 6> width;
};

CnnLayer layer_of(const Inception& at) {
  const auto& w = at.width;
  CnnLayer layer{at.name, 0, 0, at.in * at.size * at.size};  // its pool
  for (const CnnLayer& part : {convolution("", at.in, w[0], 1, at.size), convolution("", at.in, w[1], 1, at.size),
                               convolution("", w[1], w[2], 3, at.size), convolution("", at.in, w[3], 1, at.size),
                               convolution("", w[3], w[4], 5, at.size), convolution("", at.in, w[5], 1, at.size)}) {
    layer.multiply_adds += part.multiply_adds;
    layer.parameters += part.parameters;
    layer.activations += part.activations;
  }
  return with_blob(layer, w[0] + w[2] + w[4] + w[5], at.size);  // concatenation
}

}  // namespace

double Cnn::parameters() const {
  double sum = 0;
  for (const CnnLayer& layer : layers) sum += layer.parameters;
  return sum;
}

double Cnn::activations() const {
  double sum = input_values + 1;
  for (const CnnLayer& layer : layers) sum += layer.activations;
  return sum;
}

double Cnn::multiply_adds() const {
  double sum = 0;
  for (const CnnLayer& layer : layers) sum += layer.multiply_adds;
  return sum;
}

// source: Krizhevsky et al., NIPS 2012, as in Caffe's bvlc_alexnet: images of 227 x 227, normalisation before pooling
Cnn alexnet() {
  Cnn net{"alexnet", {}, 3 * 227 * 227, 0, 0};
  net.layers = {convolution("conv1", 3, 96, 11, 55),
                convolution("conv2", 96, 256, 5, 27, 2),
                convolution("conv3", 256, 384, 3, 13),
                convolution("conv4", 384, 384, 3, 13, 2),
                convolution("conv5", 384, 256, 3, 13, 2),
                dense("fc6", 256 * 6 * 6, 4096),
                dense("fc7", 4096, 4096),
                dense("fc8", 4096, 1000)};
  with_blob(with_blob(net.layers[0], 96, 55), 96, 27);
  with_blob(with_blob(net.layers[1], 256, 27), 256, 13);
  with_blob(net.layers[4], 256, 6);
  net.multiply_adds_per_s = attained(net.multiply_adds(), kAlexNet_s);
  return net;
}

// source: A. Krizhevsky, cuda-convnet, layers-conv-local-11pct.cfg; test option inner size 24; pools of 3 with stride 2
Cnn cifar_local() {
  Cnn net{"cifar_local", {}, 3 * 24 * 24, 0, 0};
  net.layers = {convolution("conv1", 3, 64, 5, 24), convolution("conv2", 64, 64, 5, 12), local("local3", 64, 64, 3, 6),
                local("local4", 64, 32, 3, 6), dense("fc10", 32 * 6 * 6, 10)};
  with_blob(with_blob(net.layers[0], 64, 12), 64, 12);
  with_blob(with_blob(net.layers[1], 64, 12), 64, 6);
  net.multiply_adds_per_s = alexnet().multiply_adds_per_s;
  return net;
}

// source: Szegedy et al., CVPR 2015, table 1; without the two auxiliary classifiers
Cnn googlenet() {
  Cnn net{"googlenet", {}, 3 * 224 * 224, 5.5e6, 0};  // source: paper 003, section 3.2: about 5.5 million parameters
  net.layers = {convolution("conv1", 3, 64, 7, 112), convolution("conv2_reduce", 64, 64, 1, 56),
                convolution("conv2", 64, 192, 3, 56)};
  with_blob(with_blob(net.layers[0], 64, 56), 64, 56);
  with_blob(with_blob(net.layers[2], 192, 56), 192, 28);
  for (const Inception& at : std::vector<Inception>{{"3a", 192, 28, {64, 96, 128, 16, 32, 32}},
                                                    {"3b", 256, 28, {128, 128, 192, 32, 96, 64}},
                                                    {"4a", 480, 14, {192, 96, 208, 16, 48, 64}},
                                                    {"4b", 512, 14, {160, 112, 224, 24, 64, 64}},
                                                    {"4c", 512, 14, {128, 128, 256, 24, 64, 64}},
                                                    {"4d", 512, 14, {112, 144, 288, 32, 64, 64}},
                                                    {"4e", 528, 14, {256, 160, 320, 32, 128, 128}},
                                                    {"5a", 832, 7, {256, 160, 320, 32, 128, 128}},
                                                    {"5b", 832, 7, {384, 192, 384, 48, 128, 128}}})
    net.layers.push_back(layer_of(at));
  net.layers.push_back(dense("classifier", 1024, 1000));
  net.multiply_adds_per_s = attained(net.multiply_adds(), kGoogLeNet_s);
  return net;
}

/// The paper prints only 46,211 x + 74,857 parameters and 1,204,224 x + 1,155,113 activations. One decomposition gives
/// both: a stem of 64 7x7 filters on 224 x 224, pooled to 56 x 56; blocks of 1x1, 3x3 and 1x1 with 64 features, with
/// six blobs of 64 x 56 x 56; a classifier of 1000. What is left of the parameters (449, and 1155 a block) are biases
/// and normalisation.
Cnn resnet_x(int blocks) {
  constexpr double kFeatures = 64, kSide = 56, kRestOfStem = 449, kRestOfBlock = 1155, kBlobs = 6;
  constexpr double kPixels = kSide * kSide, kBlockWeights = kFeatures * kFeatures * (1 + 3 * 3 + 1);
  Cnn net{"resnet_x", {}, 3 * 224 * 224, 0, 0};
  CnnLayer stem = convolution("stem", 3, kFeatures, 7, 112);
  stem.parameters += kRestOfStem - kFeatures;
  net.layers.push_back(with_blob(stem, kFeatures, kSide));
  for (int block = 1; block <= blocks; ++block)
    net.layers.push_back({fmt::format("block{}", block), kBlockWeights * kPixels, kBlockWeights + kRestOfBlock,
                          kBlobs * kFeatures * kPixels});
  CnnLayer classifier = dense("classifier", kFeatures, 1000);
  classifier.activations += kFeatures;
  net.layers.push_back(classifier);
  net.multiply_adds_per_s = googlenet().multiply_adds_per_s;  // many small convolutions too: nearer than AlexNet's
  return net;
}

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
  training.layerwise = options.picks("reduce", "end", "layer");
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
