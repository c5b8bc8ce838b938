// Copies between host memory and GPUs.
// Measures: pinned and pageable memory, to and from each GPU, both ways at once (pinned), and all GPUs at once
// (pinned), by copy engines and, pinned, by kernels that load from or store to host memory. Excludes: allocation and
// pinning; memory of another socket than the GPU's own. Method: pinned: lane_timer.hpp. Pageable: the call makes the
// host wait, so host clock around cudaMemcpy, one stream. Limits: without NUMA facts in sysfs (virtual machines) the
// host memory may be anywhere.
#include <algorithm>
#include <chrono>
#include <map>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/copy.hpp"
#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/host_memory.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

enum class Way { kToGpu, kToHost, kBoth };

class HostCopy final : public Bench {
 public:
  std::optional<std::string> can_run(const Context&) const override { return std::nullopt; }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override;

 private:
  HostMemory& memory(Context& context, int gpu, bool pageable);
  Json run_pinned(Context& context, const std::vector<int>& gpus, Way way, Engine engine, std::size_t bytes);
  Json run_pageable(Context& context, int gpu, Way way, std::size_t bytes);
  void add_single(Context& context, std::vector<Point>& all, int gpu, Way way, Engine engine, bool pageable,
                  std::size_t bytes);
  void add_together(Context& context, std::vector<Point>& all, Way way, Engine engine, std::size_t bytes);

  std::map<int, HostMemory> pinned_;
  std::optional<HostMemory> pageable_;  // one at a time: it is large
};

HostMemory& HostCopy::memory(Context& context, int gpu, bool pageable) {
  if (!pageable) return pinned_.try_emplace(gpu, gpu, false, context.buffers()).first->second;
  if (!pageable_ || pageable_->gpu() != gpu) {
    pageable_.reset();
    pageable_.emplace(gpu, true, context.buffers());
  }
  return *pageable_;
}

void HostCopy::add_single(Context& context, std::vector<Point>& all, int gpu, Way way, Engine engine, bool pageable,
                          std::size_t bytes) {
  const bool to_gpu = way != Way::kToHost;
  Json key{{"transport", "host"},
           {"source", to_gpu ? "host" : gpu_id(gpu)},
           {"target", to_gpu ? gpu_id(gpu) : "host"},
           {"size_B", bytes},
           {"engine", to_text(engine)}};
  if (way == Way::kBoth) key["bidirectional"] = true;
  if (pageable) key["pageable"] = true;
  const std::string group = std::string(pageable ? "pageable " : "pinned ") + to_text(engine) + " " + gpu_id(gpu) +
                            (way == Way::kBoth ? " both ways"
                             : to_gpu          ? " to gpu"
                                               : " to host");
  all.push_back({key, group, [this, &context, gpu, way, engine, pageable, bytes] {
                   return pageable ? run_pageable(context, gpu, way, bytes)
                                   : run_pinned(context, {gpu}, way, engine, bytes);
                 }});
}

void HostCopy::add_together(Context& context, std::vector<Point>& all, Way way, Engine engine, std::size_t bytes) {
  const std::string pattern = way == Way::kBoth    ? "all_host_both"
                              : way == Way::kToGpu ? "all_host_to_gpu"
                                                   : "all_gpu_to_host";
  std::vector<int> gpus;
  Json flows = Json::array();
  for (int gpu = 0; gpu < context.gpus; ++gpu) {
    gpus.push_back(gpu);
    if (way != Way::kToHost) flows.push_back({"host", gpu_id(gpu), bytes});
    if (way != Way::kToGpu) flows.push_back({gpu_id(gpu), "host", bytes});
  }
  const Json key{{"pattern", pattern}, {"flows", flows}, {"engine", to_text(engine)}};
  all.push_back({key, pattern + " " + to_text(engine),
                 [this, &context, gpus, way, engine, bytes] { return run_pinned(context, gpus, way, engine, bytes); }});
}

std::vector<Point> HostCopy::points(Context& context) {
  const std::size_t largest = std::min(HostMemory::kLargest, context.buffers().largest_copy());
  const auto sizes = copy_sizes(context.options.quick, largest), some = copy_sizes(true, largest);
  std::vector<Point> all;
  for (int gpu = 0; gpu < (context.options.quick ? 1 : context.gpus); ++gpu)
    for (const auto& [engine, pageable] :
         {std::pair{Engine::kCopy, false}, {Engine::kMultiprocessors, false}, {Engine::kCopy, true}})
      for (const Way way : {Way::kToGpu, Way::kToHost, Way::kBoth})
        for (const std::size_t bytes : gpu == 0 || gpu == context.gpus - 1 ? sizes : some)
          if (!(pageable && way == Way::kBoth)) add_single(context, all, gpu, way, engine, pageable, bytes);
  constexpr std::size_t kSmallestTogether = std::size_t{1} << 20;
  if (context.gpus > 1)
    for (const Engine engine : {Engine::kCopy, Engine::kMultiprocessors})
      for (const Way way : {Way::kToGpu, Way::kToHost, Way::kBoth})
        for (const std::size_t bytes : sizes)
          if (bytes >= kSmallestTogether) add_together(context, all, way, engine, bytes);
  return all;
}

Json HostCopy::run_pinned(Context& context, const std::vector<int>& gpus, Way way, Engine engine, std::size_t bytes) {
  struct Flow {
    HostMemory* host;
    bool to_gpu;
  };
  std::vector<Flow> flows;
  std::vector<int> devices;
  for (const int gpu : gpus)
    for (const bool to_gpu : {true, false}) {
      if (way == (to_gpu ? Way::kToHost : Way::kToGpu)) continue;
      flows.push_back({&memory(context, gpu, false), to_gpu});
      devices.push_back(gpu);
      to_gpu ? context.buffers().poison(gpu, 0, bytes) : flows.back().host->poison(bytes);
    }
  const int repeats = copies_per_repetition(bytes);
  const auto queue = [&](const Streams& streams) {
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (std::size_t i = 0; i < flows.size(); ++i) {
        const int gpu = devices[i];
        CUDA_CHECK(cudaSetDevice(gpu));
        if (engine == Engine::kMultiprocessors)
          launch_copy(flows[i].to_gpu ? context.buffers().in(gpu) : flows[i].host->target(),
                      flows[i].to_gpu ? flows[i].host->source() : context.buffers().out(gpu), bytes,
                      resident_blocks(gpu) / (way == Way::kBoth ? 2 : 1), streams[i]);
        else if (flows[i].to_gpu)
          CUDA_CHECK(cudaMemcpyAsync(context.buffers().in(gpu), flows[i].host->source(), bytes, cudaMemcpyHostToDevice,
                                     streams[i]));
        else
          CUDA_CHECK(cudaMemcpyAsync(flows[i].host->target(), context.buffers().out(gpu), bytes, cudaMemcpyDeviceToHost,
                                     streams[i]));
      }
  };
  const Samples samples = context.timer(devices).repeat(queue, repeats, context.effort(bytes));
  bool verified = true;
  for (std::size_t i = 0; i < flows.size(); ++i)  // to_gpu comes first: checking a host target reuses the arena
    verified = verified && (flows[i].to_gpu ? context.buffers().mismatches(devices[i], 0, bytes, devices[i], 0) == 0
                                            : flows[i].host->target_is_right(bytes, context.buffers()));
  Json fields = result_fields(samples, verified);
  if (gpus.size() > 1) fields["flow_times_s"] = samples.lane_s;
  return fields;
}

Json HostCopy::run_pageable(Context& context, int gpu, Way way, std::size_t bytes) {
  HostMemory& host = memory(context, gpu, true);
  CUDA_CHECK(cudaSetDevice(gpu));
  const bool to_gpu = way == Way::kToGpu;
  to_gpu ? context.buffers().poison(gpu, 0, bytes) : host.poison(bytes);
  const int repeats = copies_per_repetition(bytes);
  const Effort effort = context.effort(bytes);
  Samples samples;
  samples.held = false;
  double spent = 0;
  for (int i = -effort.warm_up; i < effort.max_repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int repeat = 0; repeat < repeats; ++repeat)
      CUDA_CHECK(to_gpu ? cudaMemcpy(context.buffers().in(gpu), host.source(), bytes, cudaMemcpyHostToDevice)
                        : cudaMemcpy(host.target(), context.buffers().out(gpu), bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (i < 0) continue;
    spent += elapsed.count();
    samples.makespan_s.push_back(elapsed.count() / repeats);
    if (i + 1 >= effort.min_repetitions && spent > effort.budget_s) break;
  }
  const bool verified = to_gpu ? context.buffers().mismatches(gpu, 0, bytes, gpu, 0) == 0
                               : host.target_is_right(bytes, context.buffers());
  return result_fields(samples, verified);
}

Json HostCopy::method(const Context&) const {
  return {
      {"start", "pinned: held by a spinning kernel, released by the host; pageable: not held"},
      {"clock", "pinned: CUDA events of each direction, the slowest counts; pageable: host clock around cudaMemcpy"},
      {"copies_per_repetition", copies_rule()},
      {"data", "hash pattern; GPU targets compared on the GPU, host targets uploaded and compared there"},
      {"engine", "copy_engine: cudaMemcpyAsync; sm: kernels of one GPU that load from or store to mapped host memory"},
      {"flow_times_s", "one list a flow, in the order of flows; time_s is the slowest flow of each repetition"}};
}

const bool registered =
    add_bench({"host_copy", "pinned and pageable host memory to and from each GPU and all at once", "back_to_back", 30},
              [] { return std::make_unique<HostCopy>(); });

}  // namespace
}  // namespace linkcast::bench
