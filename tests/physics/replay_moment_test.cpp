// Timers and ends of transfers in one moment: none of them may be the last that a replay handles.
#include <limits>

#include "sim/base/input_error.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

namespace {

/// Its only event is a rounding error in the past, as of a part whose clock is behind.
class Backwards final : public EventSource {
 public:
  [[nodiscard]] double now_s() const override { return 1; }
  double next_event_s() override { return ended_ ? std::numeric_limits<double>::infinity() : 1 - 0x1p-50; }
  void advance() override { ended_ = true; }

 private:
  bool ended_ = false;
};

}  // namespace

TEST_CASE("replay: collectives of nothing that begin with other timers of a moment end", "[replay]") {
  const std::string platform = GENERATE("gx8", "summitdev", "leonardo", "hgx-h200");
  CAPTURE(platform);
  replay::ReplayRequest request{test::catalogue().machine(platform),
                                {{test::data_dir() + "/tests/input/traces/same-moment.jsonl"}}};
  request.interval = false;
  const Json result = replay::to_json(replay::replay(test::catalogue(), request));
  CHECK(result["events"] == 9);
  // Rank 0 computes 5 ms twice, with a collective of nothing between.
  CHECK(result["makespan_s"].get<double>() > 0.010);
  CHECK(result["makespan_s"].get<double>() < 0.0102);
}

TEST_CASE("engine: an event before the clock of its source is no silent end of the run", "[engine]") {
  Backwards source;
  CHECK_THROWS_AS(run_events(source), InvariantError);
}
