// Collectives as rounds of messages: what is staged and kept, what shares links with others, and the words, numbers and
// widths of a forecast from runs written down here.
#include <cmath>

#include "sim/forecast/algorithm.hpp"
#include "sim/forecast/collective_forecast.hpp"
#include "sim/forecast/collective_run.hpp"
#include "sim/forecast/schedule_forecast.hpp"
#include "sim/plan/mpi_costs.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_rounds_test {

namespace {

using collective::CollectiveForecast;
using collective::CollectiveJob;
using collective::CollectiveRun;

struct Ranks {
  Ranks(const Cluster& on, const std::string& library, int nodes, std::vector<int> gpus)
      : machine(on),
        runs(libraries().get(library)),
        made(collective::schedule_ranks(library, nodes, std::move(gpus))) {}
  [[nodiscard]] CollectiveJob job(const std::string& op, double size_B) const {
    return {machine, runs, made, collectives().get(op), op, size_B};
  }
  const Cluster& machine;
  const Library& runs;
  Communicator made;
};

Solver& solver() { return catalogue().solver("fluid"); }

/// 10 us, of them 3 of start-ups, 1 of reductions.
CollectiveRun run_of() {
  CollectiveRun run;
  run.scheduled.emplace();
  run.scheduled->algorithm = "ring";
  run.scheduled->times.time_s = 10e-6;
  run.scheduled->times.latency_s = 3e-6;
  run.scheduled->times.combine_s = 1e-6;
  run.scheduled->times.combine.measured = true;
  run.scheduled->times.rounds = 6;
  run.flow_s = 10e-6;
  return run;
}

bool says(const CollectiveForecast& forecast, const std::string& what) {
  for (const std::string& warning : forecast.warnings)
    if (warning.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("rounds: copies of parts that differ in size are those of the rank with most, on whichever node",
          "[physics][rounds]") {
  const auto staged = [](int from, int to) {
    Json sizes(std::vector<std::vector<double>>(6, std::vector<double>(6, 0)));
    sizes[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = 64 * kMiB;
    return ask({{"platform", "leonardo"},
                {"kind", "collective"},
                {"nodes", 3},
                {"gpus_per_node", 2},
                {"op", "alltoallv"},
                {"sizes_B", sizes},
                {"library", "mpi-staged"}})["staging_s"]
        .get<double>();
  };
  const double first = staged(0, 1);
  CHECK(first > 64 * kMiB / 32e9);  // over one PCIe 4.0 x16
  CHECK_THAT(staged(2, 3), WithinRel(first, kExact));
  CHECK_THAT(staged(5, 4), WithinRel(first, kExact));
  CHECK_THAT(staged(1, 5), WithinRel(first, kExact));
}

// source: MPICH 4.0.2, src/mpi/coll (MPIR_Localcopy): a rank copies what it sends to itself
TEST_CASE("rounds: what a rank keeps is copied inside its GPU first", "[physics][rounds]") {
  const Ranks ranks(catalogue().machine("hgx-h200")->lone_node(), "mpi-mpich", 1, {0, 1, 2});
  const Platform& node = ranks.machine.node();
  const auto kept_s = [&](const CollectiveJob& job) {
    const collective::ScheduledRun run = collective::run_scheduled(job, collective::algorithm_of(job), solver());
    REQUIRE(run.staging == Staging::kNone);
    CHECK_THAT(run.time_s(), WithinRel(run.times.time_s + run.own_s, kExact));
    CHECK(run.copies.time_s() == 0);
    return run.own_s;
  };
  for (const auto& [op, part] : {std::pair{"all_reduce", 1.0},
                                 {"reduce_scatter", 1.0},
                                 {"all_gather", 1.0 / 3},
                                 {"alltoall", 1.0 / 3},
                                 {"alltoallv", 1.0 / 3},
                                 {"allgatherv", 1.0 / 3}}) {
    INFO(op);
    CHECK_THAT(kept_s(ranks.job(op, 30e6)), WithinRel(activities::own_copy_s(node, part * 30e6), kExact));
  }
  for (const char* op : {"broadcast", "reduce", "gather", "scatter"}) CHECK(kept_s(ranks.job(op, 30e6)) == 0);
  // of parts that differ that of the rank that keeps most: of a matrix its diagonal
  const auto parts = [&](const std::string& op, const std::vector<double>& sizes_B) {
    const auto own = collectives().get(op).with_parts(sizes_B);
    return kept_s({ranks.machine, ranks.runs, ranks.made, *own, op, 30e6});
  };
  CHECK_THAT(parts("alltoallv", {1e6, 90e6, 80e6, 70e6, 5e6, 60e6, 50e6, 40e6, 3e6}),
             WithinRel(activities::own_copy_s(node, 5e6), kExact));
  CHECK_THAT(parts("allgatherv", {1e6, 7e6, 3e6}), WithinRel(activities::own_copy_s(node, 7e6), kExact));
  CHECK(parts("alltoallv", {0, 9e6, 8e6, 7e6, 0, 6e6, 5e6, 4e6, 0}) == 0);
}

TEST_CASE("rounds: as activities that share links they take alone what they take alone", "[physics][rounds]") {
  const Cluster &node = catalogue().machine("hgx-h200")->lone_node(),
                &cluster = catalogue().machine("leonardo")->cluster();
  for (const char* library : {"mpi-openmpi", "mpi-mpich", "mpi-staged"})
    for (const Cluster* machine : {&node, &cluster})
      for (const char* op : {"all_reduce", "reduce_scatter", "all_gather", "alltoall", "broadcast", "scatter"})
        for (const double size : {4096.0, 24e6}) {
          const Ranks ranks(*machine, library, machine == &node ? 1 : 3, {0, 1});
          const CollectiveJob job = ranks.job(op, size);
          const collective::ScheduledRun run = collective::run_scheduled(job, collective::algorithm_of(job), solver());
          const activities::Plan plan = collective::scheduled_to_share(job, run);
          activities::PlanProblem problem(*machine);
          problem.add(plan);
          INFO(library << " " << op << " " << size << " " << machine->nodes());
          CHECK_THAT(solver().run(problem.problem()).makespan_s, WithinRel(run.time_s(), 1e-6));
        }
}

TEST_CASE("rounds: many messages are one activity, no faster than the fullest link", "[physics][rounds]") {
  const Ranks ranks(catalogue().machine("hgx-h200")->lone_node(), "mpi-mpich", 1, {0, 1});
  const CollectiveJob job = ranks.job("all_reduce", 1e6);
  const double capacity = ranks.machine.capacity(0);
  collective::ScheduledRun run;
  run.times.steady = true;
  run.times.time_s = 100e-6;
  run.times.latency_s = 30e-6;
  run.times.chain_B = 2e6;
  run.own_s = 10e-6;
  run.times.load_B[0] = 0.4 * capacity * 70e-6;
  run.times.load_B[1] = 0;
  const auto only = [&] {
    activities::Plan plan = collective::scheduled_to_share(job, run);
    REQUIRE(plan.activities.size() == 1);
    return plan.activities.front();
  };
  const Activity flow = only();
  CHECK(flow.work_B == 2e6);
  CHECK_THAT(flow.delay_s, WithinRel(110e-6 - 70e-6, kExact));
  CHECK_THAT(flow.rate_cap_Bps, WithinRel(2e6 / 70e-6, kExact));
  REQUIRE(flow.uses.size() == 1);
  CHECK_THAT(flow.uses[0].weight, WithinRel(0.4 * capacity * 70e-6 / 2e6, kExact));
  run.times.load_B[0] = capacity * 90e-6;  // more than 70 us on the fullest link
  CHECK_THAT(only().delay_s, WithinRel(20e-6, kExact));
  CHECK_THAT(only().rate_cap_Bps, WithinRel(2e6 / 90e-6, kExact));
  run.times.chain_B = 0;
  CHECK_THAT(only().delay_s, WithinRel(110e-6, kExact));
  CHECK(only().work_B == 0);
}

TEST_CASE("rounds: every number and word of a forecast is that of the run", "[physics][rounds]") {
  const Ranks ranks(catalogue().machine("hgx-h200")->lone_node(), "mpi-openmpi", 1, {4, 5, 6});
  const Platform& node = ranks.machine.node();
  const CollectiveJob job = ranks.job("all_reduce", 6e6);
  CollectiveRun run = run_of();
  run.scheduled->times.transport_B = {{"d2d", 1}, {"b", 2}};
  const CollectiveForecast forecast = collective::forecast_of_rounds(job, run);
  CHECK(forecast.time_s == 10e-6);
  CHECK(forecast.latency_s == 3e-6);
  CHECK(forecast.size_B == 6e6);
  CHECK_THAT(forecast.bus_factor, WithinRel(4.0 / 3, kExact));
  CHECK(forecast.library == "mpi-openmpi");
  CHECK(forecast.algorithm == "ring");
  CHECK(forecast.protocol == "messages");
  REQUIRE(forecast.rounds);
  CHECK(forecast.rounds->rounds == 6);
  CHECK_FALSE(forecast.rounds->steady);
  CHECK(forecast.nodes * forecast.gpus_per_node == 3);
  CHECK(forecast.rounds->staging_s == 0);
  CHECK(forecast.rounds->reducing_s == 1e-6);
  CHECK(forecast.rounds->transports == std::vector<std::string>{"b", "d2d"});
  CHECK(forecast.nodes == 1);
  CHECK(forecast.gpus_per_node == 3);
  CHECK_FALSE(forecast.fallback);
  CHECK(forecast.limited_by == "rates of single messages");
  CHECK_FALSE(says(forecast, "buffers are reduced"));
  CHECK_FALSE(says(forecast, "some rounds stand for others"));
  run.scheduled->times.latency_s = 5.1e-6;
  CHECK(collective::forecast_of_rounds(job, run).limited_by == "start-up");
  run.scheduled->staging = Staging::kPageable;
  run.scheduled->copies = {2e-6, 1e-6, true, {}};
  run.scheduled->times.steady = true;
  run.scheduled->times.combine.measured = false;
  run.scheduled->times.combine_s = 1.1e-6;  // a tenth is worth a word
  run.scheduled->times.stand_in = true;
  const CollectiveForecast staged = collective::forecast_of_rounds(job, run);
  CHECK(staged.fallback);
  CHECK_THAT(staged.rounds->staging_s, WithinRel(3e-6, kExact));
  CHECK(staged.rounds->steady);
  CHECK(says(staged, "no message between host processes inside a node of hgx-h200"));
  CHECK(says(staged, "rate at which buffers are reduced is assumed"));
  CHECK(says(staged, "copies between GPU and pageable host memory is assumed"));
  CHECK(says(staged, "some rounds stand for others"));
  run.scheduled->times.combine_s = 0.9e-6;
  run.scheduled->staging = Staging::kNone;
  CHECK_FALSE(says(collective::forecast_of_rounds(job, run), "buffers are reduced"));
  CHECK(says(collective::forecast_of_rounds(job, run), "no message between GPUs inside a node"));
  // links that limited a tenth of what the first one did, twelve at most
  run.scheduled->times.limit_B = {{3, 1e6}, {5, 0.1e6}, {7, 0.09e6}};
  const auto id = [&](std::size_t link) { return node.constraints()[link].id; };
  const CollectiveForecast limited = collective::forecast_of_rounds(job, run);
  CHECK(limited.bottleneck == std::vector<std::string>{id(3), id(5)});
  CHECK(limited.limited_by.empty());
  for (int link = 0; link < 20; ++link) run.scheduled->times.limit_B[link] = 1e6;
  CHECK(collective::forecast_of_rounds(job, run).bottleneck.size() == 12);
  const Ranks cray(catalogue().machine("hgx-h200")->lone_node(), "mpi-cray", 1, {0, 1});
  CHECK(says(collective::forecast_of_rounds(cray.job("all_reduce", 6e6), run_of()),
             "the choice of algorithms of mpi-cray is not public"));
  CHECK_FALSE(says(forecast, "is not public"));
}

TEST_CASE("rounds: how sure a forecast is, part by part", "[physics][rounds]") {
  Calibration calibration = made_calibration("hgx-h200", {});
  calibration.valid_from_B = 1;
  calibration.valid_to_B = 1e12;
  calibration.scatter = {{"near", 0, 1e12, 0.11, 9}, {"far", 0, 1e12, 0.17, 9}};
  const Platform node(catalogue().machine("hgx-h200")->platform().wiring(), calibration);
  calibration.scatter.push_back({"mpi_collective", 0, 1e12, 0.05, 9});
  const Platform fitted(catalogue().machine("hgx-h200")->platform().wiring(), calibration);
  const Cluster machine(node), known(fitted);
  const auto variance = [&](const Cluster& on, const CollectiveRun& run) {
    const Ranks ranks(on, "mpi-openmpi", 1, {0, 1, 2});
    const CollectiveJob job = ranks.job("all_reduce", 6e6);
    std::set<std::string> warnings;
    const uncertainty::Interval found = collective::terms_of_rounds(job, run, 0, warnings).interval();
    CHECK_THAT(collective::interval_of(job, run).high_s, WithinRel(found.high_s, kExact));
    CHECK_THAT(collective::forecast_of_rounds(job, run).interval.high_s, WithinRel(found.high_s, kExact));
    return std::pow(std::log(found.high_s / run.time_s()) / 1.645, 2);
  };
  CollectiveRun run = run_of();
  const double base = variance(machine, run), with_fit = variance(known, run);
  const auto added = [&](const Cluster& on) { return variance(on, run) - (&on == &machine ? base : with_fit); };
  run.scheduled->times.delay_error_s = 0.5 * run.scheduled->times.latency_s;
  CHECK_THAT(added(machine), WithinRel(std::pow(0.5 * 0.3, 2), 1e-6));
  // delays that overlap others are no longer than the messages together, nor are their errors
  const double whole_s = run.scheduled->times.latency_s;
  run.scheduled->times.latency_s *= 10;
  const double moving = 1 - run.scheduled->inside_s() / run.time_s();
  run.scheduled->times.delay_error_s = 0.5 * run.scheduled->times.latency_s;
  CHECK_THAT(added(machine), WithinRel(std::pow(0.5 * moving, 2), 1e-6));
  run.scheduled->times.latency_s = whole_s;
  run.scheduled->times.delay_error_s = 0;
  run.scheduled->times.combine.rate_error = ErrorPart(0.4);
  CHECK_THAT(added(machine), WithinRel(std::pow(0.4 * 0.1, 2), 1e-6));
  run.scheduled->times.combine.rate_error = {};
  run.scheduled->copies.error_s = {ErrorPart(2e-6), ErrorPart(1e-6)};
  CHECK_THAT(added(machine), WithinRel(0.2 * 0.2 + 0.1 * 0.1, 1e-6));
  run.scheduled->copies.error_s.clear();
  run.scheduled->times.steady = true;  // tests/unit/schedule_test.cpp: within some percent of all rounds
  CHECK_THAT(added(machine), WithinRel(0.05 * 0.05, 1e-6));
  run.scheduled->times.steady = false;
  // messages scatter by themselves where no collective was fitted, those of the transport that scatters most
  run.scheduled->times.transport_B = {{"far", 1}, {"near", 5}};
  CHECK_THAT(added(machine), WithinRel(0.17 * 0.17, 1e-6));
  CHECK_THAT(added(known), WithinAbs(0, 1e-12));
  run.scheduled->times.stand_in = true;
  CHECK_THAT(added(machine), WithinRel(0.3 * 0.3, 1e-6));
  CHECK_THAT(added(known), WithinAbs(0, 1e-12));
}

TEST_CASE("rounds: algorithms of an operation, the others beside the one that is taken", "[physics][rounds]") {
  for (const std::string& op : collectives().names()) {
    const std::string equal = op == "alltoallv" ? "alltoall" : op == "allgatherv" ? "all_gather" : op;
    std::set<std::string> expected;
    for (const std::string& name : algorithms().names())
      for (const std::string& has : algorithms().get(name).operations())
        if (has == equal) expected.insert(name);
    const std::vector<std::string> found = collective::algorithms_for(op);
    CHECK(std::set<std::string>(found.begin(), found.end()) == expected);
    CHECK(found.size() == expected.size());
  }
  const Ranks ranks(catalogue().machine("hgx-h200")->lone_node(), "mpi-openmpi", 1, {0, 1, 2, 3});
  const CollectiveJob job = ranks.job("all_gather", 8e6);
  CHECK(collective::scheduled_operation(ranks.job("allgatherv", 1)) == "all_gather");
  CHECK(collective::scheduled_operation(ranks.job("alltoallv", 1)) == "alltoall");
  CHECK(collective::scheduled_operation(job) == "all_gather");
  const CollectiveRun taken = collective::run_alone(job, solver());
  CHECK(taken.flow_s == taken.scheduled->time_s());
  const collective::Alternatives others = collective::other_schedules(job, taken, solver());
  CHECK(others.rows.size() == collective::algorithms_for("all_gather").size() - 1);
  CHECK_FALSE(others.believes);
  double before = 0;
  for (const auto& [algorithm, protocol, time_s, believed_s] : others.rows) {
    CHECK(algorithm != taken.scheduled->algorithm);
    CHECK(protocol == "messages");
    CHECK_FALSE(believed_s);
    CHECK(time_s >= before);
    before = time_s;
    CollectiveJob forced = job;
    forced.algorithm = algorithm;
    CHECK(collective::algorithm_of(forced) == algorithm);
    CHECK_THAT(collective::run_alone(forced, solver()).time_s(), WithinRel(time_s, kExact));
  }
}

}  // namespace linkcast::test::collective_rounds_test
