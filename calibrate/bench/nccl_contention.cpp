// Held out: several communicators at once. Never used to fit.
// Measures: all_reduce of one communicator while another one, or two, run the same; NVLS off, data verified.
// Excludes: different operations or sizes at once; several processes.
// Method: nccl_worker.hpp; one process, a stream for each rank of each communicator, all released together. The time is
// that of the first communicator; the others end at about the same time, so that it has company throughout only where
// they are not faster.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

using Gpus = std::vector<int>;

class NcclContention final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override {
    if (context.gpus < 4) return "needs 4 GPUs, this machine has " + std::to_string(context.gpus);
    return why_no_nccl(context);
  }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override {
    return {
        {"nccl", nccl_version(context.options.nccl).value_or("none")},
        {"process", "one process drives all GPUs and all communicators"},
        {"settings", "NCCL_NVLS_ENABLE=0; other NCCL_ variables dropped"},
        {"start", "all ranks of all communicators held by a spinning kernel, released together by the host"},
        {"clock", "CUDA events around the queue of calls, the slowest rank of the first communicator, by the calls"},
        {"calls_per_repetition", std::string("half of: ") + copies_rule() + ", at most 16"}};
  }

 private:
  std::unique_ptr<NcclWorker> worker_;
};

std::vector<Point> NcclContention::points(Context& context) {
  const std::vector<std::vector<Gpus>> cases = {
      {{0, 1}, {2, 3}},  // nothing in common
      {{0, 1}, {0, 1}},       {{0, 1, 2, 3}, {0, 1, 2, 3}}, {{0, 1}, {1, 2}},       {{0, 1}, {1, 2}, {2, 3}},
      {{0, 1, 2}, {1, 2, 3}}, {{0, 1, 2, 3}, {0, 1}},       {{0, 1}, {0, 1, 2, 3}},
  };
  std::vector<Point> all;
  for (const std::vector<Gpus>& together : cases)
    for (const std::size_t bytes :
         {std::size_t{8192}, std::size_t{1} << 20, std::size_t{16} << 20, std::size_t{256} << 20}) {
      NcclRequest request{"all_reduce",    together.front(),      bytes,
                          calls_of(bytes), context.effort(bytes), {together.begin() + 1, together.end()}};
      Json with = Json::array();
      for (const Gpus& other : request.with) with.push_back({{"op", request.op}, {"gpus", other}, {"size_B", bytes}});
      all.push_back({{{"op", request.op}, {"gpus", request.gpus}, {"size_B", bytes}, {"with", with}},
                     std::to_string(together.size()) + " communicators at once",
                     [this, &context, request] {
                       if (!worker_)
                         worker_ = std::make_unique<NcclWorker>(context.options.nccl, context.options.nccl_env);
                       return worker_->measure(request);
                     }});
    }
  return all;
}

const bool registered =
    add_bench({"nccl_contention", "held out: all_reduce of several communicators at once", "back_to_back", 85, false},
              [] { return std::make_unique<NcclContention>(); });

}  // namespace
}  // namespace linkcast::bench
