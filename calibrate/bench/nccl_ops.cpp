// Held-out collectives: what predictions are compared with. Never used to fit.
// Measures: NCCL as it chooses by itself (NVLS off), nine operations, 8 B to 4 GiB, 2, 3, 4 and all GPUs; checks data.
// Excludes: several processes; graphs; in-place calls.
// Method: nccl_worker.hpp; the calls are queued behind a hold, back to back. After the last point every call is made
// once more under NCCL_DEBUG=INFO: the log beside the record names algorithm, protocol and channels of each.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nccl_sizes.hpp"
#include "calibrate/bench/nccl_worker.hpp"
#include "calibrate/bench/session.hpp"

namespace linkcast::bench {
namespace {

const BenchInfo kInfo = {"nccl_ops", "held out: nine NCCL operations, 8 B to 4 GiB, 2, 3, 4 and all GPUs",
                         "back_to_back", 80, false};

constexpr std::size_t kLargest = std::size_t{4} << 30;

std::vector<std::size_t> sizes(Context& context) {
  std::vector<std::size_t> all;
  if (context.options.quick) {
    for (std::size_t size = 8; size <= context.buffers().largest_copy(); size *= 32) all.push_back(size);
    return all;
  }
  for (std::size_t size = 8; size < kLargest; size *= 4) all.push_back(size);
  all.push_back(kLargest);
  return all;
}

std::string settings_text(const Context& context) {
  std::string text;
  for (const auto& [name, value] : context.options.nccl_env) text += ", " + name + "=" + value;
  return text;
}

class NcclOps final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override { return why_no_nccl(context); }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override {
    return {{"nccl", nccl_version(context.options.nccl).value_or("none")},
            {"process", "one process drives all GPUs"},
            {"settings", "NCCL_NVLS_ENABLE=0" + settings_text(context) + "; other NCCL_ variables dropped"},
            {"size_B", "the size column of nccl-tests, rounded down to one float a rank where the operation splits it"},
            {"start", "all GPUs held by a spinning kernel, released together by the host"},
            {"clock", "CUDA events on each GPU around the queue of calls, the slowest GPU, divided by the calls"},
            {"calls_per_repetition", std::string("half of: ") + copies_rule() + ", at most 16"}};
  }
  void finish(Context& context) override;

 private:
  std::vector<NcclRequest> requests_;
  std::unique_ptr<NcclWorker> worker_;
};

std::vector<Point> NcclOps::points(Context& context) {
  std::vector<Point> all;
  for (const int count : counts_of(context.gpus, {2, 3, 4}, context.options.quick))
    for (const std::string& op : nccl_operations())
      for (const std::size_t size : sizes(context)) {
        const std::size_t bytes = rounded_size(op, size, count);
        if (bytes == 0) continue;  // less than one float a rank
        NcclRequest request{op, {}, bytes, calls_of(size), context.effort(size)};
        for (int gpu = 0; gpu < count; ++gpu) request.gpus.push_back(gpu);
        requests_.push_back(request);
        all.push_back({{{"op", op}, {"gpus", request.gpus}, {"size_B", bytes}},
                       op + " on " + std::to_string(count) + " GPUs",
                       [this, &context, request] {
                         if (!worker_)
                           worker_ = std::make_unique<NcclWorker>(context.options.nccl, context.options.nccl_env);
                         return worker_->measure(request);
                       }});
      }
  return all;
}

void NcclOps::finish(Context& context) {
  worker_.reset();
  NcclWorker::Settings settings = context.options.nccl_env;
  settings.insert({{"NCCL_DEBUG", "INFO"},
                   {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH,TUNING,ENV"},
                   {"NCCL_DEBUG_FILE", context.options.out + "/" + record_id(context.options, kInfo) + ".log"}});
  NcclWorker logging(context.options.nccl, settings);
  try {
    for (NcclRequest request : requests_) {
      request.copies = 1;
      request.effort = {0, 1, 1, 0};
      logging.measure(request);
    }
  } catch (const Waived& waived) {
    std::fprintf(stderr, "[nccl_ops] no complete log: %s\n", waived.what());
  }
}

const bool registered = add_bench(kInfo, [] { return std::make_unique<NcclOps>(); });

}  // namespace
}  // namespace linkcast::bench
