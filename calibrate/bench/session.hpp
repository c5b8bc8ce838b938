#pragma once
// One run of the program: the chosen benches one after the other, each into its own file.
#include <string>
#include <vector>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/nvml.hpp"

namespace linkcast::bench {

struct BenchSummary {
  std::string bench;
  std::string file;
  std::string status;  ///< ok, waived
  int measured = 0, waived = 0, kept = 0, unverified = 0;
  double seconds = 0;
};

class Session {
 public:
  Session(Context& context, const Nvml& nvml) : context_(context), nvml_(nvml) {}
  /// @throws Interrupted  after the file is complete on disk
  BenchSummary run(const BenchEntry& entry);

 private:
  Json header(const BenchEntry& entry, const Bench& bench);

  Context& context_;
  const Nvml& nvml_;
};

std::string record_id(const Options& options, const BenchInfo& info);  ///< "<machine>-<occasion>-<bench>"
std::string record_path(const Options& options, const BenchInfo& info);

/// SIGINT or SIGTERM came; everything measured so far is in the files.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// From now on SIGINT and SIGTERM end the run after the point in work.
void catch_interrupts();

}  // namespace linkcast::bench
