#pragma once
// SQLite exports of Nsight Systems: what each GPU of each process did, as events of a Chrome trace.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps-traces/import/nsys_nccl.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast::nsys {

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
