#include "calibrate/bench/device.hpp"

#include <algorithm>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kPoison = 0xA5;
constexpr std::size_t kMemoryShare = 4;  // an arena takes at most this part of the free memory

}  // namespace

Stream::Stream(int device) : device_(device) {
  CUDA_CHECK(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_.reset(stream);
}

Event::Event(int device, bool timed) {
  CUDA_CHECK(cudaSetDevice(device));
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming));
  event_.reset(event);
}

DeviceMemory allocate(int device, std::size_t bytes) {
  CUDA_CHECK(cudaSetDevice(device));
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  return DeviceMemory(memory);
}

PinnedMemory allocate_pinned(int device, std::size_t bytes) {
  CUDA_CHECK(cudaSetDevice(device));
  void* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  return PinnedMemory(memory);
}

PeerAccess::PeerAccess(int gpus) : gpus_(gpus), possible_(static_cast<std::size_t>(gpus) * gpus) {
  for (int device = 0; device < gpus; ++device)
    for (int owner = 0; owner < gpus; ++owner) {
      int can = device == owner;
      if (device != owner) CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, owner));
      possible_[static_cast<std::size_t>(device * gpus + owner)] = can != 0;
    }
}

PeerAccess::~PeerAccess() {
  try {
    set(false);
  } catch (const DeviceError&) {
    return;  // the context is gone and its mappings with it
  }
}

void PeerAccess::set(bool enabled) {
  if (enabled == enabled_) return;
  for (int device = 0; device < gpus_; ++device) {
    CUDA_CHECK(cudaSetDevice(device));
    for (int owner = 0; owner < gpus_; ++owner) {
      if (device == owner || !possible(device, owner)) continue;
      CUDA_CHECK(enabled ? cudaDeviceEnablePeerAccess(owner, 0) : cudaDeviceDisablePeerAccess(owner));
    }
  }
  enabled_ = enabled;
}

bool PeerAccess::possible(int device, int owner) const {
  return possible_[static_cast<std::size_t>(device * gpus_ + owner)];
}

Buffers::Buffers(int gpus) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    CUDA_CHECK(cudaSetDevice(gpu));
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    while (out_bytes_ > free / kMemoryShare) out_bytes_ /= 2;
  }
  const std::size_t flow = std::min(kLargestFlow, out_bytes_);
  in_bytes_ = std::max(out_bytes_, static_cast<std::size_t>(std::max(2, gpus - 1)) * flow);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    out_.push_back(allocate(gpu, out_bytes_));
    in_.push_back(allocate(gpu, in_bytes_));
    counters_.push_back(allocate(gpu, sizeof(unsigned long long)));
    streams_.emplace_back(gpu);
    launch_pattern(out_.back().get(), out_bytes_, static_cast<std::uint32_t>(gpu), 0, streams_.back().get());
    CUDA_CHECK(cudaStreamSynchronize(streams_.back().get()));
  }
}

const void* Buffers::out(int gpu, std::size_t offset) const {
  return static_cast<const char*>(out_[static_cast<std::size_t>(gpu)].get()) + offset;
}

void* Buffers::in(int gpu, std::size_t offset) const {
  return static_cast<char*>(in_[static_cast<std::size_t>(gpu)].get()) + offset;
}

void Buffers::poison(int gpu, std::size_t offset, std::size_t bytes) {
  const cudaStream_t stream = streams_[static_cast<std::size_t>(gpu)].get();
  CUDA_CHECK(cudaSetDevice(gpu));
  CUDA_CHECK(cudaMemsetAsync(in(gpu, offset), kPoison, bytes, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
}

unsigned long long Buffers::mismatches(int gpu, std::size_t offset, std::size_t bytes, int source,
                                       std::size_t source_offset) {
  const auto index = static_cast<std::size_t>(gpu);
  const cudaStream_t stream = streams_[index].get();
  auto* counter = static_cast<unsigned long long*>(counters_[index].get());
  CUDA_CHECK(cudaSetDevice(gpu));
  CUDA_CHECK(cudaMemsetAsync(counter, 0, sizeof *counter, stream));
  launch_pattern_check(in(gpu, offset), bytes, static_cast<std::uint32_t>(source),
                       source_offset / sizeof(std::uint32_t), counter, stream);
  unsigned long long count = 0;
  CUDA_CHECK(cudaMemcpyAsync(&count, counter, sizeof count, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  return count;
}

}  // namespace linkcast::bench
