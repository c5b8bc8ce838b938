#pragma once
// Shipped wiring with parameters of NCCL made up for a test, and a library of rings whose table is made up, too: all
// figures differ, so that none can stand for another.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/forecast/collective_plan.hpp"
#include "sim/machine/library.hpp"
#include "tests/support/catalogue.hpp"

namespace linkcast::test {

using Values = std::map<std::string, double>;

/// The shipped calibration without errors, and of NCCL with these parameters alone.
/// @param errors  relative, of these
inline Calibration made_calibration(const std::string& shipped, const Values& nccl, const Values& errors = {}) {
  Calibration made = catalogue().machine(shipped)->platform().calibration();
  std::erase_if(made.parameters, [](const auto& one) { return one.first.rfind("nccl.", 0) == 0; });
  for (auto& [name, parameter] : made.parameters) parameter.stderr_ = 0;
  for (const auto& [name, value] : nccl) {
    const double error = errors.count(name) > 0 ? errors.at(name) : 0;
    made.parameters["nccl." + name] = {value, error * value, "", "fitted"};
  }
  made.correlation = {};
  return made;
}

/// @param slow  GPU numbers, and how many times as long their kernels take
inline std::unique_ptr<Platform> made_platform(const std::string& shipped, const Values& nccl,
                                               const Values& errors = {}, const std::map<int, double>& slow = {}) {
  Topology wiring = catalogue().machine(shipped)->platform().wiring();
  for (const auto& [gpu, times] : slow)
    for (Device& device : wiring.devices)
      if (device.id == "gpu" + std::to_string(gpu)) device.slow = times;
  return std::make_unique<Platform>(std::move(wiring), made_calibration(shipped, nccl, errors));
}

/// Microseconds of base and hop by protocol; a hop of class SYS takes ten times as long.
class TableRings final : public RingLibrary {
 public:
  [[nodiscard]] Communicator build(const Platform&, const std::vector<int>&) const override { return {}; }
  [[nodiscard]] ProtocolChoice protocol(const Platform&, const Communicator&, const std::string&, Bytes,
                                        const std::string&) const override {
    return {};
  }
  [[nodiscard]] static int row(const std::string& protocol) {
    return protocol == "LL" ? 0 : protocol == "LL128" ? 1 : 2;
  }
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return {(5 + 2.5 * row(protocol)) * 1e-6};
  }
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    return {(0.7 + 0.6 * row(protocol)) * 1e-6 * (path_class == "SYS" ? 10 : 1)};
  }
  [[nodiscard]] AlgorithmLatency algorithm_latency(const Communicator&, const std::string&) const override {
    return switches;
  }
  [[nodiscard]] Prior multicast_share(const Platform&, const Communicator&) const override { return share; }
  [[nodiscard]] std::optional<Prior> block_rate(const Platform&, const Communicator&,
                                                const std::string&) const override {
    return rate;
  }
  [[nodiscard]] Prior narrow_share(const Platform&, const Communicator&, int width_B) const override {
    return {width_B == 8 ? 0.6 : 0.35, 0.15};
  }
  [[nodiscard]] std::vector<TunerEntry> tuner(const Platform&, const Communicator&,
                                              const TunerRequest&) const override {
    return rows;
  }
  [[nodiscard]] std::optional<TunerChoice> choose(const Platform&, const Communicator&,
                                                  const TunerRequest&) const override {
    return taken;
  }
  [[nodiscard]] std::optional<Prior> host_wait() const override { return wait; }
  [[nodiscard]] bool keeps_step() const override { return keeps; }
  [[nodiscard]] bool groups_calls() const override { return groups; }

  AlgorithmLatency switches{};
  std::vector<TunerEntry> rows{};
  std::optional<TunerChoice> taken{};
  Prior share{0.8, 0.1};
  std::optional<Prior> rate{}, wait{};
  bool keeps = false, groups = true;
};

class TableLibrary final : public Library {
 public:
  [[nodiscard]] const RingLibrary* rings() const override { return &made; }
  TableRings made;
};

/// Ranks around one ring in this order, over peer hops but for those from these places.
inline Communicator made_ring(const std::vector<int>& order, const std::vector<std::size_t>& through_host = {}) {
  Communicator made;
  made.library = "nccl-2.18";
  made.gpus = order;
  made.path_class = "NVL";
  Channel ring;
  ring.order = order;
  for (std::size_t i = 0; i < order.size(); ++i)
    ring.hops.push_back({order[i], order[(i + 1) % order.size()], HopKind::kPeer});
  for (const std::size_t place : through_host) ring.hops[place].kind = HopKind::kHostMemory;
  made.channels = {ring};
  return made;
}

/// Costs of an algorithm without the bytes on the links.
inline collective::CollectiveCost cost_of(const Platform& platform, const RingLibrary& library,
                                          const Communicator& communicator, const std::string& algorithm,
                                          const std::string& protocol, int blocks) {
  return algorithms().get(algorithm).cost({platform, library, communicator, protocol, blocks});
}

/// One algorithm on a communicator made up for a test, in Simple with one block a channel; its costs are none.
class AlgorithmOn {
 public:
  AlgorithmOn(const Cluster& machine, const Communicator& communicator, const std::string& algorithm,
              const std::string& op, double size_B = 1e6, double payload_share = 1)
      : algorithm_(algorithms().get(algorithm)),
        job_{machine, library_, communicator, collectives().get(op), op, size_B},
        choice_{algorithm, "Simple", static_cast<int>(communicator.channels.size()), payload_share} {}
  void add_to(activities::ClusterProblem& problem) const {
    collective::CollectivePlan plan{choice_, {}};
    algorithm_.plan(job_, problem, plan);
  }
  [[nodiscard]] double first_byte_s(const activities::HopDelay& delay_s) const {
    return algorithm_.first_byte_s(job_, delay_s);
  }

 private:
  TableLibrary library_;
  const Algorithm& algorithm_;
  collective::CollectiveJob job_;
  collective::Choice choice_;
};

}  // namespace linkcast::test
