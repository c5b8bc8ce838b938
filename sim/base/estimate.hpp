#pragma once
// What a request will cost, known before the work begins, and what it may cost.
#include <cstdint>
#include <string>
#include <utility>

#include "sim/base/limits.hpp"
#include "sim/base/stop.hpp"

namespace linkcast::work {

/// What is about to begin.
struct Estimate {
  std::string what;  ///< "replay"
  double items = 0;  ///< what is counted, e.g. events
  std::string unit{};
  double memory_B = 0, time_s = 0;
  bool at_least = false;  ///< counting ended where it was too much already
};

/// "replay: about 2e+08 events, 60 GiB of memory and 31 min"
std::string to_text(const Estimate& estimate);

/// Said before work that can be long. Under a Scope with a deadline, what is left until it counts too.
/// @throws InputError  more than Limits allow: the estimate, and what lifts the limit
void expect(const Estimate& estimate);

/// What this thread has worked.
double thread_time_s();

/// Goes round so many times over alike pieces of work: their pace says after a second what all will take. Seconds are
/// those of the thread's own work, so that a busy machine refuses nothing that a free one does not.
class Rounds {
 public:
  /// @param what  "noise". @param unit  "samples". @param total  0: not known: it ends where it has taken too long
  Rounds(std::string what, std::string unit, std::int64_t total)
      : what_(std::move(what)), unit_(std::move(unit)), total_(total) {}
  /// After each piece. @throws Stopped, InputError  as look() and expect()
  void done(std::int64_t so_far) {
    look();
    if (!judged_) judge(so_far);
    if (total_ == 0 && ++unjudged_ % kOften == 0) judge_so_far(so_far);
  }

 private:
  static constexpr std::int64_t kOften = 1024;  // ours: a look at the thread's clock takes half a microsecond
  void judge(std::int64_t so_far);
  void judge_so_far(std::int64_t so_far);

  std::string what_, unit_;
  std::int64_t total_, unjudged_ = 0;
  double start_s_ = thread_time_s();
  bool judged_ = false;
};

}  // namespace linkcast::work
