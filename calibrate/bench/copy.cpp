#include "calibrate/bench/copy.hpp"

#include <algorithm>
#include <map>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kBlocksPerMultiprocessor = 4;  // the copy kernel's 512 threads fill a multiprocessor of 2048

}  // namespace

int resident_blocks(int device) {
  int multiprocessors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return multiprocessors * kBlocksPerMultiprocessor;
}

const char* to_text(Engine engine) { return engine == Engine::kCopy ? "copy_engine" : "sm"; }
const char* to_text(Direction direction) { return direction == Direction::kRead ? "read" : "write"; }

void place(std::vector<Copy>& copies, const Buffers& buffers) {
  std::map<int, std::size_t> used_out, used_in;
  std::map<int, int> on_executor;
  for (const Copy& copy : copies) ++on_executor[copy.executor()];
  for (Copy& copy : copies) {
    std::size_t& from = used_out[copy.source];
    if (from + copy.bytes > buffers.largest_copy()) from = 0;  // sources may share data, targets may not
    copy.source_offset = from;
    copy.target_offset = used_in[copy.target];
    const std::size_t slot = (copy.bytes + 255) / 256 * 256;  // cudaMalloc's alignment
    from += slot;
    used_in[copy.target] += slot;
    copy.max_blocks = std::max(1, resident_blocks(copy.executor()) / on_executor[copy.executor()]);
  }
}

void enqueue(const Copy& copy, const Buffers& buffers, cudaStream_t stream) {
  void* to = buffers.in(copy.target, copy.target_offset);
  const void* from = buffers.out(copy.source, copy.source_offset);
  CUDA_CHECK(cudaSetDevice(copy.executor()));
  if (copy.engine == Engine::kMultiprocessors) {
    launch_copy(to, from, copy.bytes, copy.max_blocks, stream);
  } else if (copy.source == copy.target) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, copy.bytes, cudaMemcpyDeviceToDevice, stream));
  } else {
    CUDA_CHECK(cudaMemcpyPeerAsync(to, copy.target, from, copy.source, copy.bytes, stream));
  }
}

CopyResult run_copies(Context& context, const std::vector<Copy>& copies, int repeats, const Effort& effort, bool hold) {
  Buffers& buffers = context.buffers();
  std::vector<int> executors;
  for (const Copy& copy : copies) {
    executors.push_back(copy.executor());
    buffers.poison(copy.target, copy.target_offset, copy.bytes);
  }
  LaneTimer& timer = context.timer(executors);
  const auto queue = [&](const Streams& streams) {
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (std::size_t lane = 0; lane < copies.size(); ++lane) enqueue(copies[lane], buffers, streams[lane]);
  };
  CopyResult result{timer.repeat(queue, repeats, effort, hold), true};
  for (const Copy& copy : copies)
    result.verified = result.verified && buffers.mismatches(copy.target, copy.target_offset, copy.bytes, copy.source,
                                                            copy.source_offset) == 0;
  return result;
}

}  // namespace linkcast::bench
