#include "calibrate/bench/host_memory.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/environment.hpp"

namespace linkcast::bench {
namespace {

constexpr int kPoison = 0x5A;
constexpr std::size_t kPage = 4096;

/// Runs this thread on the cores next to a GPU while alive; does nothing where sysfs does not tell them.
class NearGpu {
 public:
  explicit NearGpu(int gpu) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    std::ifstream file("/sys/bus/pci/devices/" + pci_of(gpu) + "/local_cpulist");
    cpu_set_t near;
    CPU_ZERO(&near);
    std::string range;
    while (std::getline(file, range, ',')) {  // "0-15,32-47"
      std::istringstream text(range);
      int first = -1, last = -1;
      if (!(text >> first)) continue;
      if (!(text.get() == '-' && text >> last)) last = first;
      for (int core = first; core >= 0 && core <= last && core < CPU_SETSIZE; ++core) CPU_SET(core, &near);
    }
    moved_ = CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof near, &near) == 0;
  }
  ~NearGpu() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  NearGpu(const NearGpu&) = delete;
  NearGpu& operator=(const NearGpu&) = delete;

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

}  // namespace

HostMemory::HostMemory(int gpu, bool pageable, const Buffers& buffers)
    : gpu_(gpu), bytes_(std::min(kLargest, buffers.largest_copy())) {
  const NearGpu scope(gpu);
  if (pageable) {
    plain_.resize(2 * bytes_);  // touches every page
    source_ = plain_.data();
  } else {
    pinned_ = allocate_pinned(gpu, 2 * bytes_);
    source_ = pinned_.get();
  }
  target_ = static_cast<char*>(source_) + bytes_;
  std::memset(target_, 0, bytes_);
  CUDA_CHECK(cudaMemcpy(source_, buffers.out(gpu), bytes_, cudaMemcpyDeviceToHost));
}

void HostMemory::poison(std::size_t bytes) {
  auto* target = static_cast<char*>(target_);
  for (std::size_t at = 0; at < bytes; at += kPage)
    std::memset(target + at, kPoison, std::min<std::size_t>(4, bytes - at));
  std::memset(target + bytes - std::min<std::size_t>(4, bytes), kPoison, std::min<std::size_t>(4, bytes));
}

bool HostMemory::target_is_right(std::size_t bytes, Buffers& buffers) const {
  CUDA_CHECK(cudaSetDevice(gpu_));
  CUDA_CHECK(cudaMemcpy(buffers.in(gpu_), target_, bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());
  return buffers.mismatches(gpu_, 0, bytes, gpu_, 0) == 0;
}

}  // namespace linkcast::bench
