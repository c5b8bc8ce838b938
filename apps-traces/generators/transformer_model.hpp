#pragma once
// Sizes of a transformer that is trained with data, tensor and pipeline parallelism.
// source: D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC 2021
#include "sim/plugin/trace_source.hpp"

namespace linkcast {

struct TransformerJob {
  int layers, hidden, sequence, vocabulary;
  int batch, microbatch;  ///< sequences: of a step, all replicas together; of one pass through the pipeline
  int data, tensor, pipeline;
  int steps;
  bool recompute;              ///< activations of a microbatch are computed again before its backward pass
  double flops_per_s;          ///< that a GPU attains
  double value_B, gradient_B;  ///< of an activation; of a gradient as it is reduced

  [[nodiscard]] int ranks() const { return data * tensor * pipeline; }
  [[nodiscard]] int microbatches() const { return batch / data / microbatch; }
  [[nodiscard]] int layers_per_stage() const { return layers / pipeline; }
  /// Between layers, of one microbatch: what tensor parallel ranks reduce and pipeline stages send.
  [[nodiscard]] double activation_B() const { return static_cast<double>(microbatch) * sequence * hidden * value_B; }
  /// Forward pass of one microbatch through one layer, all tensor parallel ranks together; of attention, of the MLP.
  [[nodiscard]] double attention_flops() const;
  [[nodiscard]] double mlp_flops() const;
  /// Forward pass of one microbatch through the output layer.
  [[nodiscard]] double output_flops() const;
  /// Of one layer, and of the embeddings of words and of positions.
  [[nodiscard]] double layer_parameters() const;
  [[nodiscard]] double embedding_parameters() const { return static_cast<double>(vocabulary) * hidden; }
  [[nodiscard]] double position_parameters() const { return static_cast<double>(sequence) * hidden; }

  /// Tensor parallel ranks are neighbours, then replicas, then stages.
  [[nodiscard]] int rank_of(int stage, int replica, int shard) const {
    return (stage * data + replica) * tensor + shard;
  }
};

std::vector<TraceOption> transformer_options();
/// @throws InputError  what cannot be divided
TransformerJob transformer_job(const TraceOptions& options);

}  // namespace linkcast
