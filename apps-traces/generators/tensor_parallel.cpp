// Layers whose matrices are divided among GPUs, as Megatron-LM does it: attention by heads, the MLP by its inner
// features. Each half of a layer ends with a sum over all ranks, of one value a token and feature; so does each half of
// its backward pass. With sequence parallelism a sum becomes a reduce_scatter behind and an all_gather before: the same
// bytes.
#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

class TensorParallel final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return layer_options(
        {{"training", "0: forward passes alone; 1 unless said"},
         {"sequence-parallel", "1: all_gather and reduce_scatter instead of all_reduce; 0 unless said"}});
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const LayerModel model = layer_model(options);
    const bool sequence_parallel = yes_or_no(options, "sequence-parallel", false);
    must_divide("hidden", model.hidden, model.gpus, "gpus");
    TraceHeader header;
    header.name = "tensor_parallel";
    header.source =
        "generated: M. Shoeybi et al., Megatron-LM, 2019, section 3; V. Korthikanti et al., Reducing Activation "
        "Recomputation in Large Transformer Models, MLSys 2023, section 4.2";
    header.notes = {"assumed: sums wait for what they add and hold up what follows; the optimizer takes no time"};
    write_steps(header, model, sink, [&](RankWriter& rank) {
      pass(rank, model, "forward", 1, sequence_parallel);
      if (model.training) pass(rank, model, "backward", 2, sequence_parallel);
    });
  }

 private:
  /// source: Shoeybi et al., section 3: two all_reduces of b s h values a layer in each pass
  static void pass(RankWriter& rank, const LayerModel& model, const std::string& name, double times,
                   bool sequence_parallel) {
    for (int layer = 0; layer < model.layers; ++layer)
      for (const double half_s : {model.attention_s(), model.mlp_s()}) {
        if (sequence_parallel) rank.collective("0", "all_gather", "all", model.activation_B());
        rank.compute("0", name, times * half_s / model.gpus);
        rank.collective("0", sequence_parallel ? "reduce_scatter" : "all_reduce", "all", model.activation_B());
      }
  }
};

const bool tensor_parallel_registered =
    trace_generators().add({"tensor_parallel", "layers divided among GPUs: two sums a layer and pass",
                            "M. Shoeybi et al., Megatron-LM: Training Multi-Billion Parameter Language Models Using "
                            "Model Parallelism, arXiv:1909.08053, 2019"},
                           [] { return std::make_unique<TensorParallel>(); });

}  // namespace
}  // namespace linkcast
