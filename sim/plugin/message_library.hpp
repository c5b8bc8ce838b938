#pragma once
// A library whose collectives are schedules of point-to-point messages, as those of MPI.
#include <string>
#include <vector>

#include "sim/plugin/communicator.hpp"

namespace linkcast {

struct ScheduleRequest {
  std::string operation;
  Bytes size;  ///< in the nccl-tests sense
  int ranks = 0;
};

/// What happens to buffers in GPU memory before the messages of a collective, and after them the other way.
enum class Staging { kNone, kPageable, kPinned };

class MessageLibrary : public Library {
 public:
  /// Name in algorithms(). @throws InputError  it has no such operation
  [[nodiscard]] virtual std::string algorithm(const ScheduleRequest& request) const = 0;
  [[nodiscard]] virtual Staging staging(const std::string& operation) const = 0;

  // What communicators of NCCL answer: there are no rings here. @throws InputError
  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const final;
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const final;
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const final;
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const final;
};

}  // namespace linkcast
