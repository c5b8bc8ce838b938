#pragma once
// A benchmark is one file: can_run(), points(), and how one point is run. It registers itself; nobody lists it.
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/bench/context.hpp"

namespace linkcast::bench {

using Json = nlohmann::ordered_json;

/// This point cannot be measured here; what() is the reason that goes into the record.
struct Waived : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Point {
  Json key;                   ///< identity: every field but the results; a resumed run skips keys it finds in the file
  std::string group;          ///< the file is written at the end of each group at the latest
  std::function<Json()> run;  ///< the result fields: time_s, verified, ... @throws Waived
};

struct BenchInfo {
  std::string name;     ///< also the end of the file name
  std::string summary;  ///< what it measures and what it leaves out, one line
  std::string timing;   ///< back_to_back or single
  int order = 0;        ///< place in a full run
  bool by_default = true;
  std::string schema = "measurement/1";
};

class Bench {
 public:
  virtual ~Bench() = default;
  /// Why this machine cannot run it, if so.
  virtual std::optional<std::string> can_run(const Context& context) const = 0;
  virtual std::vector<Point> points(Context& context) = 0;
  /// How it measures, for the record.
  virtual Json method(const Context& context) const = 0;
  /// After the last point: for a bench that also writes a file of its own.
  virtual void finish(Context&) {}
};

struct BenchEntry {
  BenchInfo info;
  std::function<std::unique_ptr<Bench>()> make;
};

/// All benches of this program, in order.
std::vector<BenchEntry> benches();
/// Registers a bench; a name may appear once.
bool add_bench(BenchInfo info, std::function<std::unique_ptr<Bench>()> make);

/// The result fields of one transfer or one group: time_s, verified and, if the lanes could not be held, held_start.
Json result_fields(const Samples& samples, bool verified);

/// 4 B to `largest` in powers of 4 with a few sizes between, or every fourth power in a quick run.
std::vector<std::size_t> copy_sizes(bool quick, std::size_t largest);

}  // namespace linkcast::bench
