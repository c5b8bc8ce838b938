// A rank with more streams than a machine word has bits.
#include "tests/support/catch.hpp"
#include "tests/support/replays.hpp"

namespace linkcast::test::replay_streams_test {

constexpr int kStreams = 100;

TEST_CASE("replay: a chain over a hundred streams takes the sum", "[replay]") {
  std::string lines;
  for (int i = 0; i < kStreams; ++i)
    lines += R"({"rank":0,"kind":"compute","time_s":1,"stream":"s)" + std::to_string(i) + R"(","id":)" +
             std::to_string(i + 1) + (i > 0 ? ",\"after\":[" + std::to_string(i) + "]" : "") + "}\n";
  CHECK_THAT(test::replay_text("", lines).makespan_s, WithinRel(double{kStreams}, kExact));
}

TEST_CASE("replay: a collective slows compute on each of a hundred streams", "[replay]") {
  constexpr double kSlowdown = 2;
  std::string lines;
  for (int rank = 0; rank < 2; ++rank)
    lines += "{\"rank\":" + std::to_string(rank) +
             R"(,"kind":"collective","op":"all_reduce","group":"all","size_B":1,"stream":"c"})"
             "\n";
  for (int i = 0; i < kStreams; ++i)
    lines += R"({"rank":0,"kind":"compute","time_s":1,"stream":"s)" + std::to_string(i) + "\"}\n";
  // The collective takes a second; half of each second's work is done beside it.
  const test::Replayed replayed = test::replay_text(R"("slowdown":2)", lines);
  CHECK_THAT(replayed.ranks.at(0).compute_s, WithinRel(1 + (1 - 1 / kSlowdown), kExact));
  CHECK_THAT(replayed.makespan_s, WithinRel(1 + (1 - 1 / kSlowdown), kExact));
}

}  // namespace linkcast::test::replay_streams_test
