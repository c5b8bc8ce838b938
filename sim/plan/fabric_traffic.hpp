#pragma once
// Concurrent traffic on a fabric with adaptive routing: whoever comes takes the detours that are free.
#include <memory>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"

namespace linkcast::activities {

/// Traffic of one plan on such a fabric.
struct FabricPart {
  std::vector<FabricCrossing> crossings{};
  double moving_s = 0;                         ///< alone
  std::vector<double> work_B{};                ///< of the plan's activities
  std::vector<std::pair<int, double>> busy{};  ///< by link of the fabric: part of moving_s, on the routes as planned
};
/// Empty where the fabric routes otherwise, or the plan moves nothing over it.
FabricPart fabric_part(const Cluster& machine, const Plan& plan);

class FabricTraffic {
 public:
  /// @param machine  outlives this one
  explicit FabricTraffic(const Cluster& machine);

  struct Entered {
    int number = 0;  ///< to leave by
    /// By activity: keys of the fabric that replace those planned; empty: all is as planned.
    std::vector<std::vector<Use>> uses{};
  };
  /// One more begins. While no link has to carry more than fits, its routes are as planned; else they settle for
  /// links as busy as the others would keep them alone. Those keep their routes.
  Entered enter(const FabricPart& part);
  void leave(int number);

 private:
  static constexpr int kNone = -1;
  [[nodiscard]] bool waits(const FabricPart& part) const;
  std::vector<std::vector<Use>> settle(const FabricPart& part);

  const Cluster& machine_;
  std::vector<double> busy_;  ///< by link of the fabric: part of their time, of all that run
  std::vector<int> place_;    ///< by link: in the uses that settle, or kNone
  std::vector<std::vector<std::pair<int, double>>> running_;  ///< by number
  std::vector<int> free_;                                     ///< numbers
};

/// Whether a key is of a link that adaptive routing chose, which settled uses replace.
bool is_routed(const Cluster& machine, int key);

/// Plans of one machine that begin together: routes of each settle for those of all others.
void settle_together(const Cluster& machine, std::vector<Plan>& plans);

}  // namespace linkcast::activities
