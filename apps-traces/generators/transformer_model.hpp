#pragma once
// Sizes of a transformer: one that is trained with data, tensor and pipeline parallelism together, and layers for
// patterns that have one of them. source: D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM, SC 2021
#include <functional>

#include "apps-traces/generators/rank_writer.hpp"
#include "sim/machine/trace_source.hpp"

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
  /// Parameters of one layer, and of the embeddings of words and of positions.
  [[nodiscard]] double layer_parameters() const;
  [[nodiscard]] double embedding_parameters() const { return static_cast<double>(vocabulary) * hidden; }
  [[nodiscard]] double position_parameters() const { return static_cast<double>(sequence) * hidden; }

  /// Tensor parallel ranks are neighbours, then replicas, then stages.
  [[nodiscard]] int rank_of(int stage, int replica, int shard) const {
    return (stage * data + replica) * tensor + shard;
  }
};

/// Layers of one width, and the GPU that computes them: what the patterns with one kind of parallelism share.
struct LayerModel {
  int gpus, layers, hidden, sequence, batch, steps;
  double flops_per_s;  ///< that a GPU attains
  double layer_s;      ///< forward pass of a layer on one GPU, measured; 0: operations over flops_per_s
  double value_B;      ///< of an activation and a parameter
  double issue_s;      ///< CPU time before each computation and call
  bool training;       ///< false: forward passes alone

  [[nodiscard]] double tokens() const { return static_cast<double>(batch) * sequence; }
  /// Between layers: one value a token and feature.
  [[nodiscard]] double activation_B() const { return tokens() * hidden * value_B; }
  /// Forward pass through one layer on one GPU: attention with its projections, and the MLP.
  [[nodiscard]] double attention_s() const;
  [[nodiscard]] double mlp_s() const;
  /// Weights and what is added: of queries, keys, values, output and a normalisation; of the MLP and the other one.
  /// source: terms of equation 2 of Narayanan et al., SC 2021
  [[nodiscard]] double attention_parameters() const { return 4.0 * hidden * hidden + 6.0 * hidden; }
  [[nodiscard]] double mlp_parameters() const { return 8.0 * hidden * hidden + 7.0 * hidden; }
  [[nodiscard]] double layer_parameters() const { return attention_parameters() + mlp_parameters(); }
};

/// Options of a LayerModel, and more.
std::vector<TraceOption> layer_options(const std::vector<TraceOption>& more);
/// @throws InputError
LayerModel layer_model(const TraceOptions& options);
/// Refuses what cannot be divided. @param what  it is divided by
void must_divide(const std::string& option, int whole, int parts, const std::string& what);
/// 0 or 1. @throws InputError
bool yes_or_no(const TraceOptions& options, const std::string& key, bool otherwise);

/// Writes the steps of ranks that take turns, the CPU waiting for the GPU after each.
/// @param step  what a rank does in one
void write_steps(TraceHeader header, const LayerModel& model, TraceSink& sink,
                 const std::function<void(RankWriter&)>& step);

std::vector<TraceOption> transformer_options();
/// @throws InputError  what cannot be divided
TransformerJob transformer_job(const TraceOptions& options);

}  // namespace linkcast
