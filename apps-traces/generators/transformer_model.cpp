#include "apps-traces/generators/transformer_model.hpp"

#include <fmt/format.h>

#include <map>

namespace linkcast {
namespace {

// source: Narayanan et al., SC 2021, table 1: 137 teraFLOP/s a GPU at 1.7 billion parameters on 32 A100
constexpr double kAttained = 137e12;
// source: Narayanan et al., SC 2021, section 5: vocabulary 51,200, sequences of 2048; table 1: 24 layers of 2304
constexpr int kVocabulary = 51200, kSequence = 2048, kLayers = 24, kHidden = 2304;

// source: Narayanan et al., SC 2021, appendix: a multiply-add is two operations; queries, keys, values and the output
// projection 8 b s h^2, attention itself 4 b s^2 h, MLP 16 b s h^2, output layer 2 b s h V
double attention_flops_of(double tokens, double sequence, double hidden) {
  return 8 * tokens * hidden * hidden + 4 * tokens * sequence * hidden;
}
double mlp_flops_of(double tokens, double hidden) { return 16 * tokens * hidden * hidden; }

double value_of(const TraceOptions& options) {
  const std::string dtype = options.text("dtype", "bf16");
  static const std::map<std::string, double> kBytes{{"fp8", 1}, {"bf16", 2}, {"fp16", 2}, {"fp32", 4}};
  if (const auto known = kBytes.find(dtype); known != kBytes.end()) return known->second;
  throw InputError("option dtype: '" + dtype + "' is none of fp8, bf16, fp16, fp32");
}

}  // namespace

void must_divide(const std::string& option, int whole, int parts, const std::string& what) {
  if (whole % parts != 0)
    throw InputError(fmt::format("option {}: {} cannot be divided by {} ({})", option, whole, parts, what));
}

bool yes_or_no(const TraceOptions& options, const std::string& key, bool otherwise) {
  const int value = options.whole(key, otherwise ? 1 : 0, 0);
  if (value > 1) throw InputError("option " + key + ": must be 0 or 1");
  return value == 1;
}

double TransformerJob::attention_flops() const {
  return attention_flops_of(static_cast<double>(microbatch) * sequence, sequence, hidden);
}

double TransformerJob::mlp_flops() const { return mlp_flops_of(static_cast<double>(microbatch) * sequence, hidden); }

double LayerModel::attention_s() const {
  const double attention = attention_flops_of(tokens(), sequence, hidden), mlp = mlp_flops_of(tokens(), hidden);
  return layer_s > 0 ? layer_s * attention / (attention + mlp) : attention / flops_per_s;
}

double LayerModel::mlp_s() const {
  return layer_s > 0 ? layer_s - attention_s() : mlp_flops_of(tokens(), hidden) / flops_per_s;
}

std::vector<TraceOption> layer_options(const std::vector<TraceOption>& more) {
  std::vector<TraceOption> all{{"gpus", "4 unless said"},
                               {"layers", "24 unless said"},
                               {"hidden", "width, 2304 unless said"},
                               {"sequence", "tokens of a sequence, 2048 unless said"},
                               {"batch", "sequences, 1 unless said"},
                               {"dtype", "of activations and parameters: fp8, bf16 (unless said), fp16, fp32"},
                               {"flops", "operations a second that a GPU attains, 137e12 unless said (A100)"},
                               {"layer", "time of the forward pass through a layer on one GPU, instead of flops"},
                               {"issue", "CPU time before each computation and call, 0us unless said"},
                               {"steps", "2 unless said"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

LayerModel layer_model(const TraceOptions& options) {
  LayerModel model{options.whole("gpus", 4),
                   options.whole("layers", kLayers),
                   options.whole("hidden", kHidden),
                   options.whole("sequence", kSequence),
                   options.whole("batch", 1),
                   options.whole("steps", 2),
                   options.number("flops", kAttained),
                   options.seconds("layer", 0),
                   value_of(options),
                   options.seconds("issue", 0),
                   yes_or_no(options, "training", true)};
  if (model.flops_per_s <= 0) throw InputError("option flops: must be positive");
  if (options.has("layer") && !(model.layer_s > 0)) throw InputError("option layer: must be above 0");
  if (options.has("layer") && options.has("flops")) throw InputError("option layer: is instead of flops");
  return model;
}

void write_steps(TraceHeader header, const LayerModel& model, TraceSink& sink,
                 const std::function<void(RankWriter&)>& step) {
  std::vector<RankWriter> ranks = start_ranks(header, model.gpus, sink);
  for (RankWriter& rank : ranks) rank.issue_takes(model.issue_s);
  for (int number = 0; number < model.steps; ++number)
    for (RankWriter& rank : ranks) {
      step(rank);
      rank.sync();
      rank.step();
    }
}

double TransformerJob::output_flops() const { return 2.0 * microbatch * sequence * hidden * vocabulary; }

// source: Narayanan et al., SC 2021, equation 2: 12 l h^2 (1 + 13 / 12h + ...)
double TransformerJob::layer_parameters() const {
  return 12.0 * hidden * hidden + 13.0 * hidden;  // source: as above
}

std::vector<TraceOption> transformer_options() {
  return {{"layers", "24 unless said"},
          {"hidden", "width, 2304 unless said"},
          {"sequence", "tokens of a sequence, 2048 unless said"},
          {"vocabulary", "51200 unless said"},
          {"batch", "sequences of a step, all replicas together, 32 unless said"},
          {"microbatch", "sequences that pass the pipeline together, 1 unless said"},
          {"dp", "replicas (data parallel), 1 unless said"},
          {"tp", "GPUs that share each layer (tensor parallel), 1 unless said"},
          {"pp", "stages (pipeline parallel, 1F1B), 1 unless said"},
          {"steps", "2 unless said"},
          {"recompute", "1: activations are recomputed (default); 0: kept"},
          {"flops", "operations a second that a GPU attains, 137e12 unless said (A100)"},
          {"value", "bytes of an activation, 2B unless said"},
          {"gradient", "bytes of a gradient as it is reduced, 4B unless said"}};
}

TransformerJob transformer_job(const TraceOptions& options) {
  constexpr double kValue_B = 2, kGradient_B = 4;  // 16-bit activations, gradients reduced in 32 bits
  TransformerJob job{options.whole("layers", kLayers),
                     options.whole("hidden", kHidden),
                     options.whole("sequence", kSequence),
                     options.whole("vocabulary", kVocabulary),
                     options.whole("batch", 32),
                     options.whole("microbatch", 1),
                     options.whole("dp", 1),
                     options.whole("tp", 1),
                     options.whole("pp", 1),
                     options.whole("steps", 2),
                     yes_or_no(options, "recompute", true),
                     options.number("flops", kAttained),
                     options.bytes("value", kValue_B),
                     options.bytes("gradient", kGradient_B)};
  if (job.flops_per_s <= 0) throw InputError("option flops: must be positive");
  refuse_many_ranks(static_cast<double>(job.data) * job.tensor * job.pipeline);
  must_divide("layers", job.layers, job.pipeline, "pp");
  must_divide("hidden", job.hidden, job.tensor, "tp");
  must_divide("vocabulary", job.vocabulary, job.tensor, "tp");
  must_divide("batch", job.batch, job.data, "dp");
  must_divide("batch", job.batch / job.data, job.microbatch, "microbatch, after dp");
  return job;
}

}  // namespace linkcast
