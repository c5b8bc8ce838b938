#pragma once
// SQLite exports of Nsight Systems: what each GPU of each process did, as events of a Chrome trace.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::nsys {

// What NCCL says of its calls in ranges of NVTX, and which of its kernels they became.

/// A call of NCCL that its NVTX range describes.
struct NcclCall {
  std::string op;            ///< NCCL's name: AllReduce
  double size_B = 0;         ///< that it prints: of AllGather and ReduceScatter one rank's part
  std::string communicator;  ///< empty: not said
};

/// Operation that a kernel of NCCL is named after (AllReduce, SendRecv); empty: none, as of ncclDevKernel_Generic.
std::string operation_of_kernel(const std::string& name);
bool is_nccl_kernel(const std::string& name);

/// Ranges of NVTX by thread, taken in the order of their beginnings.
class NcclRanges {
 public:
  /// A range of any program; those of NCCL are kept.
  /// @param payload  of the range as JSON, where nsys exported it; empty: it did not
  void add(std::int64_t thread, std::int64_t start_ns, const std::string& text, const std::string& payload);
  /// Calls of a thread that became the kernel of `op` whose launch ended at a moment: those of that operation that were
  /// made before and became none yet.
  /// @param most  that one kernel stands for
  std::vector<NcclCall> take(std::int64_t thread, std::int64_t until_ns, const std::string& op, std::size_t most);
  /// Of the job, as ncclCommInitRank says; 0: it was not recorded.
  [[nodiscard]] int job_ranks() const { return job_ranks_; }

 private:
  struct Made {
    std::int64_t start_ns = 0;
    NcclCall call;
  };
  std::map<std::int64_t, std::deque<Made>> made_;  ///< by thread, in order
  int job_ranks_ = 0;
};

/// A kernel of NCCL.
struct NcclKernel {
  std::size_t event = 0;          ///< in the timeline
  std::string op;                 ///< as its name says: AllReduce; empty: it does not
  std::vector<NcclCall> calls{};  ///< that were put on the GPU with it
};

/// One GPU of one process.
struct Timeline {
  std::string file, place, gpu;
  Json events = Json::array();  ///< of a Chrome trace, as Kineto names them
  std::vector<NcclKernel> kernels{};
  int job_ranks = 0;            ///< as ncclCommInitRank says; 0: not said
  std::int64_t unlaunched = 0;  ///< work whose launch the recording does not hold
};

struct Export {
  std::vector<Timeline> timelines;  ///< by process, then device
  std::int64_t graphs = 0;          ///< launches of CUDA graphs that were recorded as a whole
};

/// @param step  ranges of NVTX whose text begins with it are steps; empty: those of torch.profiler alone
/// @throws InputError  file, table, row and column
Export read_export(const std::string& path, const std::string& step);

}  // namespace linkcast::nsys
