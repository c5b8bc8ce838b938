// Layers in stages, one GPU each. Microbatches pass them one behind the other: a stage sends its activations to the
// next one, and in training gets their gradients back. GPipe does all forward passes first, 1F1B forward and backward
// passes in turn, which keeps fewer microbatches at the same time.
#include <fmt/format.h>

#include <algorithm>

#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

struct Pipeline {
  int microbatches;
  bool alternates;  ///< 1F1B
};

class Stage {
 public:
  Stage(const LayerModel& model, const Pipeline& pipeline, RankWriter& rank)
      : model_(model), pipeline_(pipeline), rank_(rank) {}

  void step() {
    const int all = pipeline_.microbatches;
    const int ahead = model_.training && pipeline_.alternates ? std::min(model_.gpus - 1 - rank_.rank(), all) : all;
    for (int i = 0; i < ahead; ++i) forward(i);
    for (int i = ahead; i < all; ++i) {
      forward(i);
      backward(i - ahead);
    }
    for (int i = all - ahead; i < all && model_.training; ++i) backward(i);
  }

 private:
  void forward(int microbatch) { pass("forward", microbatch, 1, rank_.rank() - 1, rank_.rank() + 1); }
  void backward(int microbatch) { pass("backward", microbatch, 2, rank_.rank() + 1, rank_.rank() - 1); }

  /// source: GPipe, section 2.3: what passes between stages are the activations at their border
  void pass(const std::string& name, int microbatch, double times, int from, int to) {
    const std::string tag = fmt::format("{} {}", name, microbatch);
    const auto is_stage = [this](int rank) { return rank >= 0 && rank < model_.gpus; };
    RankWriter::Ids ready;
    if (is_stage(from)) ready = {rank_.recv("receive " + name, from, model_.activation_B(), tag)};
    const double layers = model_.layers / model_.gpus;
    const std::int64_t done =
        rank_.compute("0", name, times * layers * (model_.attention_s() + model_.mlp_s()), std::move(ready));
    if (is_stage(to)) rank_.send("send " + name, to, model_.activation_B(), tag, {done});
  }

  const LayerModel& model_;
  const Pipeline& pipeline_;
  RankWriter& rank_;
};

class PipelineParallel final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return layer_options({{"microbatches", "of a step, 8 unless said; batch: sequences of each"},
                          {"schedule", "1f1b (unless said) or gpipe"},
                          {"training", "0: forward passes alone; 1 unless said"}});
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const LayerModel model = layer_model(options);
    const bool gpipe = options.picks("schedule", "1f1b", "gpipe");
    must_divide("layers", model.layers, model.gpus, "gpus");
    const Pipeline pipeline{options.whole("microbatches", 8), !gpipe};
    TraceHeader header;
    header.name = "pipeline_parallel";
    header.source = "generated: Y. Huang et al., GPipe, NeurIPS 2019; D. Narayanan et al., PipeDream, SOSP 2019 (1F1B)";
    header.notes = {"assumed: activations are kept, not computed again; the optimizer and embeddings take no time"};
    write_steps(header, model, sink, [&](RankWriter& rank) { Stage(model, pipeline, rank).step(); });
  }
};

const bool pipeline_parallel_registered = trace_generators().add(
    {"pipeline_parallel", "layers in stages: microbatches one behind the other, GPipe or 1F1B",
     "Y. Huang et al., GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism, NeurIPS 2019"},
    [] { return std::make_unique<PipelineParallel>(); });

}  // namespace
}  // namespace linkcast
