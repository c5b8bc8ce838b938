// Tartan's ConvNet2 (paper 000, section IV-A): a CIFAR-10 network with data parallel convolutions and model parallel
// dense layers, each GPU copying to each other. Computation and copies are asynchronous: gradients of a layer move
// while the layers before it go on.
#include <fmt/format.h>

#include "apps-traces/generators/cnn_networks.hpp"
#include "apps-traces/generators/rank_writer.hpp"

namespace linkcast {
namespace {

constexpr double kSingle_B = 4;
constexpr std::size_t kConvolutions = 4;  // of cifar_local(), the local ones counted; the rest are dense
constexpr double kPooled = 32 * 6 * 6;    // values of an image that the first dense layer gets

class ConvnetIteration {
 public:
  ConvnetIteration(const Cnn& net, int gpus, double images, RankWriter& rank)
      : net_(net), gpus_(gpus), images_(images), rank_(rank) {}

  void run() {
    std::int64_t done = 0;
    for (std::size_t i = 0; i < kConvolutions; ++i) done = compute(net_.layers[i], 1, {});
    // every GPU needs every image's activations for its part of the dense layers
    Ids here = exchange("activations", images_ * kPooled * kSingle_B, done);
    for (std::size_t i = kConvolutions; i < net_.layers.size(); ++i) {
      done = compute(net_.layers[i], 1, here);
      here = exchange(net_.layers[i].name, images_ * net_.layers[i].activations * kSingle_B, done);
    }
    for (std::size_t i = net_.layers.size(); i-- > kConvolutions;) {
      done = compute(net_.layers[i], 2, here);
      if (i == kConvolutions) break;
      const CnnLayer& before = net_.layers[i - 1];  // each GPU has a summand of its gradients
      here = exchange(before.name + " backward", images_ * before.activations * kSingle_B, done);
    }
    here = exchange("gradients of activations", images_ * kPooled * kSingle_B, done);
    Ids all;
    for (std::size_t i = kConvolutions; i-- > 0;) {
      done = compute(net_.layers[i], 2, here);
      here.clear();
      // each GPU adds up one part of the layer's gradients and gives it back
      const double part_B = net_.layers[i].parameters / gpus_ * kSingle_B;
      const Ids parts = exchange(net_.layers[i].name + " gradients", part_B, done);
      if (parts.empty()) continue;
      const std::int64_t sum = rank_.compute("sums", "add up", 0, parts);
      const Ids back = exchange(net_.layers[i].name + " weights", part_B, sum);
      all.insert(all.end(), back.begin(), back.end());
    }
    rank_.compute("0", "update", 0, all);
    rank_.sync();
    rank_.step();
  }

 private:
  using Ids = RankWriter::Ids;

  std::int64_t compute(const CnnLayer& layer, double passes, Ids after) {
    return rank_.compute("0", layer.name, passes * images_ * layer.multiply_adds / net_.multiply_adds_per_s,
                         std::move(after));
  }
  Ids exchange(const std::string& what, double size_B, std::int64_t after) {
    Ids done;
    for (int distance = 1; distance < gpus_; ++distance) {
      const int to = (rank_.rank() + distance) % gpus_, from = (rank_.rank() + gpus_ - distance) % gpus_;
      done.push_back(rank_.send(fmt::format("to {}", to), to, size_B, what, {after}));
      done.push_back(rank_.recv(fmt::format("from {}", from), from, size_B, what, {after}));
    }
    return done;
  }

  const Cnn& net_;
  int gpus_;
  double images_;
  RankWriter& rank_;
};

class ConvNet2 final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"gpus", "4 unless said; 8 did not run on the paper's machines"},
            {"batch", "images of an iteration, all GPUs together, 128 unless said (cuda-convnet's default)"},
            {"iterations", "4 unless said"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const int gpus = options.whole("gpus", 4), batch = options.whole("batch", 128);
    if (batch % gpus != 0)
      throw InputError(fmt::format("option batch: {} images cannot be divided among {} GPUs", batch, gpus));
    const Cnn net = cifar_local();
    TraceHeader header;
    header.name = "tartan_cnn";
    header.source =
        "generated: A. Li et al., Tartan, IISWC 2018, section IV-A; A. Krizhevsky, One weird trick for "
        "parallelizing convolutional neural networks, 2014";
    header.device = "Tesla P100 at 1227 MHz";
    header.notes = {"the network is the one of the authors' run scripts: CIFAR-10, 11 %, inner size 24",
                    "assumed: batches of 128, cuda-convnet's default; the rate at which generator alexnet computes",
                    "assumed: each GPU adds up one part of a layer's gradients; adding takes no time"};
    std::vector<RankWriter> ranks = start_ranks(header, gpus, sink);
    const int iterations = options.whole("iterations", 4);
    for (int iteration = 0; iteration < iterations; ++iteration)
      for (RankWriter& rank : ranks) ConvnetIteration(net, gpus, static_cast<double>(batch) / gpus, rank).run();
  }
};

const bool tartan_convnet2_registered = trace_generators().add(
    {"tartan_cnn", "Tartan's ConvNet2: a CIFAR-10 network, data and model parallel, copies between all GPUs",
     "A. Li et al., Tartan: Evaluating Modern GPU Interconnect via a Multi-GPU Benchmark Suite, IISWC 2018, section "
     "IV-A; A. Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014"},
    [] { return std::make_unique<ConvNet2>(); });

}  // namespace
}  // namespace linkcast
