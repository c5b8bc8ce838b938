// Data parallel training with parameters, gradients and optimizer divided among all ranks (ZeRO-3, FSDP). A layer's
// parameters are gathered before its forward pass and again before its backward pass, while the layer before computes,
// and its gradients are summed and scattered behind it: three times the parameters a step, where plain data parallel
// training moves twice as many.
#include <fmt/format.h>

#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

class ShardedRank {
 public:
  ShardedRank(const LayerModel& model, bool reshard, double gradient_B, RankWriter& rank)
      : model_(model), reshard_(reshard), gradient_B_(gradient_B), rank_(rank) {}

  /// Gathers run one layer ahead; all collectives follow each other on one stream, as those of a communicator do.
  void step() {
    pass("forward", 1, true, [](int at) { return at; });
    if (model_.training) pass("backward", 2, reshard_, [this](int at) { return model_.layers - 1 - at; });
  }

 private:
  template <class Layer>
  void pass(const std::string& name, double times, bool gathers, const Layer& layer_at) {
    std::int64_t gathered = gathers ? gather() : 0;
    for (int at = 0; at < model_.layers; ++at) {
      const RankWriter::Ids ready = gathers ? RankWriter::Ids{gathered} : RankWriter::Ids{};
      if (gathers && at + 1 < model_.layers) gathered = gather();
      computed_ = rank_.compute("0", fmt::format("{} {}", name, layer_at(at)),
                                times * (model_.attention_s() + model_.mlp_s()), ready);
      if (times > 1)
        rank_.collective("communication", "reduce_scatter", "all", model_.layer_parameters() * gradient_B_,
                         {computed_});
    }
  }

  /// Not before the layer before the last has computed: no more than two layers are whole at a time.
  std::int64_t gather() {
    RankWriter::Ids after;
    if (computed_ > 0) after = {computed_};
    return rank_.collective("communication", "all_gather", "all", model_.layer_parameters() * model_.value_B, after);
  }

  const LayerModel& model_;
  bool reshard_;
  double gradient_B_;
  RankWriter& rank_;
  std::int64_t computed_ = 0;  ///< the last computation issued
};

class FullySharded final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return layer_options({{"reshard", "0: parameters are kept whole for the backward pass (ZeRO-2); 1 unless said"},
                          {"gradient", "bytes of a gradient as it is summed; those of dtype unless said"},
                          {"training", "0: forward passes alone; 1 unless said"}});
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const LayerModel model = layer_model(options);
    const bool reshard = yes_or_no(options, "reshard", true);
    const double gradient_B = options.bytes("gradient", model.value_B);
    TraceHeader header;
    header.name = "fully_sharded";
    header.source =
        "generated: S. Rajbhandari et al., ZeRO, SC 2020, section 7; Y. Zhao et al., PyTorch FSDP, VLDB 2023";
    header.notes = {"batch: sequences of each GPU; each layer is a unit of its own",
                    "assumed: the optimizer takes no time, nor do copies into and out of the buffers of collectives"};
    write_steps(header, model, sink, [&](RankWriter& rank) { ShardedRank(model, reshard, gradient_B, rank).step(); });
  }
};

const bool fully_sharded_registered = trace_generators().add(
    {"fully_sharded", "data parallel with divided parameters (ZeRO-3, FSDP): gathered layer by layer",
     "S. Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, SC 2020"},
    [] { return std::make_unique<FullySharded>(); });

}  // namespace
}  // namespace linkcast
