// AlexNet on ImageNet, data parallel, strong scaling.
#include "apps-traces/generators/cnn_networks.hpp"

namespace linkcast {
namespace {

constexpr int kAlexNetBatch = 256;  // of 256 and 512: paper 003, figure 5

class AlexNet final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override { return cnn_options(kAlexNetBatch); }
  void run(const TraceOptions& options, TraceSink& sink) const override {
    write_cnn(alexnet(), kAlexNetBatch, options, sink);
  }
};

const bool alexnet_registered =
    trace_generators().add({"alexnet", "training of AlexNet, data parallel",
                            "N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017"},
                           [] { return std::make_unique<AlexNet>(); });

}  // namespace
}  // namespace linkcast
