#pragma once
// How NCCL's channels cut what they send.

namespace linkcast {

// What a block of a chain takes before it passes it on. source: an eighth of the buffer of a channel, 4 MiB
// (NCCL_BUFFSIZE, NCCL user guide; 8 steps, SOURCES.md)
inline constexpr double kChunk_B = 524288;

}  // namespace linkcast
