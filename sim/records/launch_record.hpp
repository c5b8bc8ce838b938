#pragma once
// What a host pays to issue work to GPUs: the record that the benches launch of linkcast-bench and launch_pytorch
// write.
#include <array>
#include <map>
#include <string>
#include <vector>

namespace linkcast {

/// Who issues calls, as records and queries name it: graph, process, single_process, pytorch.
const std::vector<std::string>& launch_kinds();

/// Quantiles over the repetitions of one quantity, in seconds a call: 5, 25, 50, 75 and 95 %.
using LaunchQuantiles = std::array<double, 5>;
inline constexpr std::size_t kLaunchMedian = 2;  ///< place of the median in them

/// One call, issued in one way.
struct LaunchPoint {
  std::string launch;     ///< one of launch_kinds()
  std::string issuers;    ///< one_thread, threads or processes
  std::string op;         ///< an NCCL operation, kernel, copy_*, a call of the CUDA runtime, or an operator of PyTorch
  std::vector<int> gpus;  ///< that take part
  double size_B = 0;      ///< the "size" column of nccl-tests; of each send if sends > 1
  int sends = 1;          ///< sends, and as many receives, of each GPU in one group
  int communicators = 1;  ///< calls of so many communicators in one group
  int calls_per_graph = 0;                         ///< 0: no graph
  int round = 0;                                   ///< points of one round were issued by the same processes
  bool async = false;                              ///< async_op=True of torch.distributed
  std::string recording;                           ///< what torch.profiler records meanwhile; empty: nothing
  std::map<std::string, double> events;            ///< that the recording holds a call: cpu, runtime, gpu
  std::map<std::string, LaunchQuantiles> times_s;  ///< steady, short, rest, rest_issue, issue, device
};

struct LaunchRecord {
  std::string path;  ///< where it was read from
  std::string sha256;
  std::string id, machine, topology, bench;
  std::string gpu;  ///< model of the first; empty: not recorded
  std::string host_cpu;
  int host_cores = 0;
  std::vector<LaunchPoint> points;
  int waived = 0;  ///< points that could not be measured; the record says why
};

/// Reads schema "launch/1". @throws InputError
LaunchRecord read_launch_record(const std::string& path);

}  // namespace linkcast
