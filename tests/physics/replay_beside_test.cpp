// The runs for an interval beside the forecast's own are those that each would be by itself, to the last bit.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "sim/base/index.hpp"
#include "sim/replay/replay_interval.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_beside_test {

namespace {

constexpr int kRanks = 4;

struct Ends {
  double low_s = 0, high_s = 0;
  std::optional<double> step_low_s{}, step_high_s{};
};

std::string header(const std::string& more = "") {
  return R"({"schema":"trace/1","name":"t","ranks":4,"source":"test","launch_s":4e-6,"gap_s":1e-6,)"
         R"("groups":{"all":[0,1,2,3],"even":[0,2]})" +
         more + "}\n";
}

/// Random work that all ranks issue in the same order: computing, collectives, messages, copies and syncs on several
/// streams. @param first_recording  step from which the recording says what it added; -1: never
std::string random_trace(unsigned seed, int steps, int first_recording) {
  std::mt19937 draw(seed);
  const auto below = [&](int most) { return static_cast<int>(draw() % static_cast<unsigned>(most)); };
  std::ostringstream out;
  out << header(seed % 3 == 0 ? R"(,"slowdown":1.2,"collective_slowdown":1.1,"eager_B":65536)" : "");
  std::array<long, kRanks> ids{};
  for (int step = 0; step < steps; ++step) {
    struct Act {
      int what, a, b;
      long size_B;
    };
    std::vector<Act> acts;
    for (int i = 2 + below(6); i > 0; --i) acts.push_back({below(5), below(kRanks), below(kRanks), 1L << below(25)});
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string head = "{\"rank\":" + std::to_string(rank);
      for (const Act& act : acts) {
        std::string line = head + ",\"host_s\":" + std::to_string(below(40)) + "e-6";
        if (first_recording >= 0 && step >= first_recording) line += R"(,"recording_s":2e-6)";
        const std::string size = ",\"size_B\":" + std::to_string(act.size_B);
        if (act.what <= 1) {
          const long id = ++ids[at(rank)];
          line += R"(,"kind":"compute","stream":")" + std::to_string(act.what) + R"(","id":)" + std::to_string(id) +
                  ",\"time_s\":" + std::to_string(1 + below(300)) + "e-6";
          if (id > 1) line += ",\"after\":[" + std::to_string(id - 1) + "]";
        } else if (act.what == 2) {
          const bool even = act.a % 2 == 0;
          if (even && rank % 2 == 1) continue;
          line += std::string(R"(,"kind":"collective","op":"all_reduce","stream":"net","group":")") +
                  (even ? "even" : "all") + "\"" + size;
        } else if (act.what == 3 && act.a != act.b) {
          if (rank != act.a && rank != act.b) continue;
          const bool sends = rank == act.a;
          const std::string peer = std::to_string(sends ? act.b : act.a);
          line += std::string(",\"kind\":\"") + (sends ? "send" : "recv") + R"(","stream":"m)" + peer + R"(","peer":)" +
                  peer + size;
        } else {
          line += R"(,"kind":"copy","copy":"h2d","stream":"copy")" + size;
        }
        out << line << "}\n";
      }
      out << head << ",\"kind\":\"sync\"}\n" << head << ",\"kind\":\"step\"}\n";
    }
  }
  return out.str();
}

replay::ReplayRequest request_of(const std::string& file, const std::string& platform, int nodes) {
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine(platform);
  request.parts = {{file}};
  request.nodes = nodes;
  request.gpus_per_node = nodes > 0 ? kRanks / nodes : 0;
  return request;
}

/// A run by itself, at one end. @param unsure  the recording's CPUs are part of it
replay::EndTimes alone(const replay::ReplayRequest& request, replay::IntervalEnd end, bool unsure) {
  const auto network = replay::network_of(test::catalogue(), request, end);
  std::vector<replay::ReplayJob> jobs = replay::jobs_of(request, test::catalogue().data_dir(), network->gpus());
  if (unsure && end == replay::IntervalEnd::kLow) jobs.front().host_scale = 0;
  if (unsure && end == replay::IntervalEnd::kHigh) jobs.front().as_recorded = true;
  replay::Replay run(std::move(jobs), *network, {});
  run.run();
  return {run.last_end_s(), {replay::step_of(run.steps(0))}};
}

void check_beside(const std::string& text, const std::string& platform, int nodes, bool unsure) {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << text;
  const replay::ReplayRequest request = request_of(file, platform, nodes);
  const replay::ReplayResult result = replay::replay(test::catalogue(), request);
  const replay::EndTimes low = alone(request, replay::IntervalEnd::kLow, unsure);
  const replay::EndTimes high = alone(request, replay::IntervalEnd::kHigh, unsure);
  const auto [least_s, most_s] = std::minmax({result.makespan_s, low.makespan_s, high.makespan_s});
  CHECK(result.interval->low_s == least_s);
  CHECK(result.interval->high_s == most_s);
  const auto [step_least_s, step_most_s] = std::minmax({*result.jobs[0].step_time_s, *low.step_s[0], *high.step_s[0]});
  CHECK(result.jobs[0].step_interval.low_s == step_least_s);
  CHECK(result.jobs[0].step_interval.high_s == step_most_s);
  CHECK(least_s < most_s);
}

}  // namespace

TEST_CASE("replay: the interval of runs beside each other is that of runs by themselves", "[replay]") {
  constexpr int kFewSteps = 20, kLate = 10;
  unsigned seed = 1;
  for (const auto& [platform, nodes] : std::vector<std::pair<std::string, int>>{
           {"hgx-h200", 0}, {"dgx-a100", 0}, {"leonardo", 2}, {"alps", 2}, {"summit", 2}}) {
    check_beside(random_trace(seed++, kFewSteps, -1), platform, nodes, false);
    check_beside(random_trace(seed++, kFewSteps, 0), platform, nodes, true);
    check_beside(random_trace(seed++, kFewSteps, kLate), platform, nodes, true);
  }
}

TEST_CASE("replay: where a long trace says late what is unsure, the interval is that of runs by themselves",
          "[replay]") {
  constexpr int kManySteps = 1200;  // some 20,000 events: what runs beside has begun by then
  check_beside(random_trace(11, kManySteps, -1), "hgx-h200", 0, false);
  check_beside(random_trace(12, kManySteps, kManySteps - 2), "hgx-h200", 0, true);
  std::ostringstream late;  // no network either until the end
  late << header();
  for (int i = 0; i < 20000; ++i) late << R"({"rank":0,"kind":"compute","time_s":1e-6})" << '\n';
  for (int rank = 0; rank < kRanks; ++rank)
    late << "{\"rank\":" << rank << R"(,"kind":"collective","op":"all_reduce","group":"all","size_B":1048576})" << '\n'
         << "{\"rank\":" << rank << R"(,"kind":"sync"})" << '\n'
         << "{\"rank\":" << rank << R"(,"kind":"step"})" << '\n';
  check_beside(late.str(), "hgx-h200", 0, false);
}

TEST_CASE("replay: a trace from a pipe has its interval, unless it would have to be read again", "[replay]") {
  const test::ScratchFolder scratch;
  const auto piped = [&](const std::string& text) {
    const std::string pipe = (scratch / "pipe").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { std::ofstream(pipe) << text; });
    replay::ReplayResult result = replay::replay(test::catalogue(), request_of(pipe, "hgx-h200", 0));
    writer.join();
    std::filesystem::remove(pipe);
    return result;
  };
  const auto warned = [](const replay::ReplayResult& result) {
    return std::any_of(result.warnings.begin(), result.warnings.end(),
                       [](const std::string& text) { return text.find("can be read only once") != std::string::npos; });
  };
  const replay::ReplayResult whole = piped(random_trace(21, 20, -1));
  CHECK(*whole.interval->low_s < whole.makespan_s);
  CHECK(whole.makespan_s < *whole.interval->high_s);
  CHECK_FALSE(warned(whole));
  constexpr int kManySteps = 1200;
  const replay::ReplayResult again = piped(random_trace(12, kManySteps, kManySteps - 2));
  CHECK_FALSE(again.interval->low_s);
  CHECK(warned(again));
}

TEST_CASE("replay: several runs take the events of one reading", "[replay]") {
  const std::string text = header() +
                           R"({"rank":0,"kind":"compute","time_s":1,"id":1})"
                           "\n"
                           R"({"rank":1,"kind":"collective","op":"all_reduce","group":"all","size_B":8,"stream":"a"})"
                           "\n"
                           R"({"rank":0,"kind":"collective","op":"all_reduce","group":"all","size_B":8,"stream":"b"})"
                           "\n"
                           R"({"rank":0,"kind":"broken"})"
                           "\n";
  replay::TraceFeed feed(std::make_unique<TraceReader>(std::make_unique<std::istringstream>(text), "t"), 0);
  feed.share(3);
  replay::FedEvent* first = feed.next(0, 0);
  CHECK(first->amount == 1);
  CHECK(feed.next(0, 1) == first);
  feed.leave(2);
  feed.done(first);
  replay::FedEvent* own = feed.next(1, 1);
  CHECK(own->lane == 0);
  CHECK(own->turn == 0);
  CHECK(own->queue == 0);
  CHECK(feed.members(own->lane)->size() == kRanks);
  replay::FedEvent* other = feed.next(0, 0);
  CHECK(other->lane == own->lane);
  CHECK(other->queue == 1);
  feed.done(first);  // the second of two runs: its place is free
  CHECK_THROWS_AS(feed.next(0, 0), InputError);
  CHECK(feed.next(0, 1) == other);
  CHECK_THROWS_AS(feed.next(0, 1), InputError);
}

}  // namespace linkcast::test::replay_beside_test
