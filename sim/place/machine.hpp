#pragma once
// What a scheduler sees of a machine: GPUs, policies that choose among the free ones, and what a job takes on those
// it has got. One node is a machine of one node, without a fabric.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/spelled.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/place/cluster_search.hpp"
#include "sim/place/job_list.hpp"
#include "sim/place/node_search.hpp"
#include "sim/place/placement_memory.hpp"

namespace linkcast::scheduling {

/// A job that runs, or is to run.
struct Allocation {
  std::vector<int> gpus;  ///< of each rank; over nodes, GPU g of node n is n x GPUs of a node + g
  placement::Traffic traffic{};
  double iteration_s = 0;  ///< as things are
  double compute_s = 0;    ///< of it, besides the call
};

/// How a job gets its GPUs.
enum class PolicyName { kLinkcast, kFirstFit, kPacked, kSpread, kNvlink, kRandom };
inline constexpr Spelling<PolicyName> kPolicyNames[] = {
    {PolicyName::kLinkcast, "linkcast"}, {PolicyName::kFirstFit, "first-fit"}, {PolicyName::kPacked, "packed"},
    {PolicyName::kSpread, "spread"},     {PolicyName::kNvlink, "nvlink"},      {PolicyName::kRandom, "random"}};
constexpr std::span<const Spelling<PolicyName>> spellings(PolicyName) { return kPolicyNames; }
using Policy = Spelled<PolicyName>;

/// Jobs of up to a node's GPUs get one node; larger ones as many GPUs of each of several nodes that have these free.
class Machine {
 public:
  /// @param nodes  the first ones of the platform's fabric; 0: one node alone, which needs none
  /// @param library  empty: the platform's. @throws InputError  the platform has no fabric, or not so many nodes
  Machine(catalogue::Catalogue& catalogue, catalogue::MachinePtr machine, int nodes, std::string library);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] int gpus() const { return nodes_ * of_node_; }
  /// Names that choose() knows.
  [[nodiscard]] static std::vector<std::string> policies() { return Policy::names(); }
  /// @param free  per GPU. @param running  who has the others. @param seed  of policy random
  /// @returns  GPUs in rank order; nullopt if the job does not fit now
  std::optional<std::vector<int>> choose(Policy policy, const ScheduledJob& job, const std::vector<char>& free,
                                         const std::vector<const Allocation*>& running, std::uint64_t seed);
  /// @throws InputError  the job can never run there
  placement::Traffic traffic(const ScheduledJob& job, const std::vector<int>& gpus);
  /// Seconds of one call on the best GPUs of the idle machine.
  double best_s(const ScheduledJob& job);
  /// Capacity of a key in the flows of traffic().
  [[nodiscard]] double capacity_Bps(int key) const { return cluster_.capacity(key); }

 private:
  [[nodiscard]] int nodes_for(const ScheduledJob& job) const;
  [[nodiscard]] std::vector<int> free_of(const std::vector<char>& free, int node) const;
  std::vector<int> in_one_node(Policy policy, const ScheduledJob& job, const std::vector<char>& free,
                               const std::vector<int>& open, std::uint64_t seed);
  int best_node(Policy policy, const ScheduledJob& job, const std::vector<char>& free, const std::vector<int>& open);
  std::vector<int> gpus_of_node(Policy policy, const ScheduledJob& job, placement::GpuSet free, std::uint64_t seed);
  std::pair<std::vector<int>, double> best_set(const ScheduledJob& job, const placement::GpuSet& free);
  double set_s(const ScheduledJob& job, const placement::GpuSet& free);
  [[nodiscard]] placement::GpuSet most_nvlink(const placement::GpuSet& free, int size) const;
  [[nodiscard]] placement::GpuSet by_socket(const placement::GpuSet& free, bool spread) const;
  std::vector<int> choose_nodes(Policy policy, const ScheduledJob& job, const std::vector<char>& fits,
                                const std::vector<const Allocation*>& running, std::uint64_t seed);
  placement::ClusterSearch search(const ScheduledJob& job, const std::vector<char>& fits,
                                  std::vector<placement::Background> others, int most_forecasts);
  placement::Traffic call_on(const ScheduledJob& job, const collective::PlacedNodes& where);

  catalogue::Catalogue& catalogue_;
  catalogue::MachinePtr machine_;
  std::string library_, node_library_;
  const Platform& platform_;
  const Cluster& cluster_;
  std::optional<placement::FabricGroups> groups_{};
  int nodes_, of_node_;
  placement::PlacementMemory memory_{};
  // Results by operation, size and GPUs.
  std::map<std::tuple<std::string, double, int>, double> best_s_{};
  std::map<std::tuple<std::string, double, int, placement::GpuSet>, double> set_s_{};
  std::map<std::tuple<std::string, double, std::vector<int>, std::vector<int>>, placement::Traffic> call_on_{};
};

}  // namespace linkcast::scheduling
