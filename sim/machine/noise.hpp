#pragma once
// Network noise: what traffic of other jobs does to a message that crosses links between switches. A message keeps a
// share of its rate, and its first byte waits. Distributions from the calibration, draws from a seed.
#include <cstdint>
#include <optional>

#include "sim/machine/fabric.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// What everybody is on who does not ask for another. source: De Sensi et al., SC24, section VI-A: "all the traffic is
/// mapped by default on service level 0"; NCCL_IB_SL and UCX_IB_SL are 0 by default
inline constexpr int kDefaultLevel = 0;

/// Distributions of one link between switches, on the service level that other jobs use.
///   lost part of the rate: most_loss x U^loss_exponent, U even in (0, 1)
///   wait of the first byte: wait_s x exp(wait_sigma x Z), Z normal
/// A way of n links loses what its worst link takes, the largest of n draws: most_loss x U^(loss_exponent / n). The
/// links of a way are waited for one after the other and are busy together: n x wait_s x exp(wait_sigma x Z).
struct NoiseModel {
  double most_loss = 0;  ///< below 1
  double loss_exponent = 0;
  double wait_s = 0;  ///< median
  double wait_sigma = 0;
  int service_level = kDefaultLevel;  ///< of the other jobs

  /// Parameters "noise.*". @returns nothing if none was fitted on this machine
  static std::optional<NoiseModel> of(const Calibration& calibration);

  [[nodiscard]] double lost(double uniform, int links) const;
  [[nodiscard]] double waited_s(double normal, int links) const;
};

/// What a message between two endpoints of a fabric crosses.
struct NoisyWay {
  int from = 0, to = 0;  ///< endpoints
  int from_switch = 0, to_switch = 0;
  int links = 0;  ///< between switches
};
NoisyWay noisy_way(const Fabric& fabric, int from, int to);

/// One draw of what other jobs leave. All messages from one switch to another keep the same share of their rate, since
/// adaptive routing spreads them, and the other jobs, over the same links; each message waits on its own.
class Background {
 public:
  Background(const NoiseModel& model, std::uint64_t seed, int sample);
  /// How many times as long a byte of the message takes, at least 1.
  [[nodiscard]] double slowdown(const NoisyWay& way) const;
  [[nodiscard]] double wait_s(const NoisyWay& way) const;

 private:
  NoiseModel model_;
  std::uint64_t hash_;
};

}  // namespace linkcast
