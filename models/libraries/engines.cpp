// Inference engines: an all_reduce of their own by kernels over the memory of peers, and NCCL for all else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "models/libraries/generations.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

// NCCL that these releases are built with; a machine's own version matters to NCCL's sizes alone. source: requirements
// of vLLM 0.24 and SGLang 0.5.14 (PyTorch's NCCL, 2.27 and 2.28)
constexpr const char* kBelow = "nccl-2.27";

constexpr double kKi = 1024, kMi = 1048576;
constexpr int kBlackwellUltra = 103;
constexpr double kLoad_B = 16;  ///< of a thread at once

struct Call {
  int sm = 0, ranks = 0;
  double size_B = 0;
  bool multicast = false;  ///< by NVSwitches above all of its GPUs, which the query does not leave out
};

/// Kernel of one of models/algorithms.
struct Kernel {
  std::string_view protocol{};
  int blocks = 0, threads = 0;
  double in_flight_B = 0;  ///< TunerChoice::in_flight_B
};

int multiprocessors(const Call& call) { return gpu_generation(call.sm).multiprocessors; }

int grid(double items, double of_each, int most) {
  return static_cast<int>(std::clamp(std::ceil(items / of_each), 1.0, static_cast<double>(most)));
}

/// Figures by number of GPUs.
using ByRanks = std::map<int, double>;

/// Releases of an engine that follow one rule.
class Engine {
 public:
  Engine(std::string name, std::string summary, std::string source, std::set<int> counts, bool over_pcie)
      : name(std::move(name)),
        summary(std::move(summary)),
        source(std::move(source)),
        counts(std::move(counts)),
        over_pcie(over_pcie) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  /// Algorithm; empty: the library below does it.
  [[nodiscard]] virtual std::string_view takes(const Call& call) const = 0;
  /// @returns nothing where it has no such algorithm for this call
  [[nodiscard]] virtual std::optional<Kernel> kernel(std::string_view algorithm, const Call& call) const = 0;
  /// Grounds of its choice that a query does not name.
  [[nodiscard]] virtual std::string assumes(const Call& /*call*/) const { return ""; }

  const std::string name, summary, source;
  const std::set<int> counts;  ///< of GPUs
  const bool over_pcie;        ///< two GPUs may be without NVLink
};

/// @source  models/libraries/SOURCES.md, "Inference engines": vLLM
class Vllm final : public Engine {
 public:
  Vllm()
      : Engine("vllm", "vLLM 0.14 to 0.24: custom_all_reduce, torch's symmetric memory, NCCL above",
               "models/libraries/SOURCES.md (facts about vllm-project/vllm)", {2, 4, 6, 8}, true) {}

  [[nodiscard]] std::string_view takes(const Call& call) const override {
    if (call.size_B < custom_below_B(call)) {
      constexpr double kFour_B = 512 * kKi, kMore_B = 256 * kKi;
      const bool one = call.ranks == 2 || call.size_B < (call.ranks == 4 ? kFour_B : kMore_B);
      return one ? "one_shot" : "two_shot";
    }
    if (call.size_B > symmetric_B(call)) return "";
    return by_switch(call) ? "multimem" : "two_shot";
  }

  [[nodiscard]] std::optional<Kernel> kernel(std::string_view algorithm, const Call& call) const override {
    constexpr int kBlocks = 36, kThreads = 512, kTorchThreads = 1024, kSwitchBlocks = 8, kTorchBlocks = 24;
    constexpr double kBlock_B = kThreads * kLoad_B, kTorchBlock_B = kTorchThreads * kLoad_B;
    const bool symmetric = call.size_B >= custom_below_B(call) && symmetric_B(call) > 0;
    if (algorithm == "multimem" && symmetric_B(call) > 0)
      return Kernel{"multicast", grid(call.size_B / call.ranks, kTorchBlock_B, kSwitchBlocks), kTorchThreads};
    if (algorithm == "two_shot" && symmetric)
      return Kernel{"symmetric", grid(call.size_B / call.ranks, kTorchBlock_B, kTorchBlocks), kTorchThreads};
    if (algorithm == "one_shot" || algorithm == "two_shot")
      return Kernel{"pull", grid(call.size_B, kBlock_B, kBlocks), kThreads, kBlocks * kBlock_B};
    return std::nullopt;
  }

 private:
  static double at(const ByRanks& row, int ranks) {
    const auto found = row.find(ranks);
    return found == row.end() ? 0 : found->second;
  }
  /// Where torch's symmetric memory is in use custom_all_reduce ends sooner.
  static double custom_below_B(const Call& call) {
    static const ByRanks kHopperRow = {{2, 8 * kMi}, {4, 8 * kMi}, {6, 512 * kKi}, {8, 256 * kKi}};
    static const ByRanks kBlackwellRow = {{2, 2 * kMi}, {4, 2 * kMi}, {6, kMi}, {8, kMi}};
    static const ByRanks kUltraRow = {{2, 4 * kMi}, {4, 4 * kMi}, {6, 8 * kMi}, {8, 4 * kMi}};
    constexpr double kAlone_B = 8 * kMi;
    if (symmetric_B(call) <= 0) return kAlone_B;
    return at(call.sm >= kBlackwellUltra ? kUltraRow : call.sm >= kBlackwell ? kBlackwellRow : kHopperRow, call.ranks);
  }
  /// Up to and including; 0: not in use.
  static double symmetric_B(const Call& call) {
    static const ByRanks kHopperRow = {{2, 64 * kMi}, {4, 32 * kMi}, {6, 64 * kMi}, {8, 64 * kMi}};
    static const ByRanks kBlackwellRow = {{2, 8 * kMi}, {4, 32 * kMi}, {6, 128 * kMi}, {8, 128 * kMi}};
    static const ByRanks kUltraRow = {{2, 4 * kMi}, {4, 32 * kMi}, {6, 32 * kMi}, {8, 64 * kMi}};
    if (!call.multicast || call.sm < kHopper) return 0;
    return at(call.sm >= kBlackwellUltra ? kUltraRow : call.sm >= kBlackwell ? kBlackwellRow : kHopperRow, call.ranks);
  }
  static bool by_switch(const Call& call) { return call.ranks >= (call.sm >= kBlackwell ? 6 : 4); }
};

/// @source  models/libraries/SOURCES.md, "Inference engines": SGLang
class Sglang final : public Engine {
 public:
  Sglang()
      : Engine("sglang", "SGLang 0.5.12 to 0.5.14: custom all_reduce v2, NCCL above",
               "models/libraries/SOURCES.md (facts about sgl-project/sglang)", {2, 3, 4, 5, 6, 7, 8}, false) {}

  [[nodiscard]] std::string_view takes(const Call& call) const override {
    constexpr double kMost_B = 16 * kMi;
    if (call.size_B > kMost_B) return "";
    return call.ranks == 2 || call.size_B <= push_B(call) ? "one_shot" : "two_shot";
  }

  [[nodiscard]] std::optional<Kernel> kernel(std::string_view algorithm, const Call& call) const override {
    constexpr int kPullThreads = 256, kLeastThreads = 128, kMostThreads = 1024;
    const int blocks = multiprocessors(call);
    if (algorithm == "one_shot" && call.size_B <= push_B(call)) {
      int threads = kLeastThreads;
      while (threads < kMostThreads && threads * blocks * kLoad_B < call.size_B) threads *= 2;
      return Kernel{"push", blocks, threads};
    }
    if (algorithm == "one_shot") return Kernel{"pull", blocks, kPullThreads, blocks * kPullThreads * kLoad_B};
    if (algorithm == "two_shot") return Kernel{"push", blocks, kPullThreads};
    return std::nullopt;
  }

 private:
  /// Up to and including.
  static double push_B(const Call& call) {
    static const ByRanks kRow = {{2, 2 * kMi},   {3, 512 * kKi}, {4, 384 * kKi}, {5, 256 * kKi},
                                 {6, 192 * kKi}, {7, 192 * kKi}, {8, 160 * kKi}};
    static const ByRanks kBlackwellRow = {{2, 4 * kMi}, {3, 4 * kMi},   {4, 2 * kMi},  {5, 2 * kMi},
                                          {6, kMi},     {7, 896 * kKi}, {8, 720 * kKi}};
    return (call.sm >= kBlackwell ? kBlackwellRow : kRow).at(call.ranks);
  }
};

/// @source  models/libraries/SOURCES.md, "Inference engines": TensorRT-LLM
class TrtLlm final : public Engine {
 public:
  TrtLlm()
      : Engine("trtllm", "TensorRT-LLM 1.2 and 1.3 by its table: one-shot, two-shot, NCCL above",
               "models/libraries/SOURCES.md (facts about NVIDIA/TensorRT-LLM)", {2, 4, 8}, false) {}

  /// Tokens count by their power of two, so that a row holds up to the next one.
  [[nodiscard]] std::string_view takes(const Call& call) const override {
    const bool blackwell = call.sm >= kBlackwell;
    const double one_below_B = 2 * (call.ranks == 2   ? 16 * kMi
                                    : call.ranks == 4 ? (blackwell ? 4 * kMi : kMi)
                                                      : (blackwell ? 2 * kMi : 512 * kKi));
    if (call.size_B < one_below_B) return "one_shot";
    if (call.ranks == 2) return "";
    if (!blackwell && call.ranks == 8 && call.size_B < 2 * kMi) return "";
    const double two_below_B =
        2 * (call.ranks == 4 ? (blackwell ? 16 * kMi : 8 * kMi) : (blackwell ? 32 * kMi : 4 * kMi));
    return call.size_B < two_below_B ? "two_shot" : "";
  }

  [[nodiscard]] std::optional<Kernel> kernel(std::string_view algorithm, const Call& call) const override {
    constexpr int kBlocksOfToken = 4, kThreads = 128;
    const double tokens = std::max(1.0, call.size_B / kToken_B);
    if (algorithm == "one_shot")
      return Kernel{"push", grid(kBlocksOfToken * tokens, 1, multiprocessors(call)), kThreads};
    if (algorithm == "two_shot" && tokens >= call.ranks)
      return Kernel{"staged", grid(kBlocksOfToken * tokens / call.ranks, 1, multiprocessors(call)), kThreads};
    return std::nullopt;
  }

  [[nodiscard]] std::string assumes(const Call& /*call*/) const override {
    return "trtllm chooses by tokens and hidden size: tokens of 4096 elements of 2 B are assumed, and its autotuner "
           "to be off";
  }

 private:
  static constexpr double kToken_B = 8192;
};

/// Rings, trees and all costs of them are those of the library below.
class EngineLibrary final : public Library, public RingLibrary {
 public:
  explicit EngineLibrary(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  [[nodiscard]] const RingLibrary* rings() const override { return this; }

  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    return called(below().build(platform, gpus));
  }
  [[nodiscard]] bool spans_nodes() const override { return true; }
  [[nodiscard]] Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          const ExitSettings& exits) const override {
    return called(below().build_across(cluster, gpus, nodes, exits));
  }
  [[nodiscard]] bool takes_topology_files() const override { return true; }
  [[nodiscard]] bool has_pxn() const override { return below().has_pxn(); }
  [[nodiscard]] bool has_exit_settings() const override { return below().has_exit_settings(); }
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    return below().protocol(platform, communicator, operation, size, forced);
  }
  [[nodiscard]] std::vector<TunerEntry> tuner(const Platform& platform, const Communicator& communicator,
                                              const TunerRequest& request) const override {
    return below().tuner(platform, communicator, request);
  }
  /// Its own kernel, or the choice of the library below and why.
  [[nodiscard]] std::optional<TunerChoice> choose(const Platform& platform, const Communicator& communicator,
                                                  const TunerRequest& request) const override {
    const bool forced = is_own(request.algorithm);
    const bool decides = request.algorithm.empty() && request.protocol.empty() && request.channels == 0;
    if (request.operation != "all_reduce" || (!forced && !decides))
      return below().choose(platform, communicator, request);
    const Call call = call_of(platform, communicator, request);
    std::string why = refusal(platform, communicator, call);
    const std::string_view algorithm = !why.empty() ? "" : forced ? request.algorithm : engine_->takes(call);
    const std::optional<Kernel> kernel = algorithm.empty() ? std::nullopt : engine_->kernel(algorithm, call);
    if (kernel) return own(algorithm, *kernel, engine_->assumes(call));
    if (why.empty())
      why = fmt::format("it takes none of its own for {} on {} GPUs of this generation", to_text(request.size),
                        call.ranks);
    if (forced)
      throw InputError(fmt::format("algorithm: {} has no {} here: {}", engine_->name, request.algorithm, why));
    std::optional<TunerChoice> choice = below().choose(platform, communicator, request);
    choice->why = fmt::format("{} leaves this all_reduce to {}: {}", engine_->name, kBelow, why);
    return choice;
  }
  [[nodiscard]] std::optional<MessageChoice> message(const Communicator& communicator, Bytes size,
                                                     int channels) const override {
    return below().message(communicator, size, channels);
  }
  /// Decoding runs in CUDA graphs.
  [[nodiscard]] std::string usual_launch() const override { return "graph"; }
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return below().base_latency(protocol);
  }
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    return below().hop_latency(protocol, path_class);
  }
  [[nodiscard]] AlgorithmLatency algorithm_latency(const Communicator& communicator,
                                                   const std::string& algorithm) const override {
    return below().algorithm_latency(communicator, algorithm);
  }
  [[nodiscard]] Prior multicast_share(const Platform& platform, const Communicator& communicator) const override {
    return below().multicast_share(platform, communicator);
  }
  [[nodiscard]] std::optional<Prior> block_rate(const Platform& platform, const Communicator& communicator,
                                                const std::string& protocol) const override {
    return below().block_rate(platform, communicator, protocol);
  }

 private:
  static const RingLibrary& below() { return ring_library(kBelow); }
  static bool is_own(const std::string& algorithm) {
    return algorithm == "one_shot" || algorithm == "two_shot" || algorithm == "multimem";
  }
  [[nodiscard]] Communicator called(Communicator made) const {
    made.caller = engine_->name;
    return made;
  }
  static TunerChoice own(std::string_view algorithm, const Kernel& kernel, std::string why) {
    TunerChoice choice;
    choice.entry.algorithm = algorithm;
    choice.entry.protocol = kernel.protocol;
    choice.channels = kernel.blocks;
    choice.threads = kernel.threads;
    choice.in_flight_B = kernel.in_flight_B;
    choice.why = std::move(why);
    return choice;
  }

  /// Pairs of members whose route is not of NVLink alone; and whether all are below one level of NVSwitches.
  struct Pairs {
    bool without_peer = false, without_nvlink = false, below_switches = true;
  };
  static Pairs pairs_of(const Platform& platform, const std::vector<int>& gpus) {
    Pairs pairs;
    for (const int from : gpus)
      for (const int to : gpus) {
        if (from == to) continue;
        const auto& route = platform.peer_route(platform.gpu(from), platform.gpu(to));
        pairs.without_peer = pairs.without_peer || !route;
        pairs.without_nvlink = pairs.without_nvlink || !route || !platform.accelerators_only(route->links);
        pairs.below_switches = pairs.below_switches && route && route->links.size() == 2;
      }
    return pairs;
  }
  static Call call_of(const Platform& platform, const Communicator& communicator, const TunerRequest& request) {
    const bool switches = pairs_of(platform, communicator.gpus).below_switches;
    const int sm = oldest_generation(platform, communicator.gpus);
    return {sm, communicator.ranks(), request.size.si, request.nvls && switches && sm >= kHopper};
  }
  /// Why it cannot run its own at all; empty: it can.
  [[nodiscard]] std::string refusal(const Platform& platform, const Communicator& communicator,
                                    const Call& call) const {
    if (communicator.nodes > 1) return "its own runs in one node";
    if (!engine_->counts.contains(call.ranks))
      return fmt::format("its own is of {} GPUs", fmt::join(engine_->counts, ", "));
    const Pairs pairs = pairs_of(platform, communicator.gpus);
    if (engine_->over_pcie && call.ranks == 2)
      return pairs.without_peer ? "its own needs peer access between both GPUs" : whole_loads(call);
    return pairs.without_nvlink ? "its own needs NVLink between all pairs of GPUs" : whole_loads(call);
  }
  static std::string whole_loads(const Call& call) {
    return std::fmod(call.size_B, kLoad_B) != 0 ? "its own moves multiples of 16 B" : "";
  }

  std::unique_ptr<Engine> engine_;
};

template <class Of>
bool register_engine() {
  const Of engine;
  return libraries().add({engine.name, engine.summary, engine.source},
                         [] { return std::make_unique<EngineLibrary>(std::make_unique<Of>()); });
}

const bool vllm_registered = register_engine<Vllm>(), sglang_registered = register_engine<Sglang>(),
           trtllm_registered = register_engine<TrtLlm>();
// Costs of their kernels are one family, each engine's apart: "custom.one_shot.pull@vllm.base_s".
const bool custom_registered = join_parameters("custom", {});

}  // namespace
}  // namespace linkcast
