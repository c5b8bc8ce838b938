#pragma once
// What sending messages and staging buffers costs the processes of an MPI library: fitted, or believed until it is.
#include <string>

#include "sim/plan/inside_path.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::activities {

struct MessageCosts {
  double post_s = 0;   ///< between two messages that a rank posts one after the other
  double eager_B = 0;  ///< up to it a sender goes on as soon as it has posted; 0: when the receiver has all of it
  Pace inside{};       ///< of a message between host processes of one node, where none was measured
  int nics = 1;        ///< that a message between hosts uses at once
};
/// @param host  the buffers are in host memory
MessageCosts message_costs(const Platform& node, const std::string& library, bool host);

/// Between two messages that a process posts, of whichever library that was measured here; else believed.
struct PostCost {
  double time_s = 0;
  double error = 0;  ///< relative
  bool measured = false;
};
PostCost post_cost(const Platform& node, bool host);

/// Of one buffer that is copied between a GPU and host memory, the process waiting for the copy.
struct StagingCosts {
  double copy_s = 0;        ///< finding out where the buffer is, starting the copy and waiting for its end
  double copy_Bps = 0;      ///< of pageable memory: most that one process gets
  double fresh_Bps = 0;     ///< beside the copy, of memory that is touched for the first time or left the cache
  double fresh_from_B = 0;  ///< size about which that begins
  bool measured = false;    ///< the rate, of this library
  ErrorPart start_error, rate_error;  ///< of copy_s and copy_Bps, relative
  /// Of `bytes` written to host memory.
  [[nodiscard]] double fresh_s(double bytes) const;
};
/// @param pinned  the buffers in host memory, whose bytes move as those of other copies: copy_s alone counts
StagingCosts staging_costs(const Platform& node, const std::string& library, bool pinned);

/// Rate at which a process copies bytes from one buffer in host memory to another one.
double host_copy_Bps(const Platform& node, const std::string& library, double bytes);

/// Version of a library that the machine runs, as its calibration says; 0: not known.
double library_version(const Calibration& calibration, const std::string& library);

/// What a reduction costs the receiver of a message.
struct CombineCost {
  double start_s = 0, rate_Bps = 0;
  CpuAccess small{};  ///< instead, up to its size
  /// Of the bytes alone.
  [[nodiscard]] double adding_s(double bytes) const {
    return bytes / (bytes <= small.up_to_B ? small.rate_Bps : rate_Bps);
  }
  [[nodiscard]] double time_s(double bytes) const {
    return (bytes <= small.up_to_B ? small.start_s : start_s) + adding_s(bytes);
  }
  bool measured = false;
  ErrorPart rate_error;  ///< relative
};
/// To copy inside a GPU what a process keeps, from the call until it is done.
double own_copy_s(const Platform& node, double bytes);

/// On a GPU, or by the process that holds it.
CombineCost combine_cost(const Platform& node, const std::string& library, bool on_host);

}  // namespace linkcast::activities
