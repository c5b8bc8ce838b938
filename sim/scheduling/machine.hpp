#pragma once
// What a scheduler sees of a machine: GPUs, policies that choose among the free ones, and what a job takes on those
// it has got.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/placement/traffic.hpp"
#include "sim/scheduling/job_list.hpp"

namespace linkcast::scheduling {

/// A job that runs, or is to run.
struct Allocation {
  std::vector<int> gpus;  ///< of each rank; over nodes, GPU g of node n is n x GPUs of a node + g
  placement::Traffic traffic{};
  double iteration_s = 0;  ///< as things are
  double compute_s = 0;    ///< of it, besides the call
};

class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  [[nodiscard]] virtual int gpus() const = 0;
  /// "linkcast", "first-fit", ...: what choose() knows.
  [[nodiscard]] virtual std::vector<std::string> policies() const = 0;
  /// @param free  per GPU. @param running  who has the others. @param seed  of policy random
  /// @returns  GPUs in rank order; nullopt if the job does not fit now
  virtual std::optional<std::vector<int>> choose(const std::string& policy, const ScheduledJob& job,
                                                 const std::vector<char>& free,
                                                 const std::vector<const Allocation*>& running, std::uint64_t seed) = 0;
  /// @throws InputError  the job can never run there
  virtual placement::Traffic traffic(const ScheduledJob& job, const std::vector<int>& gpus) = 0;
  /// Of one call on the best GPUs of the idle machine, seconds.
  virtual double best_s(const ScheduledJob& job) = 0;
  /// Of a key in the flows of traffic().
  [[nodiscard]] virtual double capacity_Bps(int key) const = 0;
};

/// One node. @param library  empty: the platform's
std::unique_ptr<Machine> node_machine(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                      const std::string& library);
/// The first `nodes` nodes of a platform on its fabric. @throws InputError  it has none, or not so many
std::unique_ptr<Machine> cluster_machine(catalogue::Catalogue& catalogue, const std::string& platform_id, int nodes,
                                         const std::string& library);

}  // namespace linkcast::scheduling
