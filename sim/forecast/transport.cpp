#include "sim/forecast/transport.hpp"

#include <limits>

namespace linkcast {
namespace {

// What a copy costs before its first byte where no measurement says more.
// source: paper 001 (TPDS 2020), section 3.1.1: about 9 us between neighbours on both DGX-1.
constexpr double kAssumedStartup_s = 9e-6;
// source: P100-DGX-1 message-size sweep: the time per byte halves between 1 MiB and 2 MiB
// (models/params/p100-dgx1.json)
constexpr double kAssumedChunk_B = 1048576;

std::string regime_key(const std::string& transport, std::size_t index, const char* what) {
  return "transport." + transport + ".r" + std::to_string(index) + "." + what;
}

std::optional<Regime> read_regime(const Platform& platform, const std::string& transport, std::size_t index) {
  const Calibration& calibration = platform.calibration();
  const bool flat = calibration.find(regime_key(transport, index, "flat_s")) != nullptr;
  const std::string startup = regime_key(transport, index, flat ? "flat_s" : "startup_s");
  if (!calibration.find(startup)) return std::nullopt;
  Regime regime;
  regime.flat = flat;
  regime.startup = platform.parameter(startup, 0);
  regime.to_B = platform.parameter(regime_key(transport, index, "to_B"), std::numeric_limits<double>::infinity()).value;
  if (calibration.find(regime_key(transport, index, "bandwidth_Bps")))
    regime.rate_cap = platform.parameter(regime_key(transport, index, "bandwidth_Bps"), 0);
  return regime;
}

}  // namespace

const Regime& TransportModel::regime(double bytes) const {
  for (const Regime& candidate : regimes)
    if (bytes <= candidate.to_B) return candidate;
  return regimes.back();
}

TransportModel transport_model(const Platform& platform, const std::string& name) {
  TransportModel model{name, {}};
  while (auto regime = read_regime(platform, name, model.regimes.size())) model.regimes.push_back(*regime);
  if (!model.regimes.empty()) return model;
  if (name != "peer") {
    model = peer_model(platform, std::nullopt);
    model.name = name;
    for (Regime& regime : model.regimes) regime.startup.calibrated = false;
    return model;
  }
  model.regimes.push_back({std::numeric_limits<double>::infinity(),
                           {kAssumedStartup_s, 1, false, regime_key(name, 0, "startup_s")},
                           false,
                           std::nullopt});
  return model;
}

TransportModel peer_model(const Platform& platform, std::optional<bool> read) {
  const auto measured = [&](const char* name) { return read_regime(platform, name, 0).has_value(); };
  const bool pull = read.value_or(!measured("peer") && measured("peer_read"));
  if (measured(pull ? "peer_read" : "peer")) return transport_model(platform, pull ? "peer_read" : "peer");
  if (!measured(pull ? "peer" : "peer_read")) return transport_model(platform, "peer");
  TransportModel other = transport_model(platform, pull ? "peer" : "peer_read");
  for (Regime& regime : other.regimes) regime.startup.calibrated = false;  // the other direction stands in
  return other;
}

Resolved staging_chunk(const Platform& platform) {
  return platform.parameter("transport.staged.chunk_B", kAssumedChunk_B);
}

}  // namespace linkcast
