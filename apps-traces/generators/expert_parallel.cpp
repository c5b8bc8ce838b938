// Mixture of experts: in some layers each token goes to `top` of many experts, which lie on all GPUs. One alltoall
// takes the tokens there, another one their results back; the backward pass does the same. The rest of a layer, on
// every GPU for its own tokens, is data parallel: its gradients are summed at the end of a step.
#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

struct Experts {
  int every, top;   ///< layers from one with experts to the next; experts of a token
  double capacity;  ///< room for as many times the tokens of an even share
  double gradient_B;
};

Experts experts_of(const TraceOptions& options) {
  constexpr double kGradient_B = 4;  // gradients are summed in 32 bits
  Experts experts{options.whole("every", 2), options.whole("top", 2), options.number("capacity", 1),
                  options.bytes("gradient", kGradient_B)};
  if (!(experts.capacity > 0)) throw InputError("option capacity: must be positive");
  return experts;
}

class ExpertRank {
 public:
  ExpertRank(const LayerModel& model, const Experts& experts, RankWriter& rank)
      : model_(model), experts_(experts), rank_(rank) {}

  void pass(const std::string& name, double times) {
    for (int layer = 1; layer <= model_.layers; ++layer) {
      rank_.compute("0", name + " attention", times * model_.attention_s());
      if (layer % experts_.every != 0) {
        rank_.compute("0", name + " MLP", times * model_.mlp_s());
        continue;
      }
      exchange();
      rank_.compute("0", name + " experts", times * copies() * model_.mlp_s());
      exchange();
    }
  }

  void sum_gradients() {
    const int with_experts = model_.layers / experts_.every;
    const double parameters =
        model_.layers * model_.attention_parameters() + (model_.layers - with_experts) * model_.mlp_parameters();
    rank_.collective("0", "all_reduce", "all", parameters * experts_.gradient_B);
  }

 private:
  /// Copies of each token, as experts have room for them, full or not.
  [[nodiscard]] double copies() const { return experts_.top * experts_.capacity; }
  /// source: GShard, section 3.2 and algorithm 1: each GPU's tokens, to as many experts as each has, with room for an
  /// even share times the capacity factor; Switch Transformers, equation 3, with top 1
  void exchange() { rank_.collective("0", "alltoall", "all", copies() * model_.activation_B()); }

  const LayerModel& model_;
  const Experts& experts_;
  RankWriter& rank_;
};

class ExpertParallel final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return layer_options({{"every", "layers from one with experts to the next, 2 unless said (GShard); 1: all"},
                          {"top", "experts of a token, 2 unless said (GShard; Switch: 1)"},
                          {"capacity", "room of experts as a multiple of an even share, 1 unless said"},
                          {"gradient", "bytes of a gradient as it is summed, 4B unless said"},
                          {"training", "0: forward passes alone; 1 unless said"}});
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const LayerModel model = layer_model(options);
    const Experts experts = experts_of(options);
    TraceHeader header;
    header.name = "expert_parallel";
    header.source = "generated: D. Lepikhin et al., GShard, ICLR 2021; W. Fedus et al., Switch Transformers, JMLR 2022";
    header.notes = {
        "batch: sequences of each GPU; experts of a layer are spread evenly over all GPUs",
        "assumed: an expert is an MLP of the layer's width; experts are full, and every GPU's tokens go to all "
        "in equal parts; choosing experts takes no time; gradients are summed behind the backward pass"};
    write_steps(header, model, sink, [&](RankWriter& rank) {
      ExpertRank own(model, experts, rank);
      own.pass("forward", 1);
      if (!model.training) return;
      own.pass("backward", 2);
      own.sum_gradients();
    });
  }
};

const bool expert_parallel_registered = trace_generators().add(
    {"expert_parallel", "mixture of experts: two alltoalls a layer with experts and pass",
     "D. Lepikhin et al., GShard: Scaling Giant Models with Conditional Computation and Automatic Sharding, ICLR 2021"},
    [] { return std::make_unique<ExpertParallel>(); });

}  // namespace
}  // namespace linkcast
