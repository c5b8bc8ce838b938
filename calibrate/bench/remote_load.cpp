// Latency of one load instruction by where the data lives.
// Measures: a single thread that follows a random chain of 128-byte lines in its own GPU's memory, in another GPU's, or
// in pinned host memory: time per dependent load. Excludes: L1 (loads are uncached there); bandwidth. Small chains stay
// in the L2 of the GPU that owns the memory. Method: lane_timer.hpp, kHops loads a repetition.
#include <map>
#include <numeric>
#include <random>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kHops = 4096;
constexpr std::size_t kLine = 128;   // bytes; a cache line of every GPU since Fermi
constexpr std::uint32_t kSeed = 20;  // any fixed number: the same chain in every run
constexpr int kHost = -1;

std::vector<std::uint32_t> make_chain(std::size_t bytes) {
  std::vector<std::uint32_t> order(bytes / kLine), chain(bytes / sizeof(std::uint32_t));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(kSeed);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % i]);  // one cycle (Sattolo)
  constexpr std::uint32_t kWords = kLine / sizeof(std::uint32_t);
  for (std::size_t i = 0; i < order.size(); ++i) chain[i * kWords] = order[i] * kWords;
  return chain;
}

class RemoteLoad final : public Bench {
 public:
  std::optional<std::string> can_run(const Context&) const override { return std::nullopt; }
  std::vector<Point> points(Context& context) override;
  Json method(const Context&) const override {
    return {{"size_B", "the 4 bytes of one load; working_set_B is the length of the chain"},
            {"source", "the device that owns the memory; target: the GPU that loads"},
            {"hops_per_repetition", kHops},
            {"clock", "CUDA events around one kernel of one thread, divided by the hops: the launch is 1/4096 of it"}};
  }

 private:
  Json run(Context& context, int owner, int loader, std::size_t working_set);
  const std::uint32_t* chain_on(Context& context, int owner, std::size_t working_set);

  std::map<std::size_t, std::vector<std::uint32_t>> chains_;
  PinnedMemory host_;
};

std::vector<Point> RemoteLoad::points(Context& context) {
  std::vector<std::size_t> sets = {std::size_t{64} << 10, std::size_t{8} << 20, std::size_t{256} << 20};
  if (context.options.quick) sets.resize(1);
  std::vector<Point> all;
  for (const std::size_t set : sets)
    for (int owner = kHost; owner < context.gpus; ++owner)
      for (int loader = 0; loader < context.gpus; ++loader) {
        const std::string from = owner == kHost ? "host" : gpu_id(owner);
        const std::string transport = owner == kHost ? "host" : owner == loader ? "local" : "peer";
        all.push_back({{{"transport", transport},
                        {"source", from},
                        {"target", gpu_id(loader)},
                        {"size_B", sizeof(std::uint32_t)},
                        {"engine", "sm"},
                        {"direction", "read"},
                        {"working_set_B", set}},
                       from + "->" + gpu_id(loader),
                       [this, &context, owner, loader, set] { return run(context, owner, loader, set); }});
      }
  return all;
}

const std::uint32_t* RemoteLoad::chain_on(Context& context, int owner, std::size_t working_set) {
  auto& chain = chains_[working_set];
  if (chain.empty()) chain = make_chain(working_set);
  void* memory = nullptr;
  if (owner == kHost) {
    host_ = allocate_pinned(0, working_set);
    memory = host_.get();
  } else {
    memory = context.buffers().in(owner);
    CUDA_CHECK(cudaSetDevice(owner));
  }
  CUDA_CHECK(cudaMemcpy(memory, chain.data(), working_set, cudaMemcpyDefault));
  CUDA_CHECK(cudaDeviceSynchronize());
  return static_cast<const std::uint32_t*>(memory);
}

Json RemoteLoad::run(Context& context, int owner, int loader, std::size_t working_set) {
  if (working_set > context.buffers().in_bytes()) throw Waived("not enough GPU memory for the chain");
  if (owner != kHost && !context.peers().possible(loader, owner))
    throw Waived(gpu_id(loader) + " has no peer access to " + gpu_id(owner));
  context.peers().set(true);
  const std::uint32_t* chain = chain_on(context, owner, working_set);
  const DeviceMemory sink = allocate(loader, sizeof(std::uint32_t));
  const auto queue = [&](const Streams& streams) {
    CUDA_CHECK(cudaSetDevice(loader));
    launch_chase(chain, kHops, static_cast<std::uint32_t*>(sink.get()), streams[0]);
  };
  const Samples samples = context.timer({loader}).repeat(queue, kHops, context.effort(sizeof(std::uint32_t)));
  std::uint32_t expected = 0, reached = 0;
  for (int hop = 0; hop < kHops; ++hop) expected = chains_[working_set][expected];
  CUDA_CHECK(cudaMemcpy(&reached, sink.get(), sizeof reached, cudaMemcpyDeviceToHost));
  return result_fields(samples, reached == expected);
}

const bool registered =
    add_bench({"remote_load", "latency of one dependent load from own, peer and host memory", "single", 40},
              [] { return std::make_unique<RemoteLoad>(); });

}  // namespace
}  // namespace linkcast::bench
