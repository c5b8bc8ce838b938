#include "calibrate/choices/cuda.hpp"

#include <strings.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>

#include "calibrate/choices/machine.hpp"
#include "calibrate/choices/shared.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::choices {
namespace {

thread_local int selected = 0;

// Numbers of attributes, codes and handles are those of cuda.h and driver_types.h.
constexpr int kSuccess = 0, kInvalid = 1, kNoMemory = 2;
constexpr std::size_t kHandle_B = 64;

class Memory {
 public:
  void* take(std::size_t size_B) {
    void* const at =
        mmap(nullptr, size_B + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    const std::lock_guard lock(mutex_);
    blocks_[reinterpret_cast<std::uintptr_t>(at)] = size_B;
    return at;
  }
  std::pair<std::uintptr_t, std::size_t> around(std::uintptr_t at) {
    const std::lock_guard lock(mutex_);
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.begin()) return {at, 1};
    return *--block;
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
};

Memory& memory() {
  static Memory all;
  return all;
}

/// Attributes that NCCL asks for; all others are 0.
int attribute(int* value, int which, int gpu) {
  constexpr int kMaxThreads = 1, kSharedMemory = 8, kWarp = 10, kMultiprocessors = 16, kUnified = 41, kMajor = 75,
                kMinor = 76, kCooperative = 95, kSharedOptIn = 97, kVirtualMemory = 102, kDirect = 116,
                kMulticast = 132;
  const int sm = machine().gpus.at(static_cast<std::size_t>(gpu)).sm;
  switch (which) {
    case kMaxThreads:
      *value = 1024;
      break;
    case kSharedMemory:
      *value = 49152;
      break;
    case kWarp:
      *value = 32;
      break;
    case kMultiprocessors:
      *value = linkcast::gpu_generation(sm).multiprocessors;
      break;
    case kMajor:
      *value = sm / 10;
      break;
    case kMinor:
      *value = sm % 10;
      break;
    case kSharedOptIn:
      *value = linkcast::gpu_generation(sm).shared_memory_B;
      break;
    case kUnified:
    case kCooperative:
    case kVirtualMemory:
    case kDirect:
      *value = 1;
      break;
    case kMulticast:
      *value = sm >= 90 ? 1 : 0;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}

int succeed() { return kSuccess; }
int get_gpu(int* gpu) { return *gpu = selected, kSuccess; }
int set_gpu(int gpu) { return selected = gpu, kSuccess; }
int count_gpus(int* count) { return *count = linkcast_gpus(), kSuccess; }
int same(int* out, int gpu) { return *out = gpu, kSuccess; }
int bus_id(char* text, int size, int gpu) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%s", linkcast_gpu_bus(gpu)), kSuccess;
}
int by_bus_id(int* gpu, const char* text) {
  for (*gpu = 0; *gpu < linkcast_gpus(); ++*gpu)
    if (strcasecmp(linkcast_gpu_bus(*gpu), text) == 0) return kSuccess;
  return kInvalid;
}
int version(int* value) { return *value = linkcast_driver_version(), kSuccess; }
int take(void** out, std::size_t size_B) {
  *out = memory().take(size_B);
  return *out != nullptr ? kSuccess : kNoMemory;
}
int take_for_host(void** out, std::size_t size_B, unsigned /*flags*/) { return take(out, size_B); }
int on_gpu(void** out, void* host, unsigned /*flags*/) { return *out = host, kSuccess; }
int copy(void* to, const void* from, std::size_t size_B, int /*kind*/) {
  return std::memmove(to, from, size_B), kSuccess;
}
int copy_later(void* to, const void* from, std::size_t size_B, int kind, void* /*stream*/) {
  return copy(to, from, size_B, kind);
}
int set(void* to, int value, std::size_t size_B) { return std::memset(to, value, size_B), kSuccess; }
int set_later(void* to, int value, std::size_t size_B, void* /*stream*/) { return set(to, value, size_B); }
int handle(void** out) { return *out = std::calloc(1, kHandle_B), kSuccess; }
int yes(int* out) { return *out = 1, kSuccess; }
int priorities(int* least, int* most) {
  *least = 0;
  *most = -5;  // source: what GPUs since Volta say
  return kSuccess;
}
int not_captured(void* /*stream*/, int* status) { return *status = 0, kSuccess; }
int share(void* out, const void* at) {
  std::memset(out, 0, kHandle_B);
  std::memcpy(out, static_cast<const void*>(&at), sizeof at);
  return kSuccess;
}
int open_shared(void** out) {
  constexpr std::size_t kEnough_B = 64U << 20U;
  return take(out, kEnough_B);
}
const char* error_text(int /*code*/) { return "stand-in for CUDA"; }
int function_attributes(void* out, const void* /*function*/) {
  constexpr int kMaxThreads = 8, kMost = 640;  // member of cudaFuncAttributes; NCCL's largest blocks
  std::memset(out, 0, kHandle_B);
  static_cast<int*>(out)[kMaxThreads] = kMost;
  return kSuccess;
}
int pointer_attributes(void* out, const void* at) {
  std::memset(out, 0, 24);
  auto* const numbers = static_cast<int*>(out);
  numbers[0] = 2;  // cudaMemoryTypeDevice
  numbers[1] = selected;
  std::memcpy(static_cast<char*>(out) + 8, static_cast<const void*>(&at), sizeof at);
  std::memcpy(static_cast<char*>(out) + 16, static_cast<const void*>(&at), sizeof at);
  return kSuccess;
}
int free_memory(std::size_t* free_B, std::size_t* total_B) {
  return *free_B = *total_B = std::size_t{80} << 30U, kSuccess;
}
int symbol(void** out, const void* at) { return *out = const_cast<void*>(at), kSuccess; }

int driver_entry(const char* name, void** function, unsigned long long /*flags*/, int* result) {
  *function = linkcast_driver_function(name);
  if (result != nullptr) *result = 0;
  return kSuccess;
}
int driver_entry_of(const char* name, void** function, unsigned /*version*/, unsigned long long flags, int* result) {
  return driver_entry(name, function, flags, result);
}

int describe(int /*code*/, const char** text) { return *text = error_text(0), kSuccess; }
int range(std::uintptr_t* from, std::size_t* size_B, std::uintptr_t at) {
  std::tie(*from, *size_B) = memory().around(at);
  return kSuccess;
}
int granularity(std::size_t* out) { return *out = std::size_t{2} << 20U, kSuccess; }
int context(void** out) {
  static int one = 0;
  return *out = &one, kSuccess;
}
int export_handle(int* out) { return *out = 0, kSuccess; }
int pointer_attribute(void* out, int /*which*/, std::uintptr_t /*at*/) {
  return std::memset(out, 0, sizeof(int)), kSuccess;
}

struct StandIn {
  std::string_view name;
  void* function;
};
template <typename Function>
StandIn by(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

const StandIn kRuntime[] = {by("cudaGetDevice", get_gpu),
                            by("cudaSetDevice", set_gpu),
                            by("cudaGetDeviceCount", count_gpus),
                            by("cudaDeviceGetPCIBusId", bus_id),
                            by("cudaDeviceGetByPCIBusId", by_bus_id),
                            by("cudaDeviceGetAttribute", attribute),
                            by("cudaDriverGetVersion", version),
                            by("cudaRuntimeGetVersion", version),
                            by("cudaMalloc", take),
                            by("cudaMallocHost", take),
                            by("cudaHostAlloc", take_for_host),
                            by("cudaHostGetDevicePointer", on_gpu),
                            by("cudaMemcpy", copy),
                            by("cudaMemcpyAsync", copy_later),
                            by("cudaMemset", set),
                            by("cudaMemsetAsync", set_later),
                            by("cudaStreamCreateWithFlags", handle),
                            by("cudaStreamCreateWithPriority", handle),
                            by("cudaEventCreateWithFlags", handle),
                            by("cudaEventCreate", handle),
                            by("cudaDeviceCanAccessPeer", yes),
                            by("cudaDeviceGetP2PAttribute", yes),
                            by("cudaDeviceGetStreamPriorityRange", priorities),
                            by("cudaIpcGetMemHandle", share),
                            by("cudaIpcOpenMemHandle", open_shared),
                            by("cudaGetErrorString", error_text),
                            by("cudaGetErrorName", error_text),
                            by("cudaFuncGetAttributes", function_attributes),
                            by("cudaPointerGetAttributes", pointer_attributes),
                            by("cudaStreamGetCaptureInfo", not_captured),
                            by("cudaStreamGetCaptureInfo_v2", not_captured),
                            by("cudaStreamGetCaptureInfo_v3", not_captured),
                            by("cudaStreamIsCapturing", not_captured),
                            by("cudaMemGetInfo", free_memory),
                            by("cudaGetSymbolAddress", symbol),
                            by("cudaDeviceGetDefaultMemPool", handle),
                            by("cudaGetDriverEntryPoint", driver_entry),
                            by("cudaGetDriverEntryPointByVersion", driver_entry_of)};

const StandIn kDriver[] = {by("cuDeviceGet", same),
                           by("cuDeviceGetAttribute", attribute),
                           by("cuDriverGetVersion", version),
                           by("cuGetErrorString", describe),
                           by("cuGetErrorName", describe),
                           by("cuMemGetAddressRange", range),
                           by("cuCtxGetDevice", get_gpu),
                           by("cuCtxGetCurrent", context),
                           by("cuCtxCreate", context),
                           by("cuDevicePrimaryCtxRetain", context),
                           by("cuMemGetAllocationGranularity", granularity),
                           by("cuMulticastGetGranularity", granularity),
                           by("cuMemCreate", take),
                           by("cuMemAddressReserve", take),
                           by("cuMemExportToShareableHandle", export_handle),
                           by("cuMemImportFromShareableHandle", handle),
                           by("cuMemRetainAllocationHandle", handle),
                           by("cuMulticastCreate", handle),
                           by("cuPointerGetAttribute", pointer_attribute)};

template <std::size_t N>
void* find(const StandIn (&table)[N], std::string_view name) {
  for (const StandIn& one : table)
    if (one.name == name) return one.function;
  return reinterpret_cast<void*>(succeed);
}

}  // namespace

void* runtime_function(const char* name) { return find(kRuntime, name); }

void select_gpu(int gpu) { selected = gpu; }

}  // namespace linkcast::choices

int linkcast_driver_version() {
  const char* const said = std::getenv("LINKCAST_CUDA_VERSION");
  return said != nullptr ? std::atoi(said) : 12040;  // source: CUDA 12.4, the oldest driver that 2.30 runs on
}
void* linkcast_driver_function(const char* name) { return linkcast::choices::find(linkcast::choices::kDriver, name); }
