#pragma once
// Which of the operations that NCCL runs over rings a collective is, by its shape and traits.
#include <string>

namespace linkcast {

enum class RingOperation { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce };

/// @param library  for the error
/// @throws InputError  it is none of them: NCCL's cost models say nothing about it
RingOperation ring_operation(const std::string& library, const std::string& operation);

}  // namespace linkcast
