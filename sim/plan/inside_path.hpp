#pragma once
// A message between the GPUs of two processes of one node that nobody measured: made of what each of its steps takes.
#include <optional>

#include "sim/machine/platform.hpp"

namespace linkcast::activities {

/// What a process pays that works in the memory of a GPU by loads and stores of the CPU.
struct CpuAccess {
  double start_s = 0, rate_Bps = 0, up_to_B = 0;
};
/// @returns nullopt where the CPU may not: NVIDIA's GPUs. source: paper 002 (SC24), section III-C
std::optional<CpuAccess> cpu_access(const Platform& node, int gpu);

/// What a process pays to give a GPU a copy, and whether that was measured on this machine.
struct IssueCost {
  double time_s = 0;
  bool measured = false;
};
IssueCost issue_cost(const Platform& node, bool kernel);
/// How far hosts of one kind differ, relative.
double host_spread();
/// What a process pays to reach into the memory of a GPU, its own end of an eager message.
double access_s();
/// To give a GPU one piece of work and to learn that it is done, beside the work.
double issue_and_wait_s(const Platform& node, bool kernel);

/// How MPI moves such a message.
struct InsidePath {
  TransportModel model;
  bool by_kernel = false;  ///< by stores of a kernel, else by a copy engine
};

/// Small messages by loads and stores of the CPU where it may (AMD's GPUs: paper 002, section III-C), the rest by a
/// copy between memories that both processes share (CUDA IPC): what tells the other process, what issues the copy, the
/// copy, and what waits for its end.
InsidePath inside_path(const Platform& node, int from, int to);

}  // namespace linkcast::activities
