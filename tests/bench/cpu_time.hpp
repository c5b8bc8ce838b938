#pragma once
#include <sys/resource.h>

#include <cstddef>
#include <string>

namespace linkcast::bench {

/// CPU seconds of this process until now, those of children that have ended included. What else the machine does
/// changes it far less than the time on the wall.
inline double cpu_s() {
  double sum_s = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      sum_s += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);  // source: timeval is in us
  }
  return sum_s;
}

/// Whether the argument of the program at `position` is not there or is how the name of the case begins.
inline bool wanted(int argc, char** argv, int position, const std::string& name) {
  return argc <= position || name.starts_with(argv[position]);
}

struct Timed {
  std::size_t runs = 0;
  double run_s = 0;  ///< CPU time of one
};

/// Calls `run` with 0, 1, 2, ... for at least `limit_s`, or `fixed` times if that is 0: then two builds do the same
/// work and their instructions can be compared. The clock is read seldom: it costs as much as a small run.
template <class Run>
Timed timed(double limit_s, std::size_t fixed, const Run& run) {
  const double start_s = cpu_s();
  Timed done;
  double spent_s = 0;
  std::size_t target = limit_s > 0 ? 1 : fixed;
  do {
    while (done.runs < target) run(done.runs++);
    spent_s = cpu_s() - start_s;
    target *= 2;
  } while (spent_s < limit_s);
  done.run_s = spent_s / static_cast<double>(done.runs);
  return done;
}

}  // namespace linkcast::bench
