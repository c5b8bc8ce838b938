#pragma once
// Host buffers for copies to and from one GPU, on the GPU's own socket where the system says which that is.
#include <cstddef>
#include <vector>

#include "calibrate/bench/device.hpp"

namespace linkcast::bench {

class HostMemory {
 public:
  static constexpr std::size_t kLargest = std::size_t{256} << 20;

  /// Fills the source with the pattern of `buffers.out(gpu)`.
  HostMemory(int gpu, bool pageable, const Buffers& buffers);

  [[nodiscard]] int gpu() const { return gpu_; }
  [[nodiscard]] std::size_t largest() const { return bytes_; }
  [[nodiscard]] const void* source() const { return source_; }
  [[nodiscard]] void* target() const { return target_; }

  /// Spoils the first `bytes` of the target, at least one word in each page.
  void poison(std::size_t bytes);
  /// Does the target hold the pattern? Uses the `in` arena of the GPU.
  bool target_is_right(std::size_t bytes, Buffers& buffers) const;

 private:
  int gpu_;
  std::size_t bytes_;
  PinnedMemory pinned_;
  std::vector<char> plain_;
  void* source_ = nullptr;
  void* target_ = nullptr;
};

}  // namespace linkcast::bench
