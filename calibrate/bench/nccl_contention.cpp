// Held out: several communicators at once. Never used to fit.
// Measures: a collective of one communicator while others run the same or another one; NVLS off, data verified.
// Excludes: different sizes at once; several processes.
// Method: nccl_worker.hpp; one process, a stream for each rank of each communicator, all released together. The time is
// that of the first communicator; the others end at about the same time, so that it has company throughout only where
// they are not faster.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nccl_sizes.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

using Gpus = std::vector<int>;

/// Calls that run at once; the first is timed.
using Together = std::vector<NcclCall>;

Gpus range(int first, int beyond, int step = 1) {
  Gpus gpus;
  for (int gpu = first; gpu < beyond; gpu += step) gpus.push_back(gpu);
  return gpus;
}

Together reducing(const std::vector<Gpus>& communicators) {
  Together all;
  for (const Gpus& gpus : communicators) all.push_back({"all_reduce", gpus});
  return all;
}

/// @param gpus  of the machine, four or more
std::vector<Together> cases(int gpus) {
  const int half = gpus / 2;
  const Gpus all = range(0, gpus), lower = range(0, half), upper = range(half, gpus);
  std::vector<Together> found = {
      reducing({lower, upper}),                          // nothing in common
      reducing({range(0, gpus, 2), range(1, gpus, 2)}),  // nor here, interleaved
      reducing({{0, 1}, {0, 1}}),
      reducing({all, all}),
      reducing({{0, 1}, {1, 2}}),
      reducing({{0, 1}, {1, 2}, {2, 3}}),
      reducing({{0, 1, 2}, {1, 2, 3}}),
      reducing({all, lower}),
      reducing({lower, all}),
      {{"all_reduce", all}, {"alltoall", all}},
      {{"alltoall", all}, {"all_reduce", all}},
      {{"all_reduce", lower}, {"alltoall", all}},
      {{"alltoall", all}, {"all_reduce", lower}},
      {{"all_gather", all}, {"reduce_scatter", all}},
      {{"reduce_scatter", all}, {"all_gather", all}},
  };
  std::vector<Gpus> pairs;
  for (int gpu = 0; gpu + 1 < gpus; gpu += 2) pairs.push_back({gpu, gpu + 1});
  if (pairs.size() > 2) found.push_back(reducing(pairs));  // of two they are the halves
  return found;
}

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
  std::vector<Point> all;
  for (const Together& together : cases(context.gpus))
    for (const std::size_t size :
         {std::size_t{8192}, std::size_t{1} << 20, std::size_t{16} << 20, std::size_t{256} << 20}) {
      const std::size_t bytes = rounded_size("alltoall", size, context.gpus);
      NcclRequest request{together.front().op, together.front().gpus, bytes,
                          calls_of(bytes),     context.effort(bytes), {together.begin() + 1, together.end()}};
      Json with = Json::array();
      for (const NcclCall& other : request.with)
        with.push_back({{"op", other.op}, {"gpus", other.gpus}, {"size_B", bytes}});
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
    add_bench({"nccl_contention", "held out: collectives of several communicators at once", "back_to_back", 85, false},
              [] { return std::make_unique<NcclContention>(); });

}  // namespace
}  // namespace linkcast::bench
