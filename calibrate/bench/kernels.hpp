#pragma once
// The device code of all benches. Every function works on the stream's device, which must be current.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace linkcast::bench {

/// Occupies the stream until *ticket (mapped host memory) reaches `wanted`; after limit_ns it gives up and sets
/// *expired.
void launch_hold(const volatile int* ticket, int wanted, int* expired, long long limit_ns, cudaStream_t stream);

/// Copies `bytes` (a multiple of 4; both ends 16-byte aligned) with at most `max_blocks` blocks of 512 threads.
void launch_copy(void* to, const void* from, std::size_t bytes, int max_blocks, cudaStream_t stream);

/// Writes the test pattern: word i becomes hash(seed, first_word + i).
void launch_pattern(void* to, std::size_t bytes, std::uint32_t seed, std::size_t first_word, cudaStream_t stream);
/// Adds the number of words that differ from the test pattern to *mismatches (device memory).
void launch_pattern_check(const void* data, std::size_t bytes, std::uint32_t seed, std::size_t first_word,
                          unsigned long long* mismatches, cudaStream_t stream);

/// One thread follows `hops` links of a chain of word indices, every load uncached in L1.
void launch_chase(const std::uint32_t* chain, int hops, std::uint32_t* sink, cudaStream_t stream);

/// Collective test data: float i of rank r is a small whole number, so that sums over ranks are exact in any order.
void launch_rank_values(float* to, std::size_t count, int rank, cudaStream_t stream);
/// Adds to *mismatches how many of data[i] differ from the sum over ranks [first, last) of value(rank, offset + i).
void launch_rank_check(const float* data, std::size_t count, int first, int last, std::size_t offset,
                       unsigned long long* mismatches, cudaStream_t stream);

}  // namespace linkcast::bench
