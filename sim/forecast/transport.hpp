#pragma once
// How the CUDA runtime moves bytes between two devices: start-up cost and regimes by size, from the calibration.
#include <optional>
#include <string>
#include <vector>

#include "sim/platform/platform.hpp"

namespace linkcast {

/// One size range of a transport.
struct Regime {
  double to_B = 0;                   ///< valid up to and including this size; infinity in the last regime
  Resolved startup;                  ///< seconds
  bool flat = false;                 ///< true: launch-bound, the bytes move inside the start-up time as far as they fit
  std::optional<Resolved> rate_cap;  ///< bytes/s of one flow; none: the links alone limit it
};

struct TransportModel {
  std::string name;  ///< local, peer, relay, staged, host
  std::vector<Regime> regimes;
  [[nodiscard]] const Regime& regime(double bytes) const;
};

/// Reads "transport.<name>.r<k>.{to_B,startup_s|flat_s,bandwidth_Bps}", k = 0, 1, ...
/// A transport that was never measured on this machine borrows the start-up of peer copies and is marked so.
TransportModel transport_model(const Platform& platform, const std::string& name);

/// Peer copies pulled by the target (peer_read) or pushed by the source (peer).
/// @param read  what was asked for; nullopt: pushed if that was measured, else pulled
TransportModel peer_model(const Platform& platform, std::optional<bool> read);

/// Bytes a staged copy holds in host memory before its second leg starts.
Resolved staging_chunk(const Platform& platform);

}  // namespace linkcast
