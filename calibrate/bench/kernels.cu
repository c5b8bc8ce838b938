#include <algorithm>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kThreads = 512;
constexpr int kUnroll = 4;          // 16-byte loads in flight in each thread
constexpr int kSweepBlocks = 1024;  // grid of the fill and check kernels

__device__ long long global_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(const volatile int* ticket, int wanted, int* expired, long long limit_ns) {
  const long long start = global_timer();
  while (*ticket < wanted) {
    if (global_timer() - start < limit_ns) continue;
    *expired = 1;
    return;
  }
}

__global__ void __launch_bounds__(kThreads, 4)
    copy(uint4* __restrict__ to, const uint4* __restrict__ from, std::size_t vectors, std::uint32_t* to_tail,
         const std::uint32_t* from_tail, int tail) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i + (kUnroll - 1) * stride < vectors; i += kUnroll * stride) {
    uint4 hand[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) hand[k] = from[i + k * stride];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) to[i + k * stride] = hand[k];
  }
  for (; i < vectors; i += stride) to[i] = from[i];
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < tail) to_tail[threadIdx.x] = from_tail[threadIdx.x];
}

// Finalizer of a multiplicative hash. source: constants of MurmurHash3 fmix32 (Appleby, public domain).
__device__ std::uint32_t pattern_word(std::uint32_t seed, std::size_t index) {
  auto h = static_cast<std::uint32_t>(index) ^ static_cast<std::uint32_t>(index >> 32) ^ (seed * 0x9e3779b9u);
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

__global__ void pattern(std::uint32_t* to, std::size_t words, std::uint32_t seed, std::size_t first) {
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    to[i] = pattern_word(seed, first + i);
}

__global__ void pattern_check(const std::uint32_t* data, std::size_t words, std::uint32_t seed, std::size_t first,
                              unsigned long long* mismatches) {
  unsigned long long wrong = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    wrong += data[i] != pattern_word(seed, first + i);
  if (wrong) atomicAdd(mismatches, wrong);
}

__global__ void chase(const std::uint32_t* chain, int hops, std::uint32_t* sink) {
  std::uint32_t at = 0;
  for (int i = 0; i < hops; ++i) at = __ldcv(chain + at);
  *sink = at;
}

__device__ float rank_value(int rank, std::size_t i) { return static_cast<float>((i * 7 + rank * 13) & 15); }

__global__ void rank_values(float* to, std::size_t count, int rank) {
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    to[i] = rank_value(rank, i);
}

__global__ void rank_check(const float* data, std::size_t count, int first, int last, std::size_t offset,
                           unsigned long long* mismatches) {
  unsigned long long wrong = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    float sum = 0;
    for (int rank = first; rank < last; ++rank) sum += rank_value(rank, offset + i);
    wrong += data[i] != sum;
  }
  if (wrong) atomicAdd(mismatches, wrong);
}

int sweep_blocks(std::size_t items) {
  return static_cast<int>(std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, kSweepBlocks));
}

}  // namespace

void launch_hold(const volatile int* ticket, int wanted, int* expired, long long limit_ns, cudaStream_t stream) {
  hold<<<1, 1, 0, stream>>>(ticket, wanted, expired, limit_ns);
  CUDA_CHECK(cudaGetLastError());
}

void launch_copy(void* to, const void* from, std::size_t bytes, int max_blocks, cudaStream_t stream) {
  const std::size_t vectors = bytes / sizeof(uint4);
  const std::size_t done = vectors * sizeof(uint4);
  const std::size_t wanted = vectors / (kThreads * kUnroll) + 1;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, std::max(1, max_blocks)));
  copy<<<blocks, kThreads, 0, stream>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from), vectors,
                                        reinterpret_cast<std::uint32_t*>(static_cast<char*>(to) + done),
                                        reinterpret_cast<const std::uint32_t*>(static_cast<const char*>(from) + done),
                                        static_cast<int>((bytes - done) / sizeof(std::uint32_t)));
  CUDA_CHECK(cudaGetLastError());
}

void launch_pattern(void* to, std::size_t bytes, std::uint32_t seed, std::size_t first_word, cudaStream_t stream) {
  const std::size_t words = bytes / sizeof(std::uint32_t);
  pattern<<<sweep_blocks(words), kThreads, 0, stream>>>(static_cast<std::uint32_t*>(to), words, seed, first_word);
  CUDA_CHECK(cudaGetLastError());
}

void launch_pattern_check(const void* data, std::size_t bytes, std::uint32_t seed, std::size_t first_word,
                          unsigned long long* mismatches, cudaStream_t stream) {
  const std::size_t words = bytes / sizeof(std::uint32_t);
  pattern_check<<<sweep_blocks(words), kThreads, 0, stream>>>(static_cast<const std::uint32_t*>(data), words, seed,
                                                              first_word, mismatches);
  CUDA_CHECK(cudaGetLastError());
}

void launch_chase(const std::uint32_t* chain, int hops, std::uint32_t* sink, cudaStream_t stream) {
  chase<<<1, 1, 0, stream>>>(chain, hops, sink);
  CUDA_CHECK(cudaGetLastError());
}

void launch_rank_values(float* to, std::size_t count, int rank, cudaStream_t stream) {
  rank_values<<<sweep_blocks(count), kThreads, 0, stream>>>(to, count, rank);
  CUDA_CHECK(cudaGetLastError());
}

void launch_rank_check(const float* data, std::size_t count, int first, int last, std::size_t offset,
                       unsigned long long* mismatches, cudaStream_t stream) {
  rank_check<<<sweep_blocks(count), kThreads, 0, stream>>>(data, count, first, last, offset, mismatches);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace linkcast::bench
