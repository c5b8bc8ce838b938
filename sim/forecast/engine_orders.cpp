#include "sim/forecast/engine_orders.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/sort_near.hpp"

namespace linkcast::copy {
namespace {

// Orders tried where the hardware picks one: odd, so that the median is one of them. source: ours; 5 % and 95 % of 41
// runs are the third smallest and largest
constexpr int kOrders = 41;
constexpr std::uint64_t kSeed = 1;

using Order = std::vector<std::size_t>;   ///< numbers of copies
using Firsts = std::vector<std::size_t>;  ///< per engine: which of its copies is first

CopyRun run_in_order(const Cluster& machine, Solver& solver, const CopyRequest& request, const Order& order) {
  CopyRun run{CopyPlan(machine, request, order), {}};
  run.solution = solver.run(run.plan.problem());
  return run;
}

/// Who takes turns at which copy engine. Each engine goes round its copies in the order of the request.
class Engines {
 public:
  explicit Engines(const CopyPlan& plan) {
    std::map<std::pair<int, int>, std::size_t> number;  // of node and device
    for (const PlannedCopy& copy : plan.copies()) number[{copy.node, copy.executor()}] = 0;
    for (auto& [executor, engine] : number) engine = std::exchange(engines_, engines_ + 1);
    copies_.resize(engines_);
    for (std::size_t i = 0; i < plan.copies().size(); ++i) {
      const std::size_t engine = number[{plan.copies()[i].node, plan.copies()[i].executor()}];
      copies_[engine].push_back(i);
      engine_of_.push_back(engine);
    }
  }

  [[nodiscard]] std::size_t engine_of(std::size_t copy) const { return engine_of_[copy]; }
  [[nodiscard]] bool several_copies(std::size_t engine) const { return copies_[engine].size() > 1; }

  /// Each begins with a random copy. The draw is our own, so that every standard library gives the same orders.
  Firsts draw(std::mt19937_64& random) const {
    Firsts firsts(engines_);
    for (std::size_t e = 0; e < engines_; ++e) firsts[e] = random() % copies_[e].size();
    return firsts;
  }
  /// Of each engine the copy that is first where firsts are n, if it has so many; for n = 1 the request's first behind.
  [[nodiscard]] Order each(std::size_t n) const {
    Order copies;
    for (const Order& of_engine : copies_) {
      if (n >= of_engine.size()) continue;
      copies.push_back(of_engine[n]);
      if (n == 1) copies.push_back(of_engine.front());
    }
    return copies;
  }
  [[nodiscard]] Order order(const Firsts& firsts) const {
    Order order;
    order.reserve(engine_of_.size());
    for (std::size_t e = 0; e < engines_; ++e) {
      const auto first = copies_[e].begin() + static_cast<std::ptrdiff_t>(firsts[e]);
      order.insert(order.end(), first, copies_[e].end());
      order.insert(order.end(), copies_[e].begin(), first);
    }
    return order;
  }

 private:
  std::size_t engines_ = 0;
  std::vector<Order> copies_{};  ///< per engine
  std::vector<std::size_t> engine_of_{};
};

/// True if a copy engine has several pushed copies to choose from, and some of them meet other engines' copies.
bool order_matters(CopyRun& run, const CopyRequest& request, const Engines& engines) {
  if (request.inside.by != activities::MoveBy::kDma || request.inside.read.value_or(false)) return false;
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  struct Met {  // at a constraint
    std::size_t first = kNobody;
    bool others = false, choice = false;
  };
  const Problem& problem = run.plan.problem();
  std::vector<Met> constraints(problem.capacity_Bps.size());
  for (std::size_t i = 0; i < run.plan.copies().size(); ++i) {
    const PlannedCopy& copy = run.plan.copies()[i];
    if (!copy.inside) continue;
    const std::size_t engine = engines.engine_of(i);
    for (const Use& use : problem.activities[at(copy.main)].uses) {
      Met& met = constraints[at(use.constraint)];
      if (met.first == kNobody) met.first = engine;
      met.others = met.others || met.first != engine;
      met.choice = met.choice || engines.several_copies(engine);
      if (met.others && met.choice) return true;
    }
  }
  return false;
}

/// Runs of orders. Inside one node a copy becomes the same activities in every order, but for what it pays to be first
/// at an engine: few plans show them all.
class OrderRuns {
 public:
  /// @param plan  in the order of the request
  OrderRuns(const Cluster& machine, Solver& solver, const CopyRequest& request, const Engines& engines, CopyPlan& plan)
      : machine_(machine), solver_(solver), request_(request), engines_(engines), host_(plan.copies().front().first) {
    for (const PlannedCopy& copy : plan.copies()) {
      one_node_ = one_node_ && copy.inside && copy.node == plan.copies().front().node;
      std::vector<int>& queues = queues_.emplace_back();
      for (int a = copy.first; a < copy.end; ++a)
        for (const int queue : plan.problem().activities[at(a)].queues) queues.push_back(queue);
      std::sort(queues.begin(), queues.end());
      queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
      blocks_.emplace_back(std::size_t{1} << queues.size());
    }
    last_order_.assign(at(plan.problem().queue_count), 0);
    if (!one_node_) return;
    take_used(plan.problem());
    Order order(plan.copies().size());
    std::iota(order.begin(), order.end(), 0);
    learn_blocks(order, plan);
    put_in();
  }

  const Solution& of(const Firsts& firsts) {
    const auto [known, fresh] = known_.try_emplace(firsts);
    if (!fresh) return known->second;
    const Order order = engines_.order(firsts);
    if (!one_node_) return known->second = run_in_order(machine_, solver_, request_, order).solution;
    for (bool itself = false; !find_blocks(order);) {
      if (itself) throw InvariantError("a copy has no activities in its own order");
      const Order alone = engines_.each(firsts_learnt_++);
      itself = alone.empty();
      const Order& learnt = itself ? order : alone;
      CopyPlan plan(machine_, request_, learnt);
      learn_blocks(learnt, plan);
    }
    put_in();
    return known->second = solver_.run(problem_);
  }

  /// A solution as the plan numbers constraints.
  [[nodiscard]] Solution in_plan(Solution solution) const {
    if (!one_node_) return solution;
    for (int& limit : solution.limited_by)
      if (limit != kOwnCap) limit = used_constraints_[at(limit)];
    std::vector<double> carried_B(number_.size(), 0);
    for (std::size_t c = 0; c < used_constraints_.size(); ++c)
      carried_B[at(used_constraints_[c])] = solution.carried_B[c];
    solution.carried_B = std::move(carried_B);
    return solution;
  }

 private:
  /// Activities of one copy, as they stood from `first` on in some plan.
  struct Block {
    int first = 0;
    std::vector<Activity> activities{};
  };
  struct Placed {
    const Block* block = nullptr;
    int first = 0;  ///< place in the problem
  };

  /// The problem with those constraints alone that are in use, in their order: it is run many times.
  void take_used(const Problem& planned) {
    number_.assign(planned.capacity_Bps.size(), kUnused);
    for (const Activity& activity : planned.activities)
      for (const Use& use : activity.uses) number_[at(use.constraint)] = 0;
    for (std::size_t c = 0; c < number_.size(); ++c) {
      if (number_[c] == kUnused) continue;
      number_[c] = static_cast<int>(used_constraints_.size());
      used_constraints_.push_back(static_cast<int>(c));
      problem_.capacity_Bps.push_back(planned.capacity_Bps[c]);
    }
    problem_.queue_count = planned.queue_count;
    problem_.activities = planned.activities;
  }

  /// Of each copy in this order. @returns whether all are known
  bool find_blocks(const Order& order) {
    ++orders_;
    found_.clear();
    bool all = true;
    for (const std::size_t i : order) {
      std::size_t used = 0;
      for (const int queue : queues_[i])
        used = 2 * used + (std::exchange(last_order_[at(queue)], orders_) == orders_ ? 1 : 0);
      found_.push_back(&blocks_[i][used]);
      all = all && !found_.back()->activities.empty();
    }
    return all;
  }

  /// @param plan  in this order
  void learn_blocks(const Order& order, CopyPlan& plan) {
    if (find_blocks(order)) return;
    const std::vector<Activity>& planned = plan.problem().activities;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const PlannedCopy& copy = plan.copies()[order[k]];
      if (!found_[k]->activities.empty()) continue;
      *found_[k] = {copy.first, {planned.begin() + copy.first, planned.begin() + copy.end}};
      for (Activity& activity : found_[k]->activities)
        for (Use& use : activity.uses) {
          use.constraint = number_[at(use.constraint)];
          if (use.constraint == kUnused) throw InvariantError("a copy takes other links in another order");
        }
    }
  }

  /// Overwrites in place what differs: nothing is allocated. The host's work, which stands before the copies, stays.
  void put_in() {
    placed_.resize(found_.size());
    int next = host_;
    for (std::size_t k = 0; k < found_.size(); ++k) {
      const Block& block = *found_[k];
      const int first = std::exchange(next, next + static_cast<int>(block.activities.size()));
      if (placed_[k].block == &block && placed_[k].first == first) continue;
      placed_[k] = {&block, first};
      for (std::size_t a = 0; a < block.activities.size(); ++a) {
        Activity& activity = problem_.activities[at(first) + a];
        activity = block.activities[a];
        for (int& before : activity.after)
          if (before >= host_) before += first - block.first;
      }
    }
  }

  static constexpr int kUnused = -1;

  const Cluster& machine_;
  Solver& solver_;
  const CopyRequest& request_;
  const Engines& engines_;
  int host_;  ///< activities of the host
  bool one_node_ = true;
  std::vector<std::vector<int>> queues_{};    ///< of each copy
  std::vector<std::vector<Block>> blocks_{};  ///< of each copy, by which of its queues were used before it, a bit each
  std::vector<int> number_{};                 ///< per constraint of a plan: that of the problem
  std::vector<int> used_constraints_{};       ///< the other way round
  std::size_t firsts_learnt_ = 1;             ///< the first copies are first in the order of the request
  int orders_ = 0;                            ///< looked for
  std::vector<int> last_order_{};             ///< per queue: in which it was used
  std::vector<Block*> found_{};               ///< in the order that was last looked for
  std::vector<Placed> placed_{};              ///< in the problem
  Problem problem_{};
  std::map<Firsts, Solution> known_{};
};

struct Draw {
  Firsts firsts;
  const Solution* solution = nullptr;
};

}  // namespace

CopyRuns run_copies(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  Order order(request.copies.size());
  std::iota(order.begin(), order.end(), 0);
  CopyRun first = run_in_order(machine, solver, request, order);
  const double makespan_s = first.solution.makespan_s;
  if (!request.together) return {std::move(first), {makespan_s, makespan_s}};
  const Engines engines(first.plan);
  if (!order_matters(first, request, engines)) return {std::move(first), {makespan_s, makespan_s}};
  OrderRuns runs(machine, solver, request, engines, first.plan);
  std::mt19937_64 random(kSeed);
  std::vector<Draw> draws;
  for (int k = 0; k < kOrders; ++k) {
    Firsts drawn = engines.draw(random);
    const Solution& solution = runs.of(drawn);
    draws.push_back({std::move(drawn), &solution});
  }
  std::sort(draws.begin(), draws.end(), [](const Draw& a, const Draw& b) { return a.firsts < b.firsts; });
  sort_near(draws, [](const Draw& draw) { return draw.solution->makespan_s; });
  const Draw& median = draws[kOrders / 2];
  const uncertainty::Interval middle{draws[kOrders / 20].solution->makespan_s,
                                     draws[kOrders - 1 - kOrders / 20].solution->makespan_s};
  return {{CopyPlan(machine, request, engines.order(median.firsts)), runs.in_plan(*median.solution)}, middle, kOrders};
}

}  // namespace linkcast::copy
