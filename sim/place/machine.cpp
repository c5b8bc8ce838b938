#include "sim/place/machine.hpp"

#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/base/random.hpp"
#include "sim/place/fabric_groups.hpp"

namespace linkcast::scheduling {
namespace {

// source: ours, below the error of any forecast: not worth leaving groups in pieces for
constexpr double kNotWorth = 0.02;
constexpr int kMostIdle = 300;      // ours: of the idle machine, once for all jobs alike
constexpr int kMostForecasts = 40;  // ours: of one job; a day of 600 jobs takes minutes

}  // namespace

Machine::Machine(catalogue::Catalogue& catalogue, catalogue::MachinePtr machine, int nodes, std::string library)
    : catalogue_(catalogue),
      machine_(std::move(machine)),
      library_(std::move(library)),
      platform_(machine_->platform()),
      cluster_(nodes > 0 ? machine_->cluster() : machine_->lone_node()),
      nodes_(std::max(nodes, 1)),
      of_node_(platform_.gpu_count()) {
  node_library_ = library_.empty() ? platform_.calibration().default_library : library_;
  if (nodes > 0) groups_.emplace(cluster_);
  if (nodes_ > cluster_.nodes())
    throw InputError("nodes: must be 1 to " + std::to_string(cluster_.nodes()) + ", as many as the fabric has");
}

std::optional<std::vector<int>> Machine::choose(Policy policy, const ScheduledJob& job, const std::vector<char>& free,
                                                const std::vector<const Allocation*>& running, std::uint64_t seed) {
  const int count = nodes_for(job), each = job.gpus / count;
  std::vector<char> fits(at(cluster_.nodes()), 0);
  std::vector<int> open;
  for (int node = 0; node < nodes_; ++node) {
    if (static_cast<int>(free_of(free, node).size()) < each) continue;
    fits[at(node)] = 1;
    open.push_back(node);
  }
  if (static_cast<int>(open.size()) < count) return std::nullopt;
  if (count == 1) return in_one_node(policy, job, free, open, seed);
  std::vector<int> gpus;
  for (const int node : choose_nodes(policy, job, fits, running, seed))
    for (int gpu = 0; gpu < of_node_; ++gpu) gpus.push_back(node * of_node_ + gpu);
  return gpus;
}

placement::Traffic Machine::traffic(const ScheduledJob& job, const std::vector<int>& gpus) {
  if (job.op.empty() || gpus.size() < 2) return {};
  collective::PlacedNodes where;
  for (const int gpu : gpus) {
    if (where.nodes.empty() || where.nodes.back() != gpu / of_node_) where.nodes.push_back(gpu / of_node_);
    if (where.nodes.size() == 1) where.gpus.push_back(gpu % of_node_);
  }
  if (where.nodes.size() > 1) return call_on(job, where);
  placement::Traffic inside = call_on(job, {{0}, where.gpus});
  for (Activity& flow : inside.flows)
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = cluster_.key(where.nodes.front(), use.constraint);
  return inside;
}

double Machine::best_s(const ScheduledJob& job) {
  if (job.op.empty() || job.gpus < 2) return 0;
  const auto [known, added] = best_s_.try_emplace({job.op, job.size_B, job.gpus});
  if (!added) return known->second;
  if (nodes_for(job) == 1) return known->second = best_set(job, first_numbers(of_node_)).second;
  std::vector<char> fits(at(cluster_.nodes()), 0);
  std::fill(fits.begin(), fits.begin() + nodes_, 1);
  return known->second = search(job, fits, {}, kMostIdle).choices.front().time_s;
}

int Machine::nodes_for(const ScheduledJob& job) const {
  if (job.gpus <= of_node_) return 1;
  if (job.gpus % of_node_ != 0)
    throw InputError("job " + job.id + " wants " + std::to_string(job.gpus) + " GPUs: over nodes, a multiple of " +
                     std::to_string(of_node_));
  return job.gpus / of_node_;
}

/// Numbers within the node.
std::vector<int> Machine::free_of(const std::vector<char>& free, int node) const {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < of_node_; ++gpu)
    if (free[at(node * of_node_ + gpu)] != 0) gpus.push_back(gpu);
  return gpus;
}

/// @param open  nodes with enough free GPUs
std::vector<int> Machine::in_one_node(Policy policy, const ScheduledJob& job, const std::vector<char>& free,
                                      const std::vector<int>& open, std::uint64_t seed) {
  int node = open.front();
  if (policy == PolicyName::kRandom) node = open[joined(seed, open.size()) % open.size()];
  if (open.size() > 1 &&
      (policy == PolicyName::kPacked || policy == PolicyName::kSpread || policy == PolicyName::kLinkcast))
    node = best_node(policy, job, free, open);
  std::vector<int> gpus = gpus_of_node(policy, job, free_of(free, node), seed);
  for (int& gpu : gpus) gpu += node * of_node_;
  return gpus;
}

/// linkcast: the node whose best set is fastest, then the fullest, then one whose switch has least room anyway.
int Machine::best_node(Policy policy, const ScheduledJob& job, const std::vector<char>& free,
                       const std::vector<int>& open) {
  std::map<int, int> room;  // whole nodes that are free, by nearest group
  for (int node = 0; node < nodes_; ++node)
    room[groups_->group(0, node)] += static_cast<int>(free_of(free, node).size()) == of_node_ ? 1 : 0;
  const auto rank = [&](int node) {
    const placement::GpuSet left = free_of(free, node);
    const int count = static_cast<int>(left.size());
    const double time_s = policy == PolicyName::kLinkcast ? set_s(job, left) : 0;
    return std::make_tuple(time_s, policy == PolicyName::kSpread ? -count : count, room[groups_->group(0, node)], node);
  };
  return *std::min_element(open.begin(), open.end(), [&](int a, int b) { return rank(a) < rank(b); });
}

/// @param free  at least as many as the job wants
std::vector<int> Machine::gpus_of_node(Policy policy, const ScheduledJob& job, placement::GpuSet free,
                                       std::uint64_t seed) {
  if (policy == PolicyName::kLinkcast) return best_set(job, free).first;
  if (policy == PolicyName::kNvlink) return most_nvlink(free, job.gpus);
  if (policy == PolicyName::kPacked || policy == PolicyName::kSpread)
    free = by_socket(free, policy == PolicyName::kSpread);
  if (policy == PolicyName::kRandom) free = placement::shuffled(std::move(free), seed);
  free.resize(at(job.gpus));
  std::sort(free.begin(), free.end());
  return free;
}

/// GPUs of a node and the time of one call there.
std::pair<std::vector<int>, double> Machine::best_set(const ScheduledJob& job, const placement::GpuSet& free) {
  if (job.op.empty() && job.gpus > 1) return {placement::GpuSet(free.begin(), free.begin() + job.gpus), 0};
  placement::PlaceRequest request;
  request.machine = machine_;
  request.library = node_library_;
  request.job = {job.op, job.size_B, ""};
  if (job.op.empty()) request.job = {"all_reduce", 1, ""};  // one GPU exchanges nothing: what it leaves decides
  request.ranks = job.gpus;
  for (int gpu = 0; gpu < of_node_; ++gpu)
    if (!std::binary_search(free.begin(), free.end(), gpu)) request.busy.push_back(gpu);
  const auto objective = placement::pattern_objective(catalogue_, request, memory_);
  log::NoProgress none;  // many short ones: progress counts the jobs
  const placement::NodeSearch search = placement::search_node(request, *objective, memory_, none);
  const std::vector<placement::Ranked> ranked = placement::rank(platform_, request, search);
  return {ranked.front().which->gpus, ranked.front().which->score.time_s};
}

/// Seconds of one call on the best of these GPUs of a node.
double Machine::set_s(const ScheduledJob& job, const placement::GpuSet& free) {
  const auto [known, added] = set_s_.try_emplace({job.op, job.size_B, job.gpus, free});
  if (added) known->second = traffic(job, best_set(job, free).first).alone_s;
  return known->second;
}

/// The set whose GPUs have most NVLink among them, as MAPA's greedy policy takes it.
/// @source  K. Ranganath et al., MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU Servers, SC'21
placement::GpuSet Machine::most_nvlink(const placement::GpuSet& free, int size) const {
  placement::GpuSet best;
  double most_Bps = -1;
  for (const auto& sets : placement::set_classes(free, size, {})) {
    const auto in = [&](int device) {
      return std::any_of(sets.front().begin(), sets.front().end(),
                         [&](int gpu) { return platform_.gpu(gpu) == device; });
    };
    double rate_Bps = 0;
    for (const Cable& cable : platform_.topology().cables)
      if (is_accelerator_cable(cable.kind) && in(cable.a) && in(cable.b)) rate_Bps += cable.count * cable.bandwidth.si;
    if (rate_Bps <= most_Bps) continue;
    most_Bps = rate_Bps;
    best = sets.front();
  }
  return best;
}

/// Fullest socket first, or each socket in turn.
placement::GpuSet Machine::by_socket(const placement::GpuSet& free, bool spread) const {
  std::map<int, placement::GpuSet> sockets;
  for (const int gpu : free) sockets[platform_.socket_of(platform_.gpu(gpu))].push_back(gpu);
  std::vector<std::tuple<std::size_t, std::size_t, int>> order;
  for (const auto& [socket, members] : sockets)
    for (std::size_t i = 0; i < members.size(); ++i)
      order.emplace_back(spread ? i : members.size(), spread ? static_cast<std::size_t>(socket) : i, members[i]);
  std::sort(order.begin(), order.end());
  placement::GpuSet ordered;
  for (const auto& [first, second, gpu] : order) ordered.push_back(gpu);
  return ordered;
}

std::vector<int> Machine::choose_nodes(Policy policy, const ScheduledJob& job, const std::vector<char>& fits,
                                       const std::vector<const Allocation*>& running, std::uint64_t seed) {
  const int count = nodes_for(job);
  if (policy == PolicyName::kPacked) return placement::packed_nodes(*groups_, fits, count);
  if (policy == PolicyName::kSpread) return placement::spread_nodes(*groups_, fits, count);
  if (policy == PolicyName::kRandom) return placement::random_nodes(fits, count, seed);
  if (policy != PolicyName::kLinkcast || job.op.empty()) return placement::first_nodes(fits, count);
  std::vector<placement::Background> others;
  for (const Allocation* one : running)
    if (!one->traffic.flows.empty()) others.push_back({&one->traffic, one->iteration_s, one->compute_s});
  return search(job, fits, std::move(others), kMostForecasts).first_within(kNotWorth).nodes;
}

placement::ClusterSearch Machine::search(const ScheduledJob& job, const std::vector<char>& fits,
                                         std::vector<placement::Background> others, int most_forecasts) {
  const std::vector<int> all = first_numbers(of_node_);
  return placement::search_cluster({cluster_, *groups_,
                                    [&](const std::vector<int>& nodes) {
                                      return call_on(job, {nodes, all});
                                    },
                                    nodes_for(job), fits, std::move(others), placement::PlaceObjective::kBoth,
                                    most_forecasts, job.compute_s});
}

/// Remembered: the same GPUs are looked at again and again. Within a node, keys are the node's constraints.
placement::Traffic Machine::call_on(const ScheduledJob& job, const collective::PlacedNodes& where) {
  const auto [known, added] = call_on_.try_emplace({job.op, job.size_B, where.nodes, where.gpus});
  if (added)
    known->second = where.nodes.size() == 1
                        ? placement::node_traffic(catalogue_, *machine_, node_library_, job.op, job.size_B, where.gpus)
                        : placement::nodes_traffic(catalogue_, *machine_, library_, job.op, job.size_B, where);
  return known->second;
}

}  // namespace linkcast::scheduling
