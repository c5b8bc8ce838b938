#include "sim/replay/shared_plans.hpp"

#include <bit>
#include <utility>

namespace linkcast::replay {

std::size_t PlanKeyHash::operator()(const PlanKeyView& key) const {
  constexpr std::uint64_t kPrime = 1099511628211U;  // source: Fowler, Noll, Vo: FNV-1a, 64 bits
  constexpr int kFold = 32;                         // ours: its low bits see the high ones too
  std::uint64_t hash = static_cast<std::uint64_t>(key.op.kind) * 4 + (key.behind ? 2U : 0U) + (key.op.nvls ? 1U : 0U);
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word ^ (word >> kFold)) * kPrime; };
  add(std::bit_cast<std::uint64_t>(key.op.size_B));
  for (const int gpu : key.op.gpus) add(static_cast<std::uint64_t>(gpu));
  for (const char letter : key.op.op) add(static_cast<std::uint64_t>(letter));
  return hash ^ (hash >> kFold);
}

activities::Plan SharedPlans::take(const NetworkOp& op, bool behind, const std::function<activities::Plan()>& make) {
  if (networks_ < 2) return make();
  const auto found = plans_.find(PlanKeyView{op, behind});
  if (found == plans_.end()) {
    activities::Plan plan = make();
    return plans_.emplace(PlanKey{op, behind}, Planned{std::move(plan), networks_ - 1}).first->second.plan;
  }
  if (--found->second.left > 0) return found->second.plan;
  activities::Plan plan = std::move(found->second.plan);
  plans_.erase(found);
  return plan;
}

}  // namespace linkcast::replay
