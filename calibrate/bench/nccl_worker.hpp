#pragma once
// NCCL runs in a child process: it reads its settings from the environment once, so each setting needs a process.
#include <sys/types.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/bench/bench.hpp"

namespace linkcast::bench {

/// How this program calls itself for a child: `linkcast-bench <kWorkerFlag> LIBRARY`.
inline constexpr const char* kWorkerFlag = "--nccl-worker";

/// "2.28.9" of the library at `path` (empty: libnccl.so.2 as the loader finds it), nothing if it cannot be used.
std::optional<std::string> nccl_version(const std::string& path);

/// The child: answers requests, one JSON line each, from standard input to descriptor 3. Returns the exit code.
int serve_nccl(const std::string& library);

/// A call of one communicator.
struct NcclCall {
  std::string op;  ///< as NcclRequest::op
  std::vector<int> gpus;
};

/// One collective or one ring of sends, on all `gpus` at once.
struct NcclRequest {
  /// all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv (to the next GPU), gather, scatter;
  /// rank 0 is the root
  std::string op;
  std::vector<int> gpus;
  std::size_t bytes = 0;  ///< the "size" column of nccl-tests
  int copies = 1;         ///< calls queued back to back in one repetition
  Effort effort;
  /// Further communicators, which make as many calls of the same size at the same time; only the first one is timed.
  std::vector<NcclCall> with{};
};

/// The parent's end of one child.
class NcclWorker {
 public:
  using Settings = std::map<std::string, std::string>;

  /// Starts the child. Every NCCL_* variable but NCCL_SOCKET_IFNAME is dropped from its environment, NVLink multicast
  /// (NVLS) is switched off, then `settings` are added.
  NcclWorker(const std::string& library, const Settings& settings);
  /// The same for a child that is started with these arguments.
  NcclWorker(const std::vector<std::string>& arguments, const Settings& settings);
  ~NcclWorker();
  NcclWorker(const NcclWorker&) = delete;
  NcclWorker& operator=(const NcclWorker&) = delete;

  /// Result fields of the point. @throws Waived  if NCCL refuses, or the child ends or does not answer in time
  Json measure(const NcclRequest& request);
  /// One request and its reply. @throws Waived  as measure()
  Json ask(const Json& request);

 private:
  std::string read_line();
  void stop();

  pid_t child_ = -1;
  int to_child_ = -1, from_child_ = -1;
  std::string unread_;
  std::string failure_;  ///< why the child is gone
};

/// Why a bench of NCCL cannot run here; nothing: it can.
std::optional<std::string> why_no_nccl(const Context& context);

/// Calls of one repetition, one behind the other.
inline int calls_of(std::size_t bytes) { return std::min(16, copies_per_repetition(bytes) / 2); }

}  // namespace linkcast::bench
