#include <algorithm>
#include <map>
#include <tuple>

#include "sim/placement/collective_traffic.hpp"
#include "sim/placement/node_orders.hpp"
#include "sim/placement/node_search.hpp"
#include "sim/placement/placement_memory.hpp"
#include "sim/placement/ranking.hpp"
#include "sim/scheduling/machine.hpp"
#include "sim/units/sequence.hpp"

namespace linkcast::scheduling {
namespace {

class NodeMachine final : public Machine {
 public:
  NodeMachine(catalogue::Catalogue& catalogue, const std::string& platform_id, std::string library)
      : catalogue_(catalogue),
        id_(platform_id),
        library_(std::move(library)),
        platform_(catalogue.platform(platform_id)) {
    if (library_.empty()) library_ = platform_.calibration().default_library;
  }

  [[nodiscard]] int gpus() const override { return platform_.gpu_count(); }
  [[nodiscard]] std::vector<std::string> policies() const override {
    return {"linkcast", "first-fit", "packed", "spread", "nvlink", "random"};
  }
  [[nodiscard]] double capacity_Bps(int key) const override {
    return platform_.constraints()[static_cast<std::size_t>(key)].capacity.value;
  }

  std::optional<std::vector<int>> choose(const std::string& policy, const ScheduledJob& job,
                                         const std::vector<char>& free,
                                         const std::vector<const Allocation*>& /*running*/,
                                         std::uint64_t seed) override {
    placement::GpuSet left;
    for (int gpu = 0; gpu < gpus(); ++gpu)
      if (free[static_cast<std::size_t>(gpu)] != 0) left.push_back(gpu);
    if (static_cast<int>(left.size()) < job.gpus) return std::nullopt;
    if (policy == "linkcast") return best(job, left).first;
    if (policy == "nvlink") return most_nvlink(left, job.gpus);
    if (policy == "packed" || policy == "spread") by_socket(left, policy == "spread");
    if (policy == "random") left = placement::shuffled(std::move(left), seed);
    left.resize(static_cast<std::size_t>(job.gpus));
    std::sort(left.begin(), left.end());
    return left;
  }

  placement::Traffic traffic(const ScheduledJob& job, const std::vector<int>& gpus) override {
    if (job.op.empty() || gpus.size() < 2) return {};
    const auto [known, added] = traffic_.try_emplace({job.op, job.size_B, gpus});
    if (added) known->second = placement::node_traffic(catalogue_, id_, library_, job.op, job.size_B, gpus);
    return known->second;
  }

  double best_s(const ScheduledJob& job) override {
    if (job.op.empty() || job.gpus < 2) return 0;
    const auto [known, added] = best_s_.try_emplace({job.op, job.size_B, job.gpus});
    if (added) known->second = best(job, first_numbers(gpus())).second;
    return known->second;
  }

 private:
  /// GPUs and the time of one call there.
  std::pair<std::vector<int>, double> best(const ScheduledJob& job, const placement::GpuSet& free) {
    if (job.op.empty() && job.gpus > 1) return {placement::GpuSet(free.begin(), free.begin() + job.gpus), 0};
    placement::PlaceRequest request;
    request.platform = id_;
    request.library = library_;
    request.job = {job.op, job.size_B, ""};
    if (job.op.empty()) request.job = {"all_reduce", 1, ""};  // one GPU exchanges nothing: what it leaves decides
    request.ranks = job.gpus;
    for (int gpu = 0; gpu < gpus(); ++gpu)
      if (!std::binary_search(free.begin(), free.end(), gpu)) request.busy.push_back(gpu);
    const auto objective = placement::pattern_objective(catalogue_, request, memory_);
    log::NoProgress none;  // many short ones: the jobs are told
    const placement::NodeSearch search = placement::search_node(platform_, request, *objective, memory_, none);
    const std::vector<placement::Ranked> ranked = placement::rank(platform_, request, search);
    return {ranked.front().which->gpus, ranked.front().which->score.time_s};
  }

  /// The set whose GPUs have most NVLink among them, as MAPA's greedy policy takes it.
  /// @source  K. Ranganath et al., MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU Servers,
  /// SC'21
  placement::GpuSet most_nvlink(const placement::GpuSet& free, int size) const {
    placement::GpuSet best;
    double most_Bps = -1;
    for (const auto& sets : placement::set_classes(free, size, {})) {
      double rate_Bps = 0;
      for (const Cable& cable : platform_.topology().cables)
        if (is_accelerator_cable(cable.kind) && joins(sets.front(), cable))
          rate_Bps += cable.count * cable.bandwidth.si;
      if (rate_Bps <= most_Bps) continue;
      most_Bps = rate_Bps;
      best = sets.front();
    }
    return best;
  }
  [[nodiscard]] bool joins(const placement::GpuSet& set, const Cable& cable) const {
    const auto in = [&](int device) {
      return std::any_of(set.begin(), set.end(), [&](int gpu) { return platform_.gpu(gpu) == device; });
    };
    return in(cable.a) && in(cable.b);
  }

  /// Fullest socket first, or each socket in turn.
  void by_socket(placement::GpuSet& free, bool spread) const {
    std::map<int, placement::GpuSet> sockets;
    for (const int gpu : free) sockets[platform_.socket_of(platform_.gpu(gpu))].push_back(gpu);
    std::vector<std::tuple<std::size_t, std::size_t, int>> order;
    for (const auto& [socket, members] : sockets)
      for (std::size_t i = 0; i < members.size(); ++i)
        order.emplace_back(spread ? i : members.size(), spread ? static_cast<std::size_t>(socket) : i, members[i]);
    std::sort(order.begin(), order.end());
    free.clear();
    for (const auto& [first, second, gpu] : order) free.push_back(gpu);
  }

  catalogue::Catalogue& catalogue_;
  std::string id_, library_;
  const Platform& platform_;
  placement::PlacementMemory memory_{};
  std::map<std::tuple<std::string, double, std::vector<int>>, placement::Traffic> traffic_;
  std::map<std::tuple<std::string, double, int>, double> best_s_;
};

}  // namespace

std::unique_ptr<Machine> node_machine(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                      const std::string& library) {
  return std::make_unique<NodeMachine>(catalogue, platform_id, library);
}

}  // namespace linkcast::scheduling
