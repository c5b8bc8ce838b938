// Generating tokens, one at a time for each sequence of a batch, with tensor parallel layers. A GPU reads its part of
// all parameters and of the keys and values of all tokens so far, which takes longer than the arithmetic; messages are
// small.
#include <algorithm>

#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

constexpr double kA100Memory_Bps = 2.039e12;  // source: NVIDIA A100 80GB data sheet: 2,039 GB/s

class Decoding final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return layer_options({{"memory", "bytes a second that a GPU reads, 2.039e12 unless said (A100 80GB)"}});
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const LayerModel model = layer_model(options);
    const double memory_Bps = options.number("memory", kA100Memory_Bps);
    if (memory_Bps <= 0) throw InputError("option memory: must be positive");
    must_divide("hidden", model.hidden, model.gpus, "gpus");
    TraceHeader header;
    header.name = "decoding";
    header.source =
        "generated: R. Pope et al., Efficiently Scaling Transformer Inference, MLSys 2023, sections 2 and 3; sums of "
        "Megatron-LM";
    header.notes = {
        "a step is one token of each sequence, which has as many before it as option sequence says; option layer is of "
        "one "
        "token of each",
        "assumed: a computation takes as long as its arithmetic or its reading of memory, whichever is longer"};
    // One token of each sequence: what a pass through all its tokens takes, divided by them.
    const double kept_B = 2 * model.tokens() * model.hidden * model.value_B;  // keys and values
    const double attention_s = std::max(model.attention_s() / model.sequence,
                                        (model.attention_parameters() * model.value_B + kept_B) / memory_Bps);
    const double mlp_s = std::max(model.mlp_s() / model.sequence, model.mlp_parameters() * model.value_B / memory_Bps);
    const double halves_s[] = {model.layer_s > 0 ? model.attention_s() : attention_s,
                               model.layer_s > 0 ? model.mlp_s() : mlp_s};
    const double sum_B = model.activation_B() / model.sequence;
    write_steps(header, model, sink, [&](RankWriter& rank) {
      for (int layer = 0; layer < model.layers; ++layer)
        for (const double half_s : halves_s) {
          rank.compute("0", "token", half_s / model.gpus);
          rank.collective("0", "all_reduce", "all", sum_B);
        }
    });
  }
};

const bool decoding_registered =
    trace_generators().add({"decoding", "one token after the other with tensor parallel layers: two small sums a layer",
                            "R. Pope et al., Efficiently Scaling Transformer Inference, MLSys 2023"},
                           [] { return std::make_unique<Decoding>(); });

}  // namespace
}  // namespace linkcast
