#pragma once
// What a host pays to issue work to GPUs: one request, the times it answers with, and what its issuers share.
//
// An issuer is a thread that calls CUDA or NCCL. One thread for all GPUs, one thread a GPU, or one process a GPU: all
// run the same code (LaunchIssuer), meet at the barrier of LaunchBoard and write their times there.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "calibrate/bench/bench.hpp"

namespace linkcast::bench {

/// How this program calls itself for a child: `linkcast-bench <kLaunchFlag> LIBRARY ISSUERS GPUS`.
inline constexpr const char* kLaunchFlag = "--launch-worker";

/// The child: answers requests, one JSON line each, from standard input to descriptor 3. Returns the exit code.
/// @param issuers  one_thread, threads or processes. @param gpus  devices 0 to gpus-1 take part
int serve_launch(const std::string& library, const std::string& issuers, int gpus);

/// What is issued in one call, and how often. Plain data: it lies in memory that processes share.
struct LaunchRequest {
  std::array<char, 32> op{};  ///< an NCCL operation, or one of launch_cuda_ops()
  std::size_t bytes = 0;      ///< the "size" column of nccl-tests; of one send if sends > 1
  int sends = 1;              ///< sendrecv: sends (and receives) of each GPU in one group
  int communicators = 1;      ///< calls of as many communicators in one group
  int calls_per_graph = 0;    ///< 0: no graph; else calls captured into one graph, launched as one
  int calls = 200;            ///< of a steady run
  int repetitions = 9;        ///< of the steady, short and held runs; calls from rest: kRestFactor times as many
  bool held = true;           ///< false: the call waits for the device and cannot be issued behind a hold
  bool stop = false;
};

/// Operations of CUDA alone: kernel, copies (copy_*), and calls that only the host sees.
const std::vector<std::string>& launch_cuda_ops();
/// Those of them that move no data and launch nothing; their `held` is false where they wait.
bool is_host_call(const std::string& op);

enum LaunchTime { kSteady, kShort, kRest, kRestIssue, kIssue, kDevice, kLaunchTimes };
inline constexpr std::array<const char*, kLaunchTimes> kLaunchTimeNames = {"steady",     "short", "rest",
                                                                           "rest_issue", "issue", "device"};

/// In memory shared by all issuers.
struct LaunchBoard {
  static constexpr int kIssuers = 16, kCommunicators = 8, kRepetitions = 64, kIdBytes = 128;

  std::atomic<int> arrived{0}, generation{0};
  std::atomic<bool> failed{false};
  std::array<char, 512> failure{};
  int issuers = 1;
  LaunchRequest request;
  std::array<std::array<char, kIdBytes>, kCommunicators> ids{};
  std::array<std::array<std::array<double, kRepetitions>, kLaunchTimes>, kIssuers> times{};
  std::array<int, kLaunchTimes> counts{};

  /// Waits, spinning, until all issuers are here. @throws Waived  if one of them failed
  void meet();
  /// This issuer cannot go on: all others leave at their next meeting.
  void fail(const char* why);
};

}  // namespace linkcast::bench
