// Copies through a third GPU.
// Measures: source writes to the relay, the relay writes to the target; the whole message first and then on (serial),
// or chunk by chunk (pipelined). Excludes: staged copies; more than one relay. Method: lane_timer.hpp, one lane a leg;
// the second leg waits for an event of the first after each chunk; time_s is the end of the second leg.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/cuda_check.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Relayed {
  int source, via, target;
  std::size_t bytes, chunk;
};

/// The whole message (serial), then every smaller pipeline chunk.
std::vector<std::size_t> chunks_of(std::size_t size) {
  std::vector<std::size_t> chunks = {size};
  for (const std::size_t chunk : {4 * kMiB, kMiB})
    if (chunk < size) chunks.push_back(chunk);
  return chunks;
}

class Relay final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override {
    if (context.gpus < 3) return "needs 3 GPUs, this machine has " + std::to_string(context.gpus);
    return std::nullopt;
  }
  std::vector<Point> points(Context& context) override;
  Json method(const Context&) const override {
    return {
        {"legs", "source writes to via, via writes to target, copy engines, one stream each"},
        {"chunk_B", "equal to size_B: serial; smaller: pipelined, the second leg waits for an event after each chunk"},
        {"start", "both legs held by a spinning kernel, released together by the host"},
        {"clock", "CUDA events; the later of the two legs"}};
  }

 private:
  static Json run(Context& context, const Relayed& what);
};

std::vector<Point> Relay::points(Context& context) {
  std::vector<Point> all;
  for (int source = 0; source < context.gpus; ++source)
    for (int via = 0; via < context.gpus; ++via)
      for (int target = 0; target < context.gpus; ++target) {
        if (source == via || via == target || source == target) continue;
        if (context.options.quick && (source != 0 || via != 1 || target != 2)) continue;
        for (const std::size_t size : {1 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB})
          for (const std::size_t chunk : chunks_of(size)) {
            const Relayed what{source, via, target, size, chunk};
            all.push_back({{{"transport", "relay"},
                            {"source", gpu_id(source)},
                            {"target", gpu_id(target)},
                            {"via", gpu_id(via)},
                            {"size_B", size},
                            {"chunk_B", chunk},
                            {"engine", "copy_engine"},
                            {"direction", "write"}},
                           gpu_id(source) + "->" + gpu_id(via) + "->" + gpu_id(target),
                           [&context, what] { return run(context, what); }});
          }
      }
  return all;
}

Json Relay::run(Context& context, const Relayed& what) {
  for (const auto& [a, b] : {std::pair(what.source, what.via), std::pair(what.via, what.target)})
    if (!context.peers().possible(a, b)) throw Waived("no peer access from " + gpu_id(a) + " to " + gpu_id(b));
  Buffers& buffers = context.buffers();
  if (what.bytes > buffers.largest_copy()) throw Waived("not enough GPU memory");
  context.peers().set(true);
  buffers.poison(what.via, 0, what.bytes);
  buffers.poison(what.target, 0, what.bytes);
  std::vector<Event> arrived;
  for (std::size_t at = 0; at < what.bytes; at += what.chunk) arrived.emplace_back(what.source, false);
  const auto queue = [&](const Streams& streams) {
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      const std::size_t at = i * what.chunk, bytes = std::min(what.chunk, what.bytes - at);
      CUDA_CHECK(cudaSetDevice(what.source));
      CUDA_CHECK(cudaMemcpyPeerAsync(buffers.in(what.via, at), what.via, buffers.out(what.source, at), what.source,
                                     bytes, streams[0]));
      CUDA_CHECK(cudaEventRecord(arrived[i].get(), streams[0]));
      CUDA_CHECK(cudaSetDevice(what.via));
      CUDA_CHECK(cudaStreamWaitEvent(streams[1], arrived[i].get(), 0));
      CUDA_CHECK(cudaMemcpyPeerAsync(buffers.in(what.target, at), what.target, buffers.in(what.via, at), what.via,
                                     bytes, streams[1]));
    }
  };
  const Samples samples = context.timer({what.source, what.via}).repeat(queue, 1, context.effort(what.bytes));
  return result_fields(samples, buffers.mismatches(what.target, 0, what.bytes, what.source, 0) == 0);
}

const bool registered = add_bench({"relay", "copies through a third GPU, serial and chunk by chunk", "single", 60},
                                  [] { return std::make_unique<Relay>(); });

}  // namespace
}  // namespace linkcast::bench
