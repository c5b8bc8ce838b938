#include "sim/machine/transport.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/input_error.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

// What a copy costs before its first byte where no measurement says more.
// source: paper 001 (TPDS 2020), section 3.1.1: about 9 us between neighbours on both DGX-1.
constexpr double kAssumedStartup_s = 9e-6;
// source: P100-DGX-1 message-size sweep: the time per byte halves between 1 MiB and 2 MiB
// (models/params/p100-dgx1.json)
constexpr double kAssumedChunk_B = 1048576;

/// Each transport, and those whose start-up stands in for one that was not measured, best first.
const std::map<std::string, std::vector<std::string>>& stand_ins() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"local", {"peer", "peer_read"}},
      {"local_sm", {"local", "peer", "peer_read"}},
      {"peer", {"peer_read"}},
      {"peer_read", {"peer"}},
      {"peer_sm", {"peer", "peer_read"}},
      {"peer_sm_read", {"peer_sm", "peer", "peer_read"}},
      {"relay", {"peer", "peer_read"}},
      {"staged", {"d2h", "h2d", "peer", "peer_read"}},
      {"h2d", {"d2h", "peer", "peer_read"}},
      {"d2h", {"h2d", "peer", "peer_read"}},
      {"h2d_sm", {"h2d", "d2h", "peer", "peer_read"}},
      {"d2h_sm", {"d2h", "h2d", "peer", "peer_read"}},
      {"h2d_pageable", {"h2d", "d2h", "peer", "peer_read"}},
      {"d2h_pageable", {"d2h", "h2d", "peer", "peer_read"}},
  };
  return table;
}

// A message between nodes before its first byte, and what is believed of the logarithm of that.
// source: models/params: 2.0 to 6.1 us between GPUs of V100 to GH200 and MI250X (seven machines, geometric mean 3.8),
// 0.86 to 3.7 us between hosts (six, 1.7)
constexpr double kNetworkStartup_s = 3.8e-6, kNetworkSpread = 0.45;          // source: above
constexpr double kHostNetworkStartup_s = 1.7e-6, kHostNetworkSpread = 0.65;  // source: above

std::optional<Regime> read_regime(const Calibration& calibration, const std::string& transport, std::size_t index) {
  Regime regime;
  regime.flat = calibration.find(key::flat(transport, index)) != nullptr;
  regime.startup = resolve(calibration, (regime.flat ? key::flat : key::startup)(transport, index), 0);
  if (!regime.startup.calibrated) return std::nullopt;
  regime.to_B = resolve(calibration, key::range_end(transport, index), std::numeric_limits<double>::infinity()).value;
  const ParameterKey rate = key::range_bandwidth(transport, index);
  if (calibration.find(rate)) regime.rate_cap = resolve(calibration, rate, 0);
  return regime;
}

TransportModel assumed_model() {
  TransportModel model{"peer", {}};
  model.regimes.push_back({std::numeric_limits<double>::infinity(),
                           {kAssumedStartup_s, 1, false, key::startup("peer", 0).name},
                           false,
                           std::nullopt});
  return model;
}

/// As fast as the links are. Never calibrated, so that answers say so.
TransportModel assumed_message(const std::string& name, double startup_s, double spread) {
  TransportModel model{name, {}};
  model.regimes.push_back({std::numeric_limits<double>::infinity(),
                           {startup_s, spread, false, key::startup(name, 0).name},
                           false,
                           std::nullopt});
  return model;
}

}  // namespace

Resolved resolve(const Calibration& calibration, const ParameterKey& key, double fallback) {
  const Parameter* found = calibration.find(key);
  if (!found) return {fallback, 0, false, key.name};
  return {found->value, found->value > 0 ? found->stderr_ / found->value : 0, true, key.name};
}

const Regime& TransportModel::regime(double bytes) const {
  for (const Regime& candidate : regimes)
    if (bytes <= candidate.to_B) return candidate;
  return regimes.back();
}

Pace TransportModel::pace(double bytes, double rate_Bps) const {
  const auto cap_of = [](const Regime& r) {
    return r.rate_cap ? r.rate_cap->value : std::numeric_limits<double>::infinity();
  };
  const auto moving_s = [&](const Regime& r, double size) { return size / std::min(rate_Bps, cap_of(r)); };
  double least_s = 0;
  for (const Regime& earlier : regimes) {
    if (bytes <= earlier.to_B) break;
    const double moving = moving_s(earlier, earlier.to_B);
    least_s =
        std::max(least_s, earlier.flat ? std::max(earlier.startup.value, moving) : earlier.startup.value + moving);
  }
  const Regime& here = regime(bytes);
  double delay = here.startup.value;
  if (here.flat) delay = std::max(0.0, delay - moving_s(here, bytes));
  delay += std::max(0.0, least_s - delay - moving_s(here, bytes));
  return {delay, cap_of(here)};
}

Transports::Transports(const Calibration& calibration) {
  std::map<std::string, TransportModel> measured;
  const auto read = [&](const std::string& name, std::map<std::string, TransportModel>& models) {
    TransportModel model{name, {}};
    while (auto regime = read_regime(calibration, name, model.regimes.size())) model.regimes.push_back(*regime);
    model.single = resolve(calibration, key::single(name), 0);
    model.bidirectional = resolve(calibration, key::bidirectional(name), 0);
    if (!model.regimes.empty()) models[name] = std::move(model);
  };
  for (const auto& [name, others] : stand_ins()) read(name, measured);
  for (const std::string& name : message_names()) read(name, messages_);
  if (std::none_of(messages_.begin(), messages_.end(), [](const auto& m) { return crosses_network(m.first); })) {
    messages_["mpi_network"] = assumed_message("mpi_network", kNetworkStartup_s, kNetworkSpread);
    messages_["mpi_network_host"] = assumed_message("mpi_network_host", kHostNetworkStartup_s, kHostNetworkSpread);
  }
  for (const auto& [name, others] : stand_ins()) {
    TransportModel& model = models_[name];
    model = measured.count(name) ? measured.at(name) : assumed_model();
    for (std::size_t i = 0; i < others.size() && !measured.count(name); ++i) {
      if (!measured.count(others[i])) continue;
      model = measured.at(others[i]);
      for (Regime& regime : model.regimes) regime.startup.calibrated = false;
      break;
    }
  }
  staging_chunk_ = resolve(calibration, key::chunk("staged"), kAssumedChunk_B);
  handover_ = resolve(calibration, key::handover("relay"), 0);
  engine_turn_s_ = resolve(calibration, key::engine_turn(), 0).value;
  only_pulled_ = !this->measured("peer") && this->measured("peer_read");
}

const TransportModel& Transports::get(const std::string& name) const {
  const auto it = models_.find(name);
  if (it == models_.end()) throw InvariantError("no transport '" + name + "'");
  return it->second;
}

bool Transports::measured(const std::string& name) const {
  const TransportModel& model = get(name);
  return model.name == name && model.regimes.front().startup.calibrated;
}

const TransportModel* Transports::message(const std::string& name) const {
  const auto it = messages_.find(name);
  return it == messages_.end() ? nullptr : &it->second;
}

bool Transports::network_measured() const {
  const auto network = messages_.find("mpi_network");
  return network == messages_.end() || network->second.regimes.front().startup.calibrated;
}

std::string Transports::network_warning(const std::string& machine) const {
  if (network_measured()) return "";
  return "no message between nodes of " + machine +
         " was measured: start-ups of other machines and nominal rates of adapters and cables stand in";
}

const std::vector<std::string>& Transports::message_names() {
  static const std::vector<std::string> names = {
      "mpi_network",    "mpi_node",         "mpi_socket", "mpi_network_host",   "mpi_node_host", "mpi_socket_host",
      "gpudirect_rdma", "pinned_gpudirect", "pinned",     "unpinned_gpudirect", "unpinned",      "pinned_source"};
  return names;
}

bool Transports::crosses_network(std::string_view name) {
  return !name.starts_with("mpi_node") && !name.starts_with("mpi_socket") &&
         std::find(message_names().begin(), message_names().end(), name) != message_names().end();
}

bool Transports::known(const std::string& name) { return stand_ins().count(name) > 0; }

}  // namespace linkcast
