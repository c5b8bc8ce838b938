#pragma once
// The plans that a forecast runs, kept for whoever shows them.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

struct RecordedPlan {
  Problem problem;
  Solution solution;
  std::vector<std::string> links;  ///< name of each constraint
};

/// While it lives, the "fluid" solver adds the plans of its thread that it runs, and whoever builds them says the names
/// of their links.
class PlanRecord {
 public:
  static constexpr std::size_t kMostPlans = 256;  // source: ours, draws of noise are no plans of their own

  /// @param most  activities of a plan that is kept
  explicit PlanRecord(std::size_t most);
  PlanRecord(const PlanRecord&) = delete;
  PlanRecord& operator=(const PlanRecord&) = delete;
  ~PlanRecord();

  /// Null: no plan is kept.
  [[nodiscard]] static PlanRecord* current();

  /// @param name_of  a constraint of a plan that is run later, or of one with the same constraints
  void name_links(const Problem& problem, const std::function<std::string(int)>& name_of);
  void add(const Problem& problem, const Solution& solution);

  [[nodiscard]] const std::vector<RecordedPlan>& plans() const { return plans_; }
  /// Activities of the largest plan that was too large; 0: none was.
  [[nodiscard]] std::size_t too_large() const { return too_large_; }

 private:
  struct Named {
    std::vector<double> capacity_Bps;
    std::vector<std::string> links;
  };
  std::size_t most_, too_large_ = 0;
  std::vector<Named> named_;
  std::vector<RecordedPlan> plans_;
  PlanRecord* before_;
};

}  // namespace linkcast
