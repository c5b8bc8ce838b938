#pragma once
// One rank's recording by the PyTorch profiler (Kineto, Chrome trace), reduced to what the GPU was given and did.
#include <map>
#include <string>
#include <vector>

namespace linkcast::kineto {

/// A collective as the profiler's arguments describe it.
struct Collective {
  std::string op;     ///< as `linkcast list collectives`; send or recv
  double size_B = 0;  ///< the larger of both buffers
  std::string group;  ///< process group name
  int peer = -1;      ///< of send and recv
};

/// Something on a stream of the GPU, with the CPU call that launched it. Times are seconds of the rank's own clock.
struct GpuWork {
  std::string name, whole_name;  ///< of the function, without and with its template and arguments
  std::string shape;             ///< tells kernels of one name apart: grid and block, or bytes
  std::string stream;
  double start_s = 0, end_s = 0;
  double launch_start_s = 0, launch_end_s = 0;
  bool exchange = false;  ///< launched by the code that exchanges gradients
  std::string copy{};     ///< h2d, d2h; empty: not a copy with the host
  double size_B = 0;      ///< of a copy
  bool communicates = false;
  Collective collective{};  ///< if it communicates
  bool update = false;      ///< launched by the optimizer
};

/// The CPU waits for the GPU, or makes a stream wait for an exchange.
struct HostWait {
  double start_s = 0, end_s = 0;
  bool device = true;    ///< false: work that the CPU issues later waits for the next exchange that nobody waits for
  std::string stream{};  ///< of a wait for one stream
};

struct RankRecording {
  std::string file;
  int rank = 0, ranks = 1;
  std::string device;                              ///< name of the GPU
  std::map<std::string, std::vector<int>> groups;  ///< process groups
  std::vector<GpuWork> work;                       ///< in order of launch
  std::vector<HostWait> waits;                     ///< in order of time
};

/// @throws InputError  file and what is wrong with it
RankRecording read_kineto(const std::string& file);

}  // namespace linkcast::kineto
