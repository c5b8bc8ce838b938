#pragma once
// The CUDA runtime and driver of a machine without GPUs: memory is the host's, streams are empty, kernels do nothing.

namespace linkcast::choices {

/// @returns  the stand-in for a function of the runtime; for those that need do nothing, one that succeeds
void* runtime_function(const char* name);

/// The GPU that calls of this thread are for, as cudaSetDevice.
void select_gpu(int gpu);

}  // namespace linkcast::choices
