#include "sim/base/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sim/base/input_error.hpp"

namespace linkcast::work {
std::string to_text(const Estimate& estimate) {
  return fmt::format("{}: {} {:.2g} {}, {} of memory and {}", estimate.what, estimate.at_least ? "at least" : "about",
                     estimate.items, estimate.unit, memory_text(estimate.memory_B), duration_text(estimate.time_s));
}

void expect(const Estimate& estimate) {
  look();
  const Limits& most = limits();
  if (estimate.memory_B > most.memory_B || estimate.time_s > most.time_s)
    throw InputError(to_text(estimate) + ", more than the limit of " + limit_text(most) +
                     ": ask for less, or raise it by max_memory and max_time (" + kMemoryVariable + ", " +
                     kTimeVariable + ")");
  const Scope* scope = Scope::current();
  if (scope != nullptr && estimate.time_s > scope->left_s())
    throw InputError(to_text(estimate) + ", more than the " + duration_text(std::max(0.0, scope->left_s())) +
                     " left for this request");
}

double thread_time_s() {
  constexpr double kNano = 1e-9;  // source: definition
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

void Rounds::judge(std::int64_t so_far) {
  constexpr double kPace_s = 1;  // ours: below that, no pace is sure, and nobody has waited
  if (total_ == 0) return;
  const double spent_s = thread_time_s() - start_s_;
  if (spent_s < kPace_s || so_far <= 0) return;
  judged_ = true;
  if (total_ <= so_far) return;
  const double share = static_cast<double>(total_) / static_cast<double>(so_far);
  expect({what_, static_cast<double>(total_), unit_, memory_in_use_B(), spent_s * share});
}

void Rounds::judge_so_far(std::int64_t so_far) {
  const double spent_s = thread_time_s() - start_s_;
  if (spent_s > limits().time_s) expect({what_, static_cast<double>(so_far), unit_, memory_in_use_B(), spent_s, true});
}

}  // namespace linkcast::work
