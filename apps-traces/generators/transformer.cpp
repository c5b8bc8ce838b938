// Training of a transformer as Megatron-LM does it. Tensor parallel ranks reduce activations twice a layer and pass;
// stages send them to the next stage, one forward and one backward pass in turn (1F1B); replicas reduce gradients at
// the end of the step; the first and the last stage share an embedding and reduce its gradients.
#include <fmt/format.h>

#include <algorithm>

#include "apps-traces/generators/rank_writer.hpp"
#include "apps-traces/generators/transformer_model.hpp"

namespace linkcast {
namespace {

class StageRank {
 public:
  StageRank(const TransformerJob& job, RankWriter& rank)
      : job_(job),
        rank_(rank),
        shard_(rank.rank() % job.tensor),
        replica_(rank.rank() / job.tensor % job.data),
        stage_(rank.rank() / job.tensor / job.data) {}

  /// source: Narayanan et al., SC 2021, section 2.2.1: the 1F1B schedule
  void step() {
    const int all = job_.microbatches(), warm_up = std::min(job_.pipeline - 1 - stage_, all);
    for (int i = 0; i < warm_up; ++i) forward(i);
    for (int i = 0; i < all - warm_up; ++i) {
      forward(warm_up + i);
      backward(i);
    }
    for (int i = all - warm_up; i < all; ++i) backward(i);
    reduce_gradients();
    rank_.sync();
    rank_.step();
  }

 private:
  [[nodiscard]] bool first() const { return stage_ == 0; }
  [[nodiscard]] bool last() const { return stage_ == job_.pipeline - 1; }
  [[nodiscard]] int peer(int stage) const { return job_.rank_of(stage, replica_, shard_); }

  void forward(int microbatch) {
    const std::string tag = fmt::format("forward {}", microbatch);
    RankWriter::Ids ready;
    if (!first()) ready = {rank_.recv("receive forward", peer(stage_ - 1), job_.activation_B(), tag)};
    std::int64_t done = layers("forward", 1, ready);
    if (last()) done = compute("output", job_.output_flops(), {});
    if (!last()) rank_.send("send forward", peer(stage_ + 1), job_.activation_B(), tag, {done});
  }

  void backward(int microbatch) {
    const std::string tag = fmt::format("backward {}", microbatch);
    RankWriter::Ids ready;
    if (!last()) ready = {rank_.recv("receive backward", peer(stage_ + 1), job_.activation_B(), tag)};
    if (last()) compute("output backward", 2 * job_.output_flops(), {});
    if (job_.recompute) {
      layers("recompute", 1, ready);
      ready.clear();
    }
    const std::int64_t done = layers("backward", 2, ready);
    if (!first()) rank_.send("send backward", peer(stage_ - 1), job_.activation_B(), tag, {done});
  }

  /// One pass over the layers of this stage; the first waits for `ready`.
  std::int64_t layers(const std::string& name, double passes, RankWriter::Ids ready) {
    if (job_.tensor == 1)
      return compute(name, passes * job_.layers_per_stage() * (job_.attention_flops() + job_.mlp_flops()), ready);
    const std::string group = fmt::format("tensor {} {}", stage_, replica_);
    std::int64_t done = 0;
    for (int layer = 0; layer < job_.layers_per_stage(); ++layer)
      for (const double flops : {job_.attention_flops(), job_.mlp_flops()}) {
        compute(name, passes * flops, std::exchange(ready, {}));
        done = rank_.collective("0", "all_reduce", group, job_.activation_B());
      }
    return done;
  }

  std::int64_t compute(const std::string& name, double flops, RankWriter::Ids after) {
    return rank_.compute("0", name, flops / job_.tensor / job_.flops_per_s, std::move(after));
  }

  void reduce_gradients() {
    const double embedding = first() || last() ? job_.embedding_parameters() : 0;
    const double positions = first() ? job_.position_parameters() : 0;
    const double own = (job_.layers_per_stage() * job_.layer_parameters() + embedding + positions) / job_.tensor;
    if (job_.data > 1)
      rank_.collective("0", "all_reduce", fmt::format("data {} {}", stage_, shard_), own * job_.gradient_B);
    if (job_.pipeline > 1 && (first() || last()))
      rank_.collective("0", "all_reduce", fmt::format("embedding {} {}", replica_, shard_),
                       job_.embedding_parameters() / job_.tensor * job_.gradient_B);
  }

  const TransformerJob& job_;
  RankWriter& rank_;
  int shard_, replica_, stage_;
};

void add_groups(const TransformerJob& job, TraceHeader& header) {
  for (int stage = 0; stage < job.pipeline; ++stage)
    for (int replica = 0; replica < job.data; ++replica)
      for (int shard = 0; shard < job.tensor; ++shard) {
        const int rank = job.rank_of(stage, replica, shard);
        const auto join = [&](const std::string& kind, int a, int b) {
          header.groups[fmt::format("{} {} {}", kind, a, b)].push_back(rank);
        };
        if (job.tensor > 1) join("tensor", stage, replica);
        if (job.data > 1) join("data", stage, shard);
        if (job.pipeline > 1 && (stage == 0 || stage == job.pipeline - 1)) join("embedding", replica, shard);
      }
}

class Transformer final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override { return transformer_options(); }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const TransformerJob job = transformer_job(options);
    TraceHeader header;
    header.name = "transformer";
    header.source =
        "generated: D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using "
        "Megatron-LM, SC 2021";
    header.notes = {"compute: operations of the appendix over the rate that option flops says",
                    "assumed: gradients are reduced behind the last backward pass; the optimizer takes no time; stages "
                    "send whole activations (no scatter/gather over tensor parallel ranks)"};
    add_groups(job, header);
    std::vector<RankWriter> writers = start_ranks(header, job.ranks(), sink);
    std::vector<StageRank> ranks;
    for (RankWriter& writer : writers) ranks.emplace_back(job, writer);
    for (int step = 0; step < job.steps; ++step)
      for (StageRank& rank : ranks) rank.step();
  }
};

const bool transformer_registered = trace_generators().add(
    {"transformer", "training of a transformer: data, tensor and pipeline parallel (1F1B)",
     "D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC 2021"},
    [] { return std::make_unique<Transformer>(); });

}  // namespace
}  // namespace linkcast
