#pragma once
// Concurrent traffic on a fabric with adaptive routing: whoever comes takes the detours that are free.
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "sim/machine/adaptive_routing.hpp"
#include "sim/plan/plan.hpp"

namespace linkcast::activities {

/// Crossings as demands, those of the same two endpoints as one.
struct CrossingDemands {
  std::vector<Demand> demands{};
  std::vector<std::size_t> of_crossing{};
};
/// @param work_B  bytes of an activity, by its number
CrossingDemands demands_of(const std::vector<FabricCrossing>& crossings, const std::function<double(int)>& work_B);

/// Traffic of one plan on such a fabric.
struct FabricPart {
  std::vector<FabricCrossing> crossings{};
  double moving_s = 0;                         ///< alone
  std::vector<double> work_B{};                ///< of the plan's activities
  std::vector<std::pair<int, double>> busy{};  ///< by link of the fabric: part of moving_s, on the routes as planned
};
/// Without crossings where its routes stay as planned; empty where the fabric routes otherwise.
FabricPart fabric_part(const Cluster& machine, const Plan& plan);

class FabricTraffic {
 public:
  /// @param machine  outlives this one
  explicit FabricTraffic(const Cluster& machine);

  struct Entered {
    int number = -1;  ///< to leave by
    /// By activity: keys of the fabric that replace those planned; empty: all is as planned.
    std::vector<std::vector<Use>> uses{};
  };
  /// These begin together. While no link between switches has to carry more than fits, routes are as planned; else they
  /// settle for links as busy as all others would keep them alone, where that is better. What runs keeps its routes.
  /// @returns  in the same order
  std::vector<Entered> enter(const std::vector<const FabricPart*>& parts);
  void leave(int number);

 private:
  static constexpr int kNone = -1;
  Entered enter(const FabricPart& part);
  [[nodiscard]] double busy_meanwhile(int link, double moving_s) const;
  [[nodiscard]] double busiest(const std::vector<std::pair<int, double>>& busy, double moving_s) const;
  [[nodiscard]] bool waits(const FabricPart& part) const;
  std::vector<std::vector<Use>> settle(const FabricPart& part);

  const Cluster& machine_;
  std::vector<double> busy_;    ///< by link of the fabric: part of their time, of all that run
  std::vector<double> busy_s_;  ///< likewise, in seconds
  std::vector<int> place_;      ///< by link: in the uses that settle, or kNone
  struct Running {
    double moving_s = 0;
    std::vector<std::pair<int, double>> busy{};
  };
  std::vector<Running> running_;  ///< by number
  std::vector<int> free_;         ///< numbers
};

/// Whether a key is of a link that adaptive routing chose, which settled uses replace.
bool is_routed(const Cluster& machine, int key);

/// Plans of one machine that begin together: routes of each settle for those of all others.
void settle_together(const Cluster& machine, std::vector<Plan>& plans);

}  // namespace linkcast::activities
