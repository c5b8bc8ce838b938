// Held out: collectives in topologies that NCCL is told the machine has (linkcast emulate).
// Measures: nine operations, 8 B to 1 GiB, on the GPUs of one case; NCCL_TOPO_FILE, NCCL_P2P_LEVEL as the study says.
// Excludes: NVLS; several processes.
// Method: as nccl_ops; fewer repetitions. NCCL's log of what it found and its graphs lie beside the record. A case of
// more GPUs than there are is waived, after NCCL has read its file on those that there are.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/emulation.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kProbe = 8;  // bytes that show whether NCCL starts
constexpr int kMostCopies = 8;

/// A point of a few milliseconds: 90 of them, and NCCL's start, are to take 12 s.
constexpr Effort kEffort{1, 3, 9, 0.02};

class Emulate final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override {
    if (context.options.emulated.empty()) return "needs --emulate DIR";
    if (!nccl_version(context.options.nccl)) return "no usable libnccl.so.2, or built without nccl.h (see --nccl)";
    return std::nullopt;
  }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override;

 private:
  Json measure(const Context& context, const NcclRequest& request) {
    if (!worker_) worker_ = std::make_unique<NcclWorker>(context.options.nccl, context.options.nccl_env);
    return worker_->measure(request);
  }
  Point too_few(Context& context);

  std::unique_ptr<NcclWorker> worker_;
};

Json Emulate::method(const Context& context) const {
  return emulated_method(context.options, nccl_version(context.options.nccl).value_or("none"),
                         std::string("half of: ") + copies_rule() + ", at most 8");
}

/// NCCL reads the file on the GPUs that there are, which shows whether it takes it.
Point Emulate::too_few(Context& context) {
  const std::vector<int>& gpus = context.options.emulated_gpus;
  return {{{"op", "all_reduce"}, {"gpus", gpus}, {"size_B", kProbe}},
          context.options.emulated,
          [this, &context, wanted = gpus.size()]() -> Json {
            NcclRequest request{"all_reduce", {}, kProbe, 1, kEffort};
            for (int gpu = 0; gpu < context.gpus; ++gpu) request.gpus.push_back(gpu);
            const std::string lack =
                "needs " + std::to_string(wanted) + " GPUs, this machine has " + std::to_string(context.gpus);
            try {
              measure(context, request);
            } catch (const Waived& waived) {
              throw Waived(lack + ", on which NCCL does not start with the file: " + waived.what());
            }
            throw Waived(lack + ", on which NCCL starts with the file");
          }};
}

std::vector<Point> Emulate::points(Context& context) {
  const std::vector<int>& gpus = context.options.emulated_gpus;
  const int count = static_cast<int>(gpus.size());
  if (count > context.gpus) return {too_few(context)};
  std::vector<Point> all;
  for (const EmulatedCall& call : emulated_calls(count)) {
    const int copies = std::clamp(copies_per_repetition(call.bytes) / 2, 1, kMostCopies);
    const NcclRequest request{call.op, gpus, call.bytes, copies, kEffort};
    all.push_back({{{"op", call.op}, {"gpus", gpus}, {"size_B", call.bytes}},
                   context.options.emulated,
                   [this, &context, request] { return measure(context, request); }});
  }
  return all;
}

const bool registered =
    add_bench({"emulate", "held out: NCCL told other topologies, only with --emulate DIR", "back_to_back", 90, false},
              [] { return std::make_unique<Emulate>(); });

}  // namespace
}  // namespace linkcast::bench
