#pragma once
#include "calibrate/bench/launch_request.hpp"
#include "calibrate/bench/nccl_library.hpp"

#ifdef LINKCAST_HAS_NCCL
#include <functional>
#include <map>

#include "calibrate/bench/device.hpp"

namespace linkcast::bench {

/// One thread and the GPUs that it issues to.
class LaunchIssuer {
 public:
  /// @param index  of this issuer. @param own  its GPUs. @param gpus  all that take part, devices 0 to gpus-1
  LaunchIssuer(LaunchBoard& board, const std::string& library, int index, std::vector<int> own, int gpus);
  ~LaunchIssuer();
  LaunchIssuer(const LaunchIssuer&) = delete;
  LaunchIssuer& operator=(const LaunchIssuer&) = delete;

  /// Runs board.request together with the other issuers and leaves its times on the board.
  void run();

 private:
  struct Lane;  // one communicator's stream on one GPU
  struct Graphs;
  using Call = std::function<void()>;

  void reserve(std::size_t bytes);
  void connect(int communicators);
  void issue_once(const LaunchRequest& request);
  void issue_nccl(const LaunchRequest& request);
  void issue_cuda(const std::string& op, std::size_t bytes, const Lane& lane);
  void capture(const LaunchRequest& request);
  void launch_graphs();
  void synchronise();
  [[nodiscard]] std::vector<Lane*> lanes(int communicators);

  double timed_run(const Call& call, int calls);
  void measure_free(const LaunchRequest& request, const Call& call, int per_call);
  void measure_held(const LaunchRequest& request, const Call& call, int per_call);
  void note(LaunchTime which, int repetition, double seconds);

  LaunchBoard& board_;
  Nccl nccl_;
  int index_, gpus_;
  std::vector<int> own_;
  std::vector<std::vector<std::unique_ptr<Lane>>> lanes_;  ///< [communicator][own GPU]
  std::vector<DeviceMemory> send_, receive_, remote_;      ///< [own GPU]; remote: on the next GPU
  std::vector<PinnedMemory> host_;
  std::size_t capacity_ = 0;
  PinnedMemory words_;  ///< [0] ticket, [1] expired
  int ticket_ = 0, used_ = 1;
  bool capturing_ = false;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace linkcast::bench
#endif
