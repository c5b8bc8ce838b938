// Costs of NCCL's kernels, which no copy can show: each operation by protocol, channels and size.
// Measures: rings of five operations, LL, LL128 and Simple forced, with 1, 4, 16 and all channels; messages of four.
// Two GPUs and all: what lies between follows from these; some of the channels on two alone.
// Few bytes show start-up and hops, many bytes on one channel the rates of a thread block by what it does with them
// (sends, reduces, copies, receives), many on all channels what these leave of the links.
// Excludes: NVLS; NCCL's own choices (nccl_ops measures those and is held out).
// Method: nccl_worker.hpp, a process for each setting; the calls are queued behind a hold, back to back.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nccl_sizes.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

const std::vector<std::string> kRings = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"};
const std::vector<std::string> kMessages = {"sendrecv", "alltoall", "gather", "scatter"};

/// Settings that are forced, and the sizes at which that shows something: none that no version of the library would
/// take it for.
struct Setting {
  std::string protocol, algorithm;
  int channels;  ///< 0: as many as the library takes
  std::vector<std::string> operations;
  std::vector<std::size_t> sizes;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"LL", "ring", 0, kRings, {8, kKiB, 8 * kKiB, 64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB}},
      {"LL", "ring", 1, kRings, {8, 32 * kKiB, 256 * kKiB}},
      {"LL", "ring", 4, kRings, {kMiB}},
      {"LL", "tree", 0, {"all_reduce"}, {8, 8 * kKiB, 256 * kKiB}},
      {"LL128", "ring", 0, kRings, {64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB}},
      {"LL128", "ring", 1, kRings, {32 * kKiB, 4 * kMiB}},
      {"LL128", "ring", 4, kRings, {16 * kMiB}},
      {"LL128", "tree", 0, {"all_reduce"}, {256 * kKiB, 4 * kMiB}},
      {"Simple", "ring", 0, kRings, {64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, kGiB}},
      {"Simple", "ring", 1, kRings, {32 * kKiB, 256 * kKiB, 4 * kMiB, 32 * kMiB}},
      {"Simple", "ring", 4, kRings, {kMiB, 64 * kMiB}},
      {"Simple", "ring", 16, kRings, {4 * kMiB, 256 * kMiB}},
      {"Simple", "tree", 0, {"all_reduce"}, {256 * kKiB, 16 * kMiB}},
      {"",
       "",
       0,
       kMessages,
       {8, kKiB, 8 * kKiB, 64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, kGiB}},
      {"", "", 1, kMessages, {8, 256 * kKiB, 4 * kMiB, 32 * kMiB}},
      {"", "", 4, kMessages, {kMiB, 64 * kMiB}}};
  return all;
}

class NcclBase final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override { return why_no_nccl(context); }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override {
    return {{"nccl", nccl_version(context.options.nccl).value_or("none")},
            {"process", "one process drives all GPUs; a new process for each protocol, algorithm and channel setting"},
            {"settings",
             "NCCL_PROTO, NCCL_ALGO, NCCL_NVLS_ENABLE=0; channels: NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, "
             "NCCL_MIN_P2P_NCHANNELS and NCCL_MAX_P2P_NCHANNELS; other NCCL_ variables dropped"},
            {"start", "all GPUs held by a spinning kernel, released together by the host"},
            {"clock", "CUDA events on each GPU around the queue of calls, the slowest GPU, divided by the calls"},
            {"calls_per_repetition", std::string("half of: ") + copies_rule() + ", at most 16"},
            {"sendrecv", "every GPU sends to the next and receives from the one before"}};
  }

 private:
  void add(Context& context, std::vector<Point>& all, const Setting& setting, const std::string& op, std::size_t bytes);
  Json run(Context& context, const Setting& setting, const NcclRequest& request);

  NcclWorker::Settings running_;
  std::unique_ptr<NcclWorker> worker_;
};

std::vector<Point> NcclBase::points(Context& context) {
  constexpr std::size_t kQuick = 2;  // sizes of each, the smallest first
  std::vector<Point> all;
  for (const Setting& setting : settings())
    for (const std::string& op : setting.operations)
      for (std::size_t i = 0; i < setting.sizes.size(); ++i)
        if (!context.options.quick || i < kQuick) add(context, all, setting, op, setting.sizes[i]);
  // One communicator after the other inside a process, one process after the other.
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.group < b.group; });
  return all;
}

void NcclBase::add(Context& context, std::vector<Point>& all, const Setting& setting, const std::string& op,
                   std::size_t size) {
  for (const int count : counts_of(context.gpus, {2}, context.options.quick)) {
    if (setting.channels > 1 && count > 2 && !context.options.quick) continue;
    // At least one float a rank.
    const std::size_t bytes = rounded_size(op, std::max(size, sizeof(float) * static_cast<std::size_t>(count)), count);
    NcclRequest request{op, {}, bytes, calls_of(bytes), context.effort(bytes)};
    for (int gpu = 0; gpu < count; ++gpu) request.gpus.push_back(gpu);
    Json key{{"op", op}, {"gpus", request.gpus}, {"size_B", bytes}};
    if (!setting.protocol.empty()) key.update({{"protocol", setting.protocol}, {"algorithm", setting.algorithm}});
    if (setting.channels > 0) key["channels"] = setting.channels;
    const std::string channels = setting.channels > 0 ? " " + std::to_string(setting.channels) + " channels" : "";
    const std::string group = (setting.protocol.empty() ? "messages" : setting.protocol + " " + setting.algorithm) +
                              channels + " on " + std::to_string(count) + " GPUs";
    all.push_back({key, group, [this, &context, setting, request] { return run(context, setting, request); }});
  }
}

Json NcclBase::run(Context& context, const Setting& setting, const NcclRequest& request) {
  NcclWorker::Settings forced;
  if (!setting.protocol.empty()) forced = {{"NCCL_PROTO", setting.protocol}, {"NCCL_ALGO", setting.algorithm}};
  if (setting.channels > 0)
    for (const char* name :
         {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"})
      forced[name] = std::to_string(setting.channels);
  if (!worker_ || forced != running_) {
    worker_.reset();
    worker_ = std::make_unique<NcclWorker>(context.options.nccl, forced);
    running_ = forced;
  }
  return worker_->measure(request);
}

const bool registered =
    add_bench({"nccl_base", "NCCL's kernels: nine operations by protocol, channels and size", "back_to_back", 70},
              [] { return std::make_unique<NcclBase>(); });

}  // namespace
}  // namespace linkcast::bench
