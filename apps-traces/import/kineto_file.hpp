#pragma once
// One rank's recording by the PyTorch profiler (Kineto, Chrome trace), reduced to what the GPU was given and did.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::kineto {

/// A collective as the profiler's arguments describe it.
struct Collective {
  std::string op;     ///< as `linkcast list collectives`; send or recv
  double size_B = 0;  ///< the larger of both buffers
  std::string group;  ///< process group name
  int peer = -1;      ///< of send and recv
};

/// What the profiler wrote down between the launch before and the end of this one, on threads that launch: each costs
/// the CPU time that it would not take without the profiler.
struct Recorded {
  int operators = 0;    ///< of PyTorch
  int collectives = 0;  ///< that PyTorch describes
  int calls = 0;        ///< of CUDA's runtime and driver that start nothing on the GPU
  int launches = 0;     ///< those that do
};

/// Multicast by NVSwitch (NVLS) as kernels show it, from none that could through those that surely did not.
enum class Multicast { kNothing, kOff, kUnclear, kOn };

/// Something on a stream of the GPU, with the CPU call that launched it. Times are seconds of the rank's own clock.
struct GpuWork {
  std::string name, whole_name;  ///< of the function, without and with its template and arguments
  std::string shape;             ///< tells kernels of one name apart: grid and block, or bytes
  std::string stream;
  double start_s = 0, end_s = 0;
  double launch_start_s = 0, launch_end_s = 0;
  bool exchange = false;   ///< launched by the code that exchanges gradients
  std::string copy{};      ///< h2d, d2h, d2d to another GPU; empty: no copy
  int from = -1, to = -1;  ///< of a d2d: GPU numbers of the process, -1: not recorded
  int peer = -1;           ///< of a d2d: the rank at the other end, see find_peers() of recorded_trace.cpp
  double size_B = 0;       ///< of a copy
  bool communicates = false;
  bool by_engine = false;   ///< it is an inference engine's own all_reduce
  Collective collective{};  ///< if it communicates
  bool update = false;      ///< launched by the optimizer
  int step = 0;             ///< of the recording: grows
  Recorded recorded{};
};

/// The CPU waits for the GPU, or makes a stream wait for an exchange.
struct HostWait {
  double start_s = 0, end_s = 0;
  bool device = true;    ///< false: work that the CPU issues later waits for the next exchange that nobody waits for
  std::string stream{};  ///< of a wait for one stream
  bool own = false;      ///< a collective's call makes it for itself: nothing else waits
  bool all = false;      ///< for all that the GPU has
};

struct RankRecording {
  std::string file;
  int rank = 0, ranks = 1;
  std::string device;                              ///< name of the GPU
  int gpu = -1;                                    ///< its number in the process; -1: not recorded
  std::map<std::string, std::vector<int>> groups;  ///< process groups
  std::vector<GpuWork> work;                       ///< in order of launch
  std::vector<HostWait> waits;                     ///< in order of time
  /// Between steps, when the CPU is the profiler's: start and end, in order.
  std::vector<std::pair<double, double>> pauses;
  std::optional<double> begins_s{};  ///< the first step, where something marks it
  [[nodiscard]] bool paused(double time_s) const {
    return std::any_of(pauses.begin(), pauses.end(),
                       [&](const auto& pause) { return pause.first <= time_s && time_s < pause.second; });
  }
  Multicast multicast = Multicast::kNothing;
  std::string library{};                ///< inference engine whose all_reduce it holds; empty: none
  int engine_calls_unread = 0;          ///< kernels of one whose size or ranks are not recorded
  std::optional<double> step_time_s{};  ///< without the profiler, where it was measured
  bool execution_trace = false;         ///< PyTorch's execution trace was recorded at the same time
  std::string alone{};                  ///< what was done to read one rank of many alone; empty: it was not
  bool steps_marked = false;            ///< false: nothing says where a step ends, all is one
};

/// @param json   a Chrome trace, of torch.profiler
/// @param named  false: collectives may lack what describes them
/// @throws InputError  file and what is wrong with it
RankRecording read_timeline(const std::string& file, const Json& json, bool named);

}  // namespace linkcast::kineto
