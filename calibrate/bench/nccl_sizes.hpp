#pragma once
// The operations that are measured, and the sizes that nccl-tests would use. Needs no CUDA.
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace linkcast::bench {

/// The nine that NcclRequest::op names.
const std::vector<std::string>& nccl_operations();

/// Numbers of GPUs to measure: of `some`, in increasing order, those that are fewer, and all of them; all alone in a
/// quick run.
std::vector<int> counts_of(int gpus, std::initializer_list<int> some, bool quick = false);

/// A multiple of one float a rank where the op splits the buffer.
std::size_t rounded_size(const std::string& op, std::size_t bytes, int gpus);

}  // namespace linkcast::bench
