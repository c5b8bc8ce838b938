#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace linkcast::bench {

/// A CUDA call failed: the program stops, what was measured so far is kept.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  throw DeviceError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorString(error));
}

}  // namespace linkcast::bench

#define CUDA_CHECK(call) ::linkcast::bench::check_cuda((call), #call, __FILE__, __LINE__)
