#pragma once
// What NCCL says of its calls in ranges of NVTX, and which of its kernels they became.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace linkcast::nsys {

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

}  // namespace linkcast::nsys
