// ResNet/x, the family of paper 003: one convolution, x blocks, a classifier.
#include "apps-traces/generators/cnn_networks.hpp"

namespace linkcast {
namespace {

constexpr int kResNetBatch = 16;  // of 16, 32 and 64: paper 003, figure 5

class ResNetX final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    std::vector<TraceOption> all = cnn_options(kResNetBatch);
    all.push_back({"x", "blocks, 16 unless said"});
    return all;
  }
  void run(const TraceOptions& options, TraceSink& sink) const override {
    write_cnn(resnet_x(options.whole("x", 16)), kResNetBatch, options, sink);
  }
};

const bool resnet_x_registered =
    trace_generators().add({"resnet_x", "training of a residual network of x blocks, data parallel",
                            "N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017"},
                           [] { return std::make_unique<ResNetX>(); });

}  // namespace
}  // namespace linkcast
