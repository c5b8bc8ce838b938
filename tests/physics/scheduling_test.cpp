// A queue of jobs: closed forms of sharing, and what no policy may do.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/base/input_error.hpp"
#include "sim/place/schedule.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::scheduling_test {

namespace {

placement::Traffic flow(double bytes, int key) {
  Activity one;
  one.work_B = bytes;
  one.uses = {{key, 1}};
  placement::Traffic traffic;
  traffic.flows = {one};
  traffic.alone_s = bytes / 100;
  return traffic;
}

double hundred(int /*key*/) { return 100; }

scheduling::ScheduledJob job(const std::string& id, int gpus, double arrival_s, double compute_s, double size_B) {
  return {id, arrival_s, gpus, 100, compute_s, gpus > 1 ? "all_reduce" : "", gpus > 1 ? size_B : 0};
}

std::vector<scheduling::JobOutcome> run(const scheduling::JobList& list, const std::string& policy) {
  scheduling::Machine machine(catalogue(), catalogue().machine("v100-dgx1"), 0, "");
  log::NoProgress none;
  return scheduling::schedule(list, machine, policy, 7, none);
}

}  // namespace

TEST_CASE("a call beside others: capacity less their average, at worst a fair share") {
  const placement::Traffic own = flow(1000, 0);  // 10 s alone on a link of 100 B/s
  const placement::Traffic other = flow(1000, 0), elsewhere = flow(1000, 1);
  CHECK(placement::call_s(own, {}, hundred) == Approx(10));
  CHECK(placement::call_s(own, {{&elsewhere, 10}}, hundred) == Approx(10));
  CHECK(placement::call_s(own, {{&other, 50}}, hundred) == Approx(1000 / (100 - 20.0)));  // on average 20 B/s
  CHECK(placement::call_s(own, {{&other, 10}}, hundred) == Approx(20));                   // without a pause: half
  CHECK(placement::call_s(own, {{&other, 10}, {&other, 10}}, hundred) == Approx(30));
  CHECK(placement::call_s(own, {{&other, 25}, {&other, 50}}, hundred) == Approx(1000 / (100 - 40 - 20.0)));
}

TEST_CASE("flows of a call that wait for one copy engine do so with other jobs, too") {
  placement::Traffic own = flow(1000, 0);
  own.flows.front().delay_s = 1;  // a start-up that no other flow of the engine hides
  own.flows.front().queues = {3};
  own.flows.push_back(own.flows.front());
  own.alone_s = 22;  // two start-ups of 1 s, twice 1000 B at 100 B/s
  placement::Traffic other = flow(1000, 0);
  other.flows.front().queues = {3};  // an engine of its own GPUs
  CHECK(placement::call_s(own, {{&other, 50}}, hundred) == Approx(2 * (1 + 1000 / (100 - 20.0))));
}

TEST_CASE("a job alone on the idle machine loses nothing by linkcast's choice") {
  for (const int gpus : {1, 2, 3, 4, 5, 6, 7, 8}) {
    scheduling::JobList list{"one", "test", {}, {job("a", gpus, 3, 0.01, 64e6)}};
    const auto outcomes = run(list, "linkcast");
    CHECK(outcomes[0].slowdown() == Approx(1).epsilon(1e-6));
    CHECK(outcomes[0].start_s == 3);
    CHECK(static_cast<int>(outcomes[0].gpus.size()) == gpus);
  }
}

TEST_CASE("five GPUs: first-fit takes the host path, linkcast does not") {
  scheduling::JobList list{"one", "test", {}, {job("a", 5, 0, 0.01, 64e6)}};
  CHECK(run(list, "first-fit")[0].gpus == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(run(list, "first-fit")[0].slowdown() > 1.5);
  CHECK(run(list, "linkcast")[0].slowdown() == Approx(1).epsilon(1e-6));
}

TEST_CASE("jobs wait for their turn, whatever the policy, and no GPU has two") {
  scheduling::JobList list{"queue", "test", {}, {}};
  for (int i = 0; i < 40; ++i) list.jobs.push_back(job("j" + std::to_string(i), 1 + i * 5 % 8, i * 0.5, 0.02, 1e8));
  for (const char* policy : {"linkcast", "first-fit", "packed", "spread", "nvlink", "random"}) {
    const auto outcomes = run(list, policy);
    INFO(policy);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      CHECK(outcomes[i].start_s >= outcomes[i].job->arrival_s);
      if (i > 0) CHECK(outcomes[i].start_s >= outcomes[i - 1].start_s);
      CHECK(outcomes[i].slowdown() >= 1 - 1e-6);
      for (std::size_t k = 0; k < i; ++k) {
        const bool together =
            outcomes[k].start_s < outcomes[i].end_s - 1e-9 && outcomes[i].start_s < outcomes[k].end_s - 1e-9;
        for (const int gpu : outcomes[i].gpus)
          if (together) CHECK(std::count(outcomes[k].gpus.begin(), outcomes[k].gpus.end(), gpu) == 0);
      }
    }
  }
}

TEST_CASE("two jobs through the host slow each other, two on NVLink of their own do not") {
  scheduling::JobList apart{"apart", "test", {}, {job("a", 4, 0, 0, 1e9), job("b", 4, 0, 0, 1e9)}};
  for (const scheduling::JobOutcome& one : run(apart, "linkcast")) CHECK(one.slowdown() == Approx(1).epsilon(1e-6));
  // spread: every second GPU, half of each socket; neither has a ring of NVLinks, and both cross between the sockets
  const auto spread = run(apart, "spread");
  const double both_s = spread[0].end_s;
  apart.jobs.pop_back();
  CHECK(both_s >= run(apart, "spread")[0].end_s * (1 - 1e-9));
}

TEST_CASE("job lists: what is refused") {
  const auto error_of = [](const std::string& text) -> std::string {
    const std::string path = (std::filesystem::temp_directory_path() / "linkcast_scheduling_test.jsonl").string();
    std::ofstream(path) << text;
    try {
      static_cast<void>(scheduling::read_job_list(path));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string head = R"({"schema": "jobs/1", "name": "x", "source": "test"})"
                           "\n";
  const auto says = [&](const std::string& text, const std::string& part) {
    const std::string error = error_of(text);
    INFO(error);
    CHECK(error.find(part) != std::string::npos);
  };
  says("", "has no jobs");
  says(R"({"schema": "trace/1", "name": "x", "source": "y"})", "/schema");
  says(head + R"({"id": "a", "arrival_s": 0, "gpus": 0, "iterations": 1, "compute_s": 1})", "line 2:/gpus");
  says(head + R"({"id": "a", "arrival_s": -1, "gpus": 1, "iterations": 1, "compute_s": 1})", "/arrival_s");
  says(head + R"({"id": "a", "arrival_s": 0, "gpus": 1, "iterations": 1, "compute_s": 0})", "does nothing");
  says(head + R"({"id": "a", "arrival_s": 0, "gpus": 2, "iterations": 1, "compute_s": 1, "op": "sum", "size_B": 1})",
       "sum");
  says(head + R"({"id": "a", "arrival_s": 0, "gpus": 2, "iterations": 1, "compute_s": 1, "size": 1})", "/size");
  const std::string one = R"({"id": "a", "arrival_s": 5, "gpus": 1, "iterations": 1, "compute_s": 1})"
                          "\n";
  says(head + one + one, "that of a job above");
  says(head + one + R"({"id": "b", "arrival_s": 4, "gpus": 1, "iterations": 1, "compute_s": 1})", "order of arrival");
  scheduling::JobList list{"big", "test", {}, {job("a", 9, 0, 1, 1)}};
  CHECK_THROWS_AS(run(list, "linkcast"), InputError);
}

}  // namespace linkcast::test::scheduling_test
