#include "sim/copy/engine_orders.hpp"

#include <algorithm>
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

}  // namespace

CopyRuns run_copies(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  Order order(request.copies.size());
  std::iota(order.begin(), order.end(), 0);
  CopyRun first = run_in_order(machine, solver, request, order);
  const double makespan_s = first.solution.makespan_s;
  if (!request.together || !order_matters(first, request)) return {std::move(first), {makespan_s, makespan_s}};
  std::mt19937_64 random(kSeed);
  std::vector<CopyRun> runs;
  for (int k = 0; k < kOrders; ++k) runs.push_back(run_in_order(machine, solver, request, rotated(first.plan, random)));
  std::sort(runs.begin(), runs.end(),
            [](const CopyRun& a, const CopyRun& b) { return a.solution.makespan_s < b.solution.makespan_s; });
  const uncertainty::Interval middle{runs[kOrders / 20].solution.makespan_s,
                                     runs[kOrders - 1 - kOrders / 20].solution.makespan_s};
  return {std::move(runs[kOrders / 2]), middle, kOrders};
}

}  // namespace linkcast::copy
