#pragma once
// NCCL as a library loaded at run time, and its operations as one rank issues them.
#if !defined(LINKCAST_WITHOUT_NCCL) && __has_include(<nccl.h>)
#define LINKCAST_HAS_NCCL

#include <dlfcn.h>
#include <nccl.h>

#include <string>

#include "calibrate/bench/bench.hpp"

namespace linkcast::bench {

/// The NCCL entry points in use.
class Nccl {
  void* library_;  // first: the members below are looked up in it. Stays loaded: NCCL cannot be unloaded

 public:
  /// @param path  of libnccl.so.2; empty: as the loader finds it. @throws Waived  if it cannot be used
  explicit Nccl(const std::string& path)
      : library_(dlopen(path.empty() ? "libnccl.so.2" : path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw Waived(dlerror());
  }

  decltype(&ncclGetVersion) get_version = load("ncclGetVersion");
  decltype(&ncclGetErrorString) get_error_string = load("ncclGetErrorString");
  decltype(&ncclGetUniqueId) get_unique_id = load("ncclGetUniqueId");
  decltype(&ncclCommInitAll) comm_init_all = load("ncclCommInitAll");
  decltype(&ncclCommInitRank) comm_init_rank = load("ncclCommInitRank");
  decltype(&ncclCommDestroy) comm_destroy = load("ncclCommDestroy");
  decltype(&ncclGroupStart) group_start = load("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = load("ncclGroupEnd");
  decltype(&ncclAllReduce) all_reduce = load("ncclAllReduce");
  decltype(&ncclAllGather) all_gather = load("ncclAllGather");
  decltype(&ncclReduceScatter) reduce_scatter = load("ncclReduceScatter");
  decltype(&ncclBroadcast) broadcast = load("ncclBroadcast");
  decltype(&ncclReduce) reduce = load("ncclReduce");
  decltype(&ncclSend) send = load("ncclSend");
  decltype(&ncclRecv) recv = load("ncclRecv");

  void check(ncclResult_t result, const char* what) const {
    if (result != ncclSuccess) throw Waived(std::string("NCCL: ") + what + ": " + get_error_string(result));
  }

 private:
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): takes the type of the member it initialises
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Symbol load(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) throw Waived(std::string("libnccl has no ") + name);
    return {symbol};
  }
};

/// One rank's part of a call: its communicator, its two buffers, its stream.
struct NcclRank {
  ncclComm_t communicator = nullptr;
  const float* send = nullptr;
  float* receive = nullptr;
  cudaStream_t stream = nullptr;
  int rank = 0;
  int ranks = 1;
};

/// Issues this rank's part of `op`; sends and receives must stand in a group. @param count  floats of the whole buffer
/// (the "size" column of nccl-tests). @throws Waived  if NCCL refuses or there is no such operation
void issue(const Nccl& nccl, const std::string& op, std::size_t count, const NcclRank& own);

}  // namespace linkcast::bench

#endif
