#include "sim/copy/engine_orders.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "sim/units/index.hpp"

namespace linkcast::copy {
namespace {

// Orders tried where the hardware picks one: odd, so that the median is one of them. source: ours; 5 % and 95 % of 41
// runs are the third smallest and largest
constexpr int kOrders = 41;
constexpr std::uint64_t kSeed = 1;

using Order = std::vector<std::size_t>;  ///< numbers of copies
using Executor = std::pair<int, int>;    ///< node, device of the copy engine

CopyRun run_in_order(const Cluster& machine, Solver& solver, const CopyRequest& request, const Order& order) {
  CopyRun run{CopyPlan(machine, request, order), {}};
  run.solution = solver.run(run.plan.problem());
  return run;
}

/// True if a copy engine has several pushed copies to choose from, and some of them meet other engines' copies.
bool order_matters(CopyRun& run, const CopyRequest& request) {
  if (request.inside.by != activities::MoveBy::kDma || request.inside.read.value_or(false)) return false;
  std::map<Executor, int> copies;
  std::map<int, std::set<Executor>> executors_of;  // by constraint
  for (const PlannedCopy& copy : run.plan.copies()) {
    if (!copy.inside) continue;
    const Executor executor{copy.node, copy.executor()};
    ++copies[executor];
    for (const Use& use : run.plan.problem().activities[at(copy.main)].uses)
      executors_of[use.constraint].insert(executor);
  }
  for (const auto& [constraint, executors] : executors_of)
    for (const Executor& executor : executors)
      if (executors.size() > 1 && copies[executor] > 1) return true;
  return false;
}

/// Each engine goes round its copies in the order of the request, from a random one on. The draw is our own, so that
/// every standard library gives the same orders.
Order rotated(const CopyPlan& plan, std::mt19937_64& random) {
  std::map<Executor, Order> copies_of;
  for (std::size_t i = 0; i < plan.copies().size(); ++i)
    copies_of[{plan.copies()[i].node, plan.copies()[i].executor()}].push_back(i);
  Order order;
  for (const auto& [executor, copies] : copies_of) {
    const std::size_t first = random() % copies.size();
    for (std::size_t k = 0; k < copies.size(); ++k) order.push_back(copies[(first + k) % copies.size()]);
  }
  return order;
}

/// Makespans of orders. Inside one node a copy becomes the same activities in every order, but for what it pays to be
/// first at an engine: few plans show them all.
class Makespans {
 public:
  /// @param plan  in the order of the request
  Makespans(const Cluster& machine, Solver& solver, const CopyRequest& request, CopyPlan& plan)
      : machine_(machine), solver_(solver), request_(request), host_(plan.copies().front().first) {
    for (const PlannedCopy& copy : plan.copies()) {
      one_node_ = one_node_ && copy.inside && copy.node == plan.copies().front().node;
      std::set<int> queues;
      for (int a = copy.first; a < copy.end; ++a)
        for (const int queue : plan.problem().activities[at(a)].queues) queues.insert(queue);
      queues_.emplace_back(queues.begin(), queues.end());
    }
    last_order_.assign(at(plan.problem().queue_count), 0);
    blocks_.resize(plan.copies().size());
    if (one_node_) problem_ = plan.problem();
  }

  double of(const Order& order) {
    const auto [known, fresh] = known_s_.try_emplace(order, 0);
    if (!fresh) return known->second;
    if (!one_node_) return known->second = run_in_order(machine_, solver_, request_, order).solution.makespan_s;
    if (!find_blocks(order)) {
      learn_blocks(order);
      find_blocks(order);
    }
    put_in(order);
    return known->second = solver_.run(problem_).makespan_s;
  }

 private:
  /// Activities of one copy, as they stood from `first` on in some plan.
  struct Block {
    int first = 0;
    std::vector<Activity> activities{};
  };
  struct Known {
    std::vector<char> used{};  ///< of its queues, whether before it
    Block block{};
  };

  /// Of each copy in this order. @returns whether all are known
  bool find_blocks(const Order& order) {
    ++orders_;
    found_.clear();
    bool all = true;
    for (const std::size_t i : order) {
      used_.clear();
      for (const int queue : queues_[i]) used_.push_back(std::exchange(last_order_[at(queue)], orders_) == orders_);
      std::deque<Known>& known = blocks_[i];
      auto same = std::find_if(known.begin(), known.end(), [this](const Known& one) { return one.used == used_; });
      if (same == known.end()) same = known.insert(known.end(), {used_, {}});
      found_.push_back(&same->block);
      all = all && !same->block.activities.empty();
    }
    return all;
  }

  void learn_blocks(const Order& order) {
    CopyPlan plan(machine_, request_, order);
    const std::vector<Activity>& planned = plan.problem().activities;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const PlannedCopy& copy = plan.copies()[order[k]];
      *found_[k] = {copy.first, {planned.begin() + copy.first, planned.begin() + copy.end}};
    }
  }

  /// Overwrites in place: nothing is allocated. The host's work, which stands before the copies, stays.
  void put_in(const Order& order) {
    int next = host_;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const int moved = next - found_[k]->first;
      for (const Activity& planned : found_[k]->activities) {
        Activity& activity = problem_.activities[at(next++)];
        activity = planned;
        for (int& before : activity.after)
          if (before >= host_) before += moved;
      }
    }
  }

  const Cluster& machine_;
  Solver& solver_;
  const CopyRequest& request_;
  int host_;  ///< activities of the host
  bool one_node_ = true;
  std::vector<std::vector<int>> queues_{};   ///< of each copy
  std::vector<std::deque<Known>> blocks_{};  ///< of each copy
  int orders_ = 0;                           ///< looked for
  std::vector<int> last_order_{};            ///< per queue: in which it was used
  std::vector<char> used_{};
  std::vector<Block*> found_{};  ///< in the order that was last looked for
  Problem problem_{};
  std::map<Order, double> known_s_{};
};

struct Draw {
  Order order;
  double makespan_s;
};

}  // namespace

CopyRuns run_copies(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  Order order(request.copies.size());
  std::iota(order.begin(), order.end(), 0);
  CopyRun first = run_in_order(machine, solver, request, order);
  const double makespan_s = first.solution.makespan_s;
  if (!request.together || !order_matters(first, request)) return {std::move(first), {makespan_s, makespan_s}};
  Makespans makespans(machine, solver, request, first.plan);
  std::mt19937_64 random(kSeed);
  std::vector<Draw> draws;
  for (int k = 0; k < kOrders; ++k) {
    Order drawn = rotated(first.plan, random);
    const double drawn_s = makespans.of(drawn);
    draws.push_back({std::move(drawn), drawn_s});
  }
  std::sort(draws.begin(), draws.end(), [](const Draw& a, const Draw& b) { return a.makespan_s < b.makespan_s; });
  const uncertainty::Interval middle{draws[kOrders / 20].makespan_s, draws[kOrders - 1 - kOrders / 20].makespan_s};
  return {run_in_order(machine, solver, request, draws[kOrders / 2].order), middle, kOrders};
}

}  // namespace linkcast::copy
