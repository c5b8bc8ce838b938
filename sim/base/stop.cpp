#include "sim/base/stop.hpp"

#include <unistd.h>

#include <cstdio>
#include <limits>
#include <utility>

#include "sim/base/limits.hpp"

namespace linkcast::work {

double memory_in_use_B() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long all = 0, resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &all, &resident);
  static_cast<void>(std::fclose(file));
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

Scope::Scope(const StopFlag& flag, Clock::time_point deadline)
    : flag_(flag), deadline_(deadline), outer_(std::exchange(current_, this)) {}

Scope::~Scope() { current_ = outer_; }

double Scope::left_s() const {
  if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline_ - Clock::now()).count();
}

void Scope::look_at_end() const {
  if (const Why why = flag_.why(); why != Why::kGoesOn) throw Stopped{why};
  if (Clock::now() >= deadline_) throw Stopped{Why::kDeadline};
}

void Scope::look_closely() {
  look_at_end();
  const auto now = Clock::now();
  if (now < next_memory_) return;
  constexpr std::chrono::milliseconds kMemory{50};  // ours: reading /proc takes some 10 us
  next_memory_ = now + kMemory;
  refuse_memory_in_use(memory_in_use_B());
}

}  // namespace linkcast::work
