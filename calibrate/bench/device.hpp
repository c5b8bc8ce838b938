#pragma once
// Owners of CUDA objects and the memory that all benches share.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace linkcast::bench {

/// A stream of one device that does not synchronise with the default stream.
class Stream {
 public:
  explicit Stream(int device);
  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  [[nodiscard]] int device() const { return device_; }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  int device_;
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

/// An event of one device; `timed` events can be subtracted from events of the same device.
class Event {
 public:
  explicit Event(int device, bool timed);
  [[nodiscard]] cudaEvent_t get() const { return event_.get(); }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

struct DeviceFree {
  void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, DeviceFree>;
struct HostFree {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using PinnedMemory = std::unique_ptr<void, HostFree>;

DeviceMemory allocate(int device, std::size_t bytes);
/// Page-locked, mapped into every device; allocated with `device` current.
PinnedMemory allocate_pinned(int device, std::size_t bytes);

/// Switches peer access between all pairs that can have it, and remembers the present state.
class PeerAccess {
 public:
  explicit PeerAccess(int gpus);
  ~PeerAccess();
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;
  void set(bool enabled);
  /// Can `device` read and write memory of `owner`?
  [[nodiscard]] bool possible(int device, int owner) const;

 private:
  int gpus_;
  bool enabled_ = false;
  std::vector<bool> possible_;
};

/// Two arenas a GPU: `out` holds a test pattern that nobody overwrites, `in` is written by copies.
class Buffers {
 public:
  static constexpr std::size_t kLargestCopy = std::size_t{1} << 30;
  static constexpr std::size_t kLargestFlow = std::size_t{256} << 20;  ///< several flows into one GPU, each with a slot

  explicit Buffers(int gpus);
  /// Largest size that every GPU can hold; kLargestCopy unless memory is short.
  [[nodiscard]] std::size_t largest_copy() const { return out_bytes_; }
  [[nodiscard]] std::size_t in_bytes() const { return in_bytes_; }
  [[nodiscard]] const void* out(int gpu, std::size_t offset = 0) const;
  [[nodiscard]] void* in(int gpu, std::size_t offset = 0) const;

  /// Overwrites a range of an `in` arena with something that is not the pattern.
  void poison(int gpu, std::size_t offset, std::size_t bytes);
  /// Number of words of the `in` range that differ from `out(source)` at source_offset.
  unsigned long long mismatches(int gpu, std::size_t offset, std::size_t bytes, int source, std::size_t source_offset);

 private:
  std::size_t out_bytes_ = kLargestCopy;
  std::size_t in_bytes_ = 0;
  std::vector<DeviceMemory> out_, in_, counters_;
  std::vector<Stream> streams_;
};

}  // namespace linkcast::bench
