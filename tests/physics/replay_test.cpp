// Replays against times worked out by hand. On the made-up network an operation of n bytes takes n seconds.
#include <limits>
#include <numeric>

#include "sim/query/query.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/replays.hpp"
#include "tests/support/unlearned.hpp"
#include "tests/support/with_limits.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_test {

namespace {

std::string compute(int rank, double time_s, const std::string& more = "") {
  return R"({"rank":)" + std::to_string(rank) + R"(,"kind":"compute","time_s":)" + std::to_string(time_s) + more +
         "}\n";
}
std::string collective(int rank, const std::string& size_B, const std::string& more = "") {
  return R"({"rank":)" + std::to_string(rank) +
         R"(,"kind":"collective","stream":"c","op":"all_reduce","group":"all","size_B":)" + size_B + more + "}\n";
}
std::string message(int rank, const std::string& kind, double size_B, const std::string& more = "") {
  return R"({"rank":)" + std::to_string(rank) + R"(,"kind":")" + kind + R"(","stream":"m","peer":)" +
         std::to_string(1 - rank) + R"(,"size_B":)" + std::to_string(size_B) + more + "}\n";
}
std::string sync(int rank, const std::string& more = "") {
  return R"({"rank":)" + std::to_string(rank) + R"(,"kind":"sync")" + more + "}\n";
}
std::string step(int rank) { return R"({"rank":)" + std::to_string(rank) + R"(,"kind":"step"})" + "\n"; }

double sum(const replay::CriticalPath& path) { return std::accumulate(path.seconds.begin(), path.seconds.end(), 0.0); }

}  // namespace

TEST_CASE("replay: events of a stream follow each other, streams run side by side", "[replay]") {
  const auto one = replay_text("", compute(0, 2) + compute(0, 3));
  CHECK_THAT(one.makespan_s, WithinRel(5, kExact));
  CHECK_THAT(one.ranks[0].compute_s, WithinRel(5, kExact));
  const auto two = replay_text("", compute(0, 2) + compute(0, 3, R"(,"stream":"1")"));
  CHECK_THAT(two.makespan_s, WithinRel(3, kExact));
  const auto after = replay_text("", compute(0, 2, R"(,"id":1)") + compute(0, 3, R"(,"stream":"1","after":[1])"));
  CHECK_THAT(after.makespan_s, WithinRel(5, kExact));
  CHECK_THAT(after.path.seconds[replay::CriticalPath::kCompute], WithinRel(5, kExact));
}

TEST_CASE("replay: launch, gap and host time", "[replay]") {
  // Launched at 1, on the GPU at 1.5, ends 3.5; the second waits for the gap, ends 3.5 + 0.25 + 3.
  const auto run = replay_text(R"("launch_s":0.5,"gap_s":0.25)", compute(0, 2, R"(,"host_s":1)") + compute(0, 3));
  CHECK_THAT(run.makespan_s, WithinRel(6.75, kExact));
  CHECK_THAT(run.path.seconds[replay::CriticalPath::kHost], WithinRel(1, kExact));
  CHECK_THAT(run.path.seconds[replay::CriticalPath::kLaunch], WithinRel(0.75, kExact));
  CHECK_THAT(sum(run.path), WithinRel(run.makespan_s, kExact));
  const auto scaled = replay_text(R"("host_scale":0.5)", compute(0, 2, R"(,"host_s":1)"));
  CHECK_THAT(scaled.makespan_s, WithinRel(2.5, kExact));
}

TEST_CASE("replay: the end of an unrelated event does not put a start off", "[replay]") {
  // Event 9 waits for event 1 alone (ends 1, and 1 + gap is 2); events of stream b end at 1.5 and later.
  const auto run =
      replay_text(R"("gap_s":1)", compute(0, 1, R"(,"id":1)") + compute(0, 1.5, R"(,"stream":"b","id":2)") +
                                      compute(0, 4, R"(,"stream":"x","id":9,"after":[1])"));
  CHECK_THAT(run.makespan_s, WithinRel(6, kExact));
}

TEST_CASE("replay: a sync holds the CPU until streams are empty, or until some ids have ended", "[replay]") {
  const std::string two = compute(0, 2, R"(,"id":1)") + compute(0, 5, R"(,"stream":"1","id":2)");
  const std::string last = compute(0, 1, R"(,"stream":"2","host_s":1)");
  CHECK_THAT(replay_text("", two + sync(0) + last).makespan_s, WithinRel(7, kExact));
  const auto some = replay_text("", two + sync(0, R"(,"after":[1])") + compute(0, 4, R"(,"stream":"2","host_s":1)"));
  CHECK_THAT(some.makespan_s, WithinRel(7, kExact));  // 2 + 1 + 4
  const auto stream = replay_text("", two + sync(0, R"(,"stream":"0")") + compute(0, 4, R"(,"stream":"2","host_s":1)"));
  CHECK_THAT(stream.makespan_s, WithinRel(7, kExact));
  CHECK_THAT(sum(stream.path), WithinRel(7, kExact));
}

TEST_CASE("replay: a collective starts when its last rank comes", "[replay]") {
  const auto run = replay_text("", compute(0, 1, R"(,"id":1)") + collective(0, "4", R"(,"after":[1])") +
                                       compute(1, 3, R"(,"id":1)") + collective(1, "4", R"(,"after":[1])"));
  CHECK_THAT(run.makespan_s, WithinRel(7, kExact));
  CHECK_THAT(run.ranks[0].waiting_s, WithinRel(2, kExact));
  CHECK_THAT(run.ranks[0].communication_s, WithinRel(6, kExact));
  CHECK_THAT(run.ranks[0].exposed_s, WithinRel(6, kExact));
  CHECK(run.ranks[1].waiting_s == 0);
  CHECK_THAT(run.path.seconds[replay::CriticalPath::kNetwork], WithinRel(4, kExact));
  CHECK_THAT(sum(run.path), WithinRel(7, kExact));
}

TEST_CASE("replay: compute beside a collective is slower", "[replay]") {
  // 4 s of collective do 2 s of the work, 3 s are left.
  const std::string lines = collective(0, "4") + collective(1, "4") + compute(0, 5);
  const auto run = replay_text(R"("slowdown":2)", lines);
  CHECK_THAT(run.makespan_s, WithinRel(7, kExact));
  CHECK(run.ranks[0].exposed_s == 0);
  CHECK_THAT(run.ranks[1].exposed_s, WithinRel(4, kExact));
  const auto own =
      replay_text(R"("slowdown":2)", collective(0, "4") + collective(1, "4") + compute(0, 5, R"(,"slowdown":4)"));
  CHECK_THAT(own.makespan_s, WithinRel(8, kExact));
}

TEST_CASE("replay: a collective beside compute is slower", "[replay]") {
  const std::string calls = collective(0, "4") + collective(1, "4");
  // All 4 s of its network time are beside compute that goes on.
  CHECK_THAT(replay_text(R"("collective_slowdown":1.25)", calls + compute(0, 10)).ranks[1].exposed_s,
             WithinRel(5, kExact));
  // 2 s beside compute did 1 s of its work, which ends after the 2 s that were alone.
  CHECK_THAT(replay_text(R"("collective_slowdown":2)", calls + compute(1, 2)).makespan_s, WithinRel(5, kExact));
  // The rank that computes longest sets the pace, and streams of one rank compute at the same time.
  CHECK_THAT(replay_text(R"("collective_slowdown":2)",
                         calls + compute(0, 1) + compute(1, 2) + compute(1, 1, R"(,"stream":"1")"))
                 .makespan_s,
             WithinRel(5, kExact));
  CHECK_THAT(replay_text(R"("collective_slowdown":2)", calls).makespan_s, WithinRel(4, kExact));
}

TEST_CASE("replay: eager messages leave at once, others wait for the receive", "[replay]") {
  const std::string receives = compute(1, 5, R"(,"id":1)") + message(1, "recv", 2, R"(,"after":[1])");
  const auto rendezvous = replay_text("", message(0, "send", 2) + receives);
  CHECK_THAT(rendezvous.makespan_s, WithinRel(7, kExact));
  CHECK_THAT(rendezvous.ranks[0].waiting_s, WithinRel(5, kExact));
  const auto eager = replay_text(R"("eager_B":2)", message(0, "send", 2) + receives);
  CHECK_THAT(eager.makespan_s, WithinRel(5, kExact));
  CHECK_THAT(eager.ranks[0].communication_s, WithinRel(2, kExact));
  CHECK(eager.ranks[1].waiting_s == 0);
  // Comes while the message is under way: it moves, nobody waits, and what mattered was the sender.
  const auto under_way =
      replay_text(R"("eager_B":9)", compute(0, 1, R"(,"id":1)") + message(0, "send", 6, R"(,"after":[1])") +
                                        message(1, "recv", 6, R"(,"host_s":3)"));
  CHECK_THAT(under_way.makespan_s, WithinRel(7, kExact));
  CHECK(under_way.ranks[1].waiting_s == 0);
  CHECK_THAT(under_way.path.seconds[replay::CriticalPath::kNetwork], WithinRel(6, kExact));
  CHECK_THAT(under_way.path.seconds[replay::CriticalPath::kCompute], WithinRel(1, kExact));
  // As large as it was sent, whoever comes first: a receive says what there is room for.
  for (const std::string more : {"", R"("eager_B":9)"})
    for (const int late : {0, 1})
      CHECK_THAT(
          replay_text(more, compute(late, 1, R"(,"id":1)") + message(0, "send", 4, late == 0 ? R"(,"after":[1])" : "") +
                                message(1, "recv", 10, late == 1 ? R"(,"after":[1])" : ""))
              .makespan_s,
          WithinRel(late == 1 && !more.empty() ? 4 : 5, kExact));
}

TEST_CASE("replay: a hundred thousand messages that are there already do not exhaust the stack", "[replay]") {
  std::string lines;
  for (int i = 0; i < 100000; ++i) lines += message(0, "send", 1e-6);
  lines += message(1, "recv", 1e-6, R"(,"host_s":1)");
  for (int i = 1; i < 100000; ++i) lines += message(1, "recv", 1e-6);
  CHECK_THAT(replay_text(R"("eager_B":1)", lines).makespan_s, WithinRel(1, 1e-6));
}

TEST_CASE("replay: steps are from marker to marker", "[replay]") {
  const auto run = replay_text("", compute(0, 2) + sync(0) + step(0) + compute(0, 3) + sync(0) + step(0));
  REQUIRE(run.steps_s.size() == 2);
  CHECK_THAT(run.steps_s[0], WithinRel(2, kExact));
  CHECK_THAT(run.steps_s[1], WithinRel(3, kExact));
}

TEST_CASE("replay: at most 1024 launches are pending, and the path says what the CPU waited for", "[replay]") {
  std::string lines;
  for (int i = 0; i < 1024; ++i) lines += compute(0, 1);
  lines += compute(0, 10, R"(,"stream":"1")");  // launched when the first has ended
  lines += sync(0, R"(,"stream":"1")") + compute(0, 2000, R"(,"stream":"2")");
  const auto run = replay_text("", lines);
  CHECK_THAT(run.makespan_s, WithinRel(2011, kExact));
  CHECK_THAT(sum(run.path), WithinRel(2011, kExact));
}

TEST_CASE("replay: ranks that never meet and calls that differ are errors of one line", "[replay]") {
  CHECK(error_of([] { replay_text("", collective(0, "4")); }) ==
        "t: rank 0 waits for ever, in a collective all_reduce of group 'all' that others never join");
  CHECK(error_of([] { replay_text("", message(0, "send", 1) + collective(1, "4")); }) ==
        "t: rank 0 waits for ever, in a send of rank 1 that others never join");
  CHECK(error_of([] { replay_text("", collective(0, "4") + collective(1, "8")); }) ==
        "t: group 'all': rank 1 calls all_reduce of 8 B where rank 0 calls all_reduce of 4 B");
  CHECK(error_of([] {
          replay_text("", message(0, "send", 2) + message(1, "recv", 1));
        }).find("rank 0 sends 2 B to rank 1, which has room for 1 B") != std::string::npos);
  CHECK(error_of([] { replay_text(R"("eager_B":1)", message(0, "send", 1)); }) ==
        "t: a message of 1 B from GPU 0 to GPU 1 is sent and never received");
}

TEST_CASE("replay: on more ranks each does what recorded rank r modulo their number did", "[replay]") {
  const std::string lines =
      compute(0, 1) + compute(1, 2, R"(,"id":1)") + collective(0, "4") + collective(1, "4", R"(,"after":[1])");
  const auto run = replay_text("", lines, 6);
  REQUIRE(run.ranks.size() == 6);
  CHECK_THAT(run.makespan_s, WithinRel(6, kExact));
  for (const std::size_t rank : {1U, 3U, 5U}) CHECK_THAT(run.ranks[rank].compute_s, WithinRel(2, kExact));
  CHECK(error_of([] {
          replay_text("", message(0, "send", 1) + message(1, "recv", 1), 4);
        }).find("only traces of collectives over all ranks can be replayed on another number") != std::string::npos);
}

TEST_CASE("replay: on more ranks as many times the events are expected", "[replay]") {
  constexpr int kCalls = 500;
  std::string text = R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","groups":{"all":[0,1]}})"
                     "\n";
  for (int call = 0; call < kCalls; ++call) text += collective(0, "4") + collective(1, "4");
  const WithLimits nothing({std::numeric_limits<double>::infinity(), 0});  // whatever it would take is said
  for (const int ranks : {2, 6, 8}) {
    replay::ReplayRequest request;
    request.machine = catalogue().machine("hgx-h200");
    request.parts = {{"t", {}, ranks}};
    request.parts.front().text = std::make_shared<const std::string>(text);
    const std::string said = error_of([&] { return replay::replay(catalogue(), request); });
    CHECK(said.find("replay: about " + std::to_string(kCalls * ranks / 1000) + "e+03 events") == 0);
  }
}

TEST_CASE("replay: one collective takes what its forecast says, and its links carry as much", "[replay]") {
  const ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  const auto write = [&](int times) {
    std::ofstream out(file);
    out << R"({"schema":"trace/1","name":"t","ranks":4,"source":"test","groups":{"all":[0,1,2,3]}})" << '\n';
    for (int i = 0; i < times; ++i)
      for (int rank = 0; rank < 4; ++rank) out << collective(rank, "16777216");
  };
  for (const std::string platform : {"p100-dgx1", "hgx-h200", "gx8"}) {
    INFO(platform);
    const Json query{{"kind", "collective"},
                     {"launch", "graph"},
                     {"platform", platform},
                     {"op", "all_reduce"},
                     {"gpus", {0, 1, 2, 3}},
                     {"size_B", 16777216},
                     {"calls", 1}};
    const double alone_s = query::answer_or_throw(test::catalogue(), query, "test")["time_s"].get<double>();
    write(1);
    const Json once =
        replay::to_json(replay::replay(test::catalogue(), {test::catalogue().machine(platform), {{file}}}));
    CHECK_THAT(once["makespan_s"].get<double>(), WithinRel(alone_s, kExact));
    write(3);
    const Json thrice =
        replay::to_json(replay::replay(test::catalogue(), {test::catalogue().machine(platform), {{file}}}));
    CHECK_THAT(thrice["makespan_s"].get<double>(), WithinRel(3 * alone_s, kExact));
    REQUIRE(thrice["links"].size() == once["links"].size());
    for (std::size_t i = 0; i < once["links"].size(); ++i)
      CHECK_THAT(thrice["links"][i]["carried_B"].get<double>(),
                 WithinRel(3 * once["links"][i]["carried_B"].get<double>(), kExact));
  }
}

TEST_CASE("replay: two jobs that share their narrowest link get half of it each", "[replay]") {
  const ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","groups":{"all":[0,1]}})" << '\n'
                      << collective(0, "67108864") << collective(1, "67108864");
  const Json alone = replay::to_json(
      replay::replay(test::catalogue(), {test::catalogue().machine(unlearned("gx8")), {{file, {0, 7}}}}));
  const Json both = replay::to_json(replay::replay(
      test::catalogue(), {test::catalogue().machine(unlearned("gx8")), {{file, {0, 7}}, {file, {1, 6}}}}));
  double busiest = 0;
  for (const Json& link : alone["links"]) busiest = std::max(busiest, link["utilisation"].get<double>());
  // The start-up passes once; the bytes of both cross one link after it.
  const double alone_s = alone["makespan_s"].get<double>();
  CHECK_THAT(both["makespan_s"].get<double>(), WithinRel(alone_s + alone_s * busiest, kExact));
  CHECK_THAT(both["jobs"][0]["exposed_communication_s"].get<double>(),
             WithinRel(both["jobs"][1]["exposed_communication_s"].get<double>(), kExact));
}

}  // namespace linkcast::test::replay_test
