// GoogLeNet on ImageNet, data parallel, strong scaling.
#include "apps-traces/generators/cnn_networks.hpp"

namespace linkcast {
namespace {

constexpr int kGoogLeNetBatch = 256;  // of 256 and 512: paper 003, figure 5

class GoogLeNet final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override { return cnn_options(kGoogLeNetBatch); }
  void run(const TraceOptions& options, TraceSink& sink) const override {
    write_cnn(googlenet(), kGoogLeNetBatch, options, sink);
  }
};

const bool googlenet_registered =
    trace_generators().add({"googlenet", "training of GoogLeNet, data parallel",
                            "N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017"},
                           [] { return std::make_unique<GoogLeNet>(); });

}  // namespace
}  // namespace linkcast
