#pragma once
// From "copy n bytes from here to there" to activities of the engine.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/forecast/transport.hpp"
#include "sim/platform/platform.hpp"

namespace linkcast {

/// Who moves the bytes: a copy engine serves one copy at a time; kernels share.
enum class MoveBy { kDma, kSm };

struct Transfer {
  int source = 0, target = 0;  ///< device indices
  double bytes = 0;
  std::string transport;  ///< empty: what the runtime would take
  int via = -1;           ///< relaying GPU (device index); -1: the best one
  MoveBy by = MoveBy::kDma;
  std::optional<bool> read{};  ///< pulled by the target instead of pushed by the source; default: as was measured
};

/// What a Transfer became.
struct PlannedTransfer {
  std::string transport;
  std::string model;  ///< transport whose parameters were used: peer_read for a pulled peer copy
  int via = -1;
  std::vector<int> links;       ///< directed links in order, both legs of a staged or relayed copy
  std::vector<int> activities;  ///< in time order; the last one's finish is the transfer's
  int main_activity = 0;        ///< the one that moves most bytes
  double latency_s = 0;         ///< start-up of the smallest message
  int cap_link = -1;            ///< link that limits every single flow below its own capacity; -1: none
  std::vector<Resolved> used;   ///< start-up and cap parameters that entered
};

/// Collects transfers of one platform into one Problem. Constraint i is Platform::constraints()[i].
class ProblemBuilder {
 public:
  explicit ProblemBuilder(const Platform& platform);
  /// @throws InputError  the transport cannot join these devices; says why and what can
  PlannedTransfer add(const Transfer& transfer);
  int add_activity(Activity activity);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const Platform& platform() const { return *platform_; }

  /// Consumption of a list of links: weight 1 each, plus the duplex constraints of their cables.
  [[nodiscard]] std::vector<Use> uses(const std::vector<int>& links) const;
  /// Lowest one-flow limit of the cables on the way.
  struct FlowCap {
    double rate_Bps = std::numeric_limits<double>::infinity();
    int link = -1;
  };
  [[nodiscard]] FlowCap flow_cap(const std::vector<int>& links) const;

 private:
  PlannedTransfer add_local(const Transfer& transfer);
  PlannedTransfer add_peer(const Transfer& transfer);
  PlannedTransfer add_relay(const Transfer& transfer);
  PlannedTransfer add_staged(const Transfer& transfer);
  PlannedTransfer add_host(const Transfer& transfer);
  int add_leg(PlannedTransfer& plan, const std::vector<int>& links, double bytes, const Regime& regime, MoveBy by,
              std::vector<int> queues);
  /// A leg of a transport that has parameters of its own: never shorter than the longest copy of an earlier regime.
  int add_copy(PlannedTransfer& plan, const std::vector<int>& links, double bytes, const TransportModel& model,
               MoveBy by, std::vector<int> queues);
  [[nodiscard]] double lone_rate(const std::vector<int>& links) const;

  const Platform* platform_;
  Problem problem_;
};

/// Transport that the runtime takes: local, peer where peer access exists, host to or from a CPU, else staged.
std::string runtime_transport(const Platform& platform, int source, int target);

/// Share of an accelerator link's copy-engine rate that kernels reach, because they store in smaller packets.
double kernel_link_share();

/// Links a staged copy takes: to the source's socket; then, if another, across; then to the target.
struct StagedRoute {
  std::vector<int> up, down;
};
StagedRoute staged_route(const Platform& platform, int source, int target);

}  // namespace linkcast
