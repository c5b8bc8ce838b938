#pragma once
// How the CUDA runtime moves bytes between two devices: start-up cost and regimes by size, from the calibration.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/records/calibration.hpp"

namespace linkcast {

/// A number used by a prediction, with where it came from.
struct Resolved {
  double value = 0;
  double rel_error = 0;     ///< standard error / value
  bool calibrated = false;  ///< false: nominal or assumed, a warning is due when it decides the result
  std::string name;         ///< parameter name
  bool edited = false;      ///< of a what-if edit, not of this machine as it is
};

/// A nominal rate stands in where no measurement determined one: what copies attain of nominal on the calibrated
/// machines lies within 0.6-1.0 of it. source: ratios attainable/nominal in models/params (pcie3 0.66-0.87, nvlink
/// 0.92-0.97)
inline constexpr double kNominalRelativeError = 0.2;  // source: above

/// A parameter, or `fallback` marked as not calibrated.
Resolved resolve(const Calibration& calibration, const ParameterKey& key, double fallback);

/// One size range of a transport.
struct Regime {
  double to_B = 0;                   ///< valid up to and including this size; infinity in the last regime
  Resolved startup;                  ///< seconds
  bool flat = false;                 ///< true: launch-bound, the bytes move inside the start-up time as far as they fit
  std::optional<Resolved> rate_cap;  ///< bytes/s of one flow; none: the links alone limit it
};

/// How one transfer of a size runs: nothing moves for `delay_s`, then its bytes at no more than `cap_Bps`.
struct Pace {
  double delay_s = 0;
  double cap_Bps = 0;  ///< infinity: the links alone limit it
};

struct TransportModel {
  std::string name;
  std::vector<Regime> regimes;
  Resolved single{};         ///< what a copy costs more from rest than out of a queue of copies, seconds
  Resolved bidirectional{};  ///< h2d, h2d_sm, staged: what key::bidirectional says, seconds
  [[nodiscard]] const Regime& regime(double bytes) const;
  /// Never shorter than the longest transfer of an earlier regime. @param rate_Bps  that the links alone would give
  [[nodiscard]] Pace pace(double bytes, double rate_Bps) const;
};

/// Every transport of one machine, from its ranges of sizes k = 0, 1, ... (key::range_end, startup or flat,
/// range_bandwidth), key::single and key::bidirectional. Names:
///   local peer          copy engines; peer_read is a peer copy pulled by the target
///   local_sm peer_sm    the same by kernels; peer_sm_read are loads
///   staged relay        without peer access through host memory; through a third GPU (made of peer copies)
///   h2d d2h             host memory to GPU and back, h2d_pageable d2h_pageable from memory that is not pinned,
///                       h2d_sm d2h_sm by kernels that load from and store to it
/// One that was never measured on this machine borrows the nearest one's start-up, which is then marked so.
class Transports {
 public:
  explicit Transports(const Calibration& calibration);
  /// @throws InvariantError  no such name
  [[nodiscard]] const TransportModel& get(const std::string& name) const;
  [[nodiscard]] bool measured(const std::string& name) const;
  /// Of copies by copy engines: only pulled ones were measured.
  [[nodiscard]] bool only_pulled() const { return only_pulled_; }

  /// Bytes a staged copy holds in host memory before its second leg starts.
  [[nodiscard]] const Resolved& staging_chunk() const { return staging_chunk_; }
  /// Between the two copies of a relayed one.
  [[nodiscard]] const Resolved& handover() const { return handover_; }
  /// Between the copies of two streams on one copy engine, seconds.
  [[nodiscard]] double engine_turn_s() const { return engine_turn_s_; }

  static bool known(const std::string& name);

  /// Messages between ranks, fitted as whole curves: mpi_socket, mpi_node, mpi_network (GPU memory), *_host (host
  /// memory), and the transports between nodes gpudirect_rdma, pinned_gpudirect, pinned, unpinned_gpudirect, unpinned;
  /// pinned_source, staged at the source alone, is made of others.
  /// Where no message between nodes was measured at all, mpi_network and mpi_network_host are what other machines have.
  /// @returns nullptr if none was measured on this machine
  [[nodiscard]] const TransportModel* message(const std::string& name) const;
  /// False where mpi_network is assumed.
  [[nodiscard]] bool network_measured() const;
  /// What an answer that crosses the network says then; else empty.
  [[nodiscard]] std::string network_warning(const std::string& machine) const;
  /// Every name that message() may be asked for.
  static const std::vector<std::string>& message_names();
  /// Whether it is one of these, and between nodes.
  static bool crosses_network(std::string_view name);

 private:
  std::map<std::string, TransportModel> models_, messages_;
  Resolved staging_chunk_, handover_;
  double engine_turn_s_ = 0;
  bool only_pulled_ = false;
};

}  // namespace linkcast
