#pragma once
// How good GPUs are for a job: its predicted time there, and what its neighbours lose.
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/collective.hpp"
#include "sim/place/place_request.hpp"

namespace linkcast::placement {

inline constexpr double kSame = 1e-9;  // of two times. source: ours, rounding of sums

struct NeighbourScore {
  double alone_s = 0, time_s = 0;
  [[nodiscard]] double slowdown() const { return time_s / alone_s; }
};

struct Score {
  double time_s = 0, low_s = 0, high_s = 0;  ///< of the job, with a 90 % interval
  double alone_s = 0;                        ///< without the neighbours
  std::vector<NeighbourScore> neighbours{};
  std::vector<std::string> bottleneck{};  ///< ids of the links that limit it
  std::vector<std::string> warnings{};
  bool told = true;  ///< false: bottleneck and warnings are not known yet, see Objective::tell
  /// What the neighbours lose, in their own times, summed.
  [[nodiscard]] double loss() const;
};

/// Cost of a score by the objective. @param best_alone_s  of the job anywhere on this node without neighbours
double cost_of(const Score& score, PlaceObjective objective, double best_alone_s);

class Objective {
 public:
  Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  virtual ~Objective() = default;
  /// @param gpus  of each rank. @throws InputError  the job cannot run there
  virtual Score score(const std::vector<int>& gpus) = 0;
  /// Adds bottleneck and warnings to a score of these GPUs that lacks them.
  virtual void tell(const std::vector<int>& /*gpus*/, Score& /*score*/) {}
  /// True if the same GPUs in another rank order may take another time.
  virtual bool order_matters(const std::vector<int>& gpus) = 0;
  /// So many forecasts may be spent on rank orders: then the answer is not exact.
  [[nodiscard]] virtual long most_orders() const { return 20000; }
  /// No order of these GPUs takes less; 0 if no bound is known.
  virtual double least_s(const std::vector<int>& /*gpus*/) { return 0; }
};

/// True of an operation in which each rank has a part of its own: one with a root, or messages that not every two
/// exchange.
bool ranks_differ_in(const Collective& op);

class PlacementMemory;

/// @param request, memory  outlive it
std::unique_ptr<Objective> pattern_objective(catalogue::Catalogue& catalogue, const PlaceRequest& request,
                                             PlacementMemory& memory);
/// Reads the trace once. @throws InputError  it has another number of ranks, and cannot be run on so many
std::unique_ptr<Objective> trace_objective(catalogue::Catalogue& catalogue, const PlaceRequest& request);

struct TraceTime {
  double time_s = 0, low_s = 0, high_s = 0;  ///< of a step where the trace marks any, else of the whole
  std::vector<std::string> warnings{};
};

/// @param nodes  of the fabric, in rank order; each gives its first GPUs. @param interval  costs two more runs
/// @throws InputError
TraceTime trace_on_nodes(catalogue::Catalogue& catalogue, const PlaceRequest& asked, const std::vector<int>& nodes,
                         bool interval);

}  // namespace linkcast::placement
