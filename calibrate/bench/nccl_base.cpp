// The base costs of NCCL that no copy can show.
// Measures: small all_reduce (ring and tree) and sendrecv for each protocol and GPU count: base and step latency; one
// large call with a single channel for each protocol: what a channel carries.
// Excludes: NVLS; every other collective (nccl_ops measures those and is held out).
// Method: nccl_worker.hpp, a process for each setting; the calls are queued behind a hold, back to back.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kChannelBytes = std::size_t{64} << 20;
constexpr int kSmallCalls = 16, kLargeCalls = 2;

class NcclBase final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override { return why_no_nccl(context); }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override {
    return {{"nccl", nccl_version(context.options.nccl).value_or("none")},
            {"process", "one process drives all GPUs; a new process for each protocol, algorithm and channel setting"},
            {"settings",
             "NCCL_PROTO, NCCL_ALGO, NCCL_NVLS_ENABLE=0; channels 1: NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS "
             "and NCCL_MAX_P2P_NCHANNELS 1; other NCCL_ variables dropped"},
            {"start", "all GPUs held by a spinning kernel, released together by the host"},
            {"clock", "CUDA events on each GPU around the queue of calls, the slowest GPU, divided by the calls"},
            {"calls_per_repetition", "16 up to 32 KiB, 2 above"},
            {"sendrecv", "every GPU sends to the next and receives from the one before"}};
  }

 private:
  struct Setting {
    std::string protocol, algorithm;
    bool one_channel;
  };
  void add(Context& context, std::vector<Point>& all, const Setting& setting, const std::string& op, std::size_t bytes);
  Json run(Context& context, const Setting& setting, const NcclRequest& request);

  NcclWorker::Settings running_;
  std::unique_ptr<NcclWorker> worker_;
};

std::vector<Point> NcclBase::points(Context& context) {
  std::vector<Point> all;
  for (const bool one_channel : {false, true})
    for (const char* protocol : {"LL", "LL128", "Simple"})
      for (const char* algorithm : {"ring", "tree"}) {
        const bool ring = std::string(algorithm) == "ring";
        if (!ring && (one_channel || context.options.quick)) continue;
        std::vector<std::size_t> sizes = {8, 128, 1024, 8192, 32768};
        if (context.options.quick) sizes = {8, 8192};
        if (one_channel) sizes = {kChannelBytes};
        for (const char* op : {"all_reduce", "sendrecv"})
          for (const std::size_t bytes : sizes)
            if (ring || std::string(op) == "all_reduce")
              add(context, all, {protocol, algorithm, one_channel}, op, bytes);
      }
  // One communicator after the other inside a process, one process after the other.
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.group < b.group; });
  return all;
}

void NcclBase::add(Context& context, std::vector<Point>& all, const Setting& setting, const std::string& op,
                   std::size_t bytes) {
  for (int count = context.options.quick ? context.gpus : 2; count <= context.gpus; ++count) {
    NcclRequest request{op, {}, bytes, setting.one_channel ? kLargeCalls : kSmallCalls, context.effort(bytes)};
    for (int gpu = 0; gpu < count; ++gpu) request.gpus.push_back(gpu);
    Json key{{"op", op}, {"gpus", request.gpus}, {"size_B", bytes}, {"protocol", setting.protocol}};
    if (op == "all_reduce") key["algorithm"] = setting.algorithm;
    if (setting.one_channel) key["channels"] = 1;
    const std::string group = setting.protocol + " " + setting.algorithm + (setting.one_channel ? " 1 channel" : "") +
                              " on " + std::to_string(count) + " GPUs";
    all.push_back({key, group, [this, &context, setting, request] { return run(context, setting, request); }});
  }
}

Json NcclBase::run(Context& context, const Setting& setting, const NcclRequest& request) {
  NcclWorker::Settings settings = {{"NCCL_PROTO", setting.protocol}, {"NCCL_ALGO", setting.algorithm}};
  if (setting.one_channel)
    for (const char* name : {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"})
      settings[name] = "1";
  if (!worker_ || settings != running_) {
    worker_.reset();
    worker_ = std::make_unique<NcclWorker>(context.options.nccl, settings);
    running_ = settings;
  }
  return worker_->measure(request);
}

const bool registered = add_bench(
    {"nccl_base", "NCCL's base costs: smallest all_reduce and sendrecv, one channel's bandwidth", "back_to_back", 70},
    [] { return std::make_unique<NcclBase>(); });

}  // namespace
}  // namespace linkcast::bench
