// What is made of a run of a collective: the words and numbers of a forecast, and how sure it is, from runs written
// down here number by number.
#include "sim/forecast/collective_forecast.hpp"

#include <cmath>

#include "sim/engine/many_flows.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_forecast_test {

namespace {

using collective::CollectiveForecast;
using collective::CollectiveJob;
using collective::CollectiveRun;
using collective::Figure;

CollectiveJob job_of(const Cluster& machine, const Library& library, const Communicator& made,
                     const std::string& op = "all_reduce", double size_B = 6e6) {
  return {machine, library, made, collectives().get(op), op, size_B};
}

/// One term without spread.
std::vector<uncertainty::Term> measured() { return {{"", 0, {}, uncertainty::kMeasured}}; }

/// 2 us of latency, 8 us of bytes, limited by its blocks.
CollectiveRun run_of(const std::string& algorithm = "ring") {
  CollectiveRun run;
  run.plan.choice = {algorithm, "Simple", 4, 1};
  run.plan.latency_s = 2e-6;
  run.plan.busiest_B = 3e6;
  for (const Figure of : {Figure::kBase, Figure::kNetworkHop, Figure::kLinks}) run.plan.cost.set(of, measured());
  run.flow_s = 8e-6;
  run.limited_by = {kOwnCap};
  return run;
}

/// Independent terms of these spreads.
std::vector<uncertainty::Term> terms_of(const std::vector<double>& spreads) {
  std::vector<uncertainty::Term> terms;
  for (const double spread : spreads) terms.push_back({uncertainty::term::kBase, 0, ErrorPart(spread)});
  return terms;
}

double variance_of(const uncertainty::Interval& interval, double time_s) {
  CHECK_THAT(interval.high_s * interval.low_s, WithinRel(time_s * time_s, kExact));
  return std::pow(std::log(interval.high_s / time_s) / 1.645, 2);
}

double variance_of(const CollectiveJob& job, const CollectiveRun& run) {
  return variance_of(collective::interval_of(job, run), run.time_s());
}

bool says(const CollectiveForecast& forecast, const std::string& what) {
  for (const std::string& warning : forecast.warnings)
    if (warning.find(what) != std::string::npos) return true;
  return false;
}

int link_of(const Platform& node, int from, int to) {
  return node.peer_route(node.gpu(from), node.gpu(to))->links.front();
}

}  // namespace

TEST_CASE("forecast of a run: every number is that of the run", "[physics][made]") {
  const auto node = made_platform("v100-dgx1", {});
  const Cluster machine(*node);
  const TableLibrary library;
  Communicator made = made_ring({2, 0, 1});
  made.channels.push_back(made.channels.front());
  made.channels[1].order = {2, 1, 0};
  made.library = "nccl-2.9";
  const CollectiveJob job = job_of(machine, library, made);
  const CollectiveForecast forecast = collective::forecast_of(job, run_of());
  CHECK_THAT(forecast.time_s, WithinRel(10e-6, kExact));
  CHECK_THAT(forecast.device_s, WithinRel(10e-6, kExact));
  CHECK(forecast.latency_s == 2e-6);
  CHECK(forecast.size_B == 6e6);
  CHECK_THAT(forecast.bus_factor, WithinRel(4.0 / 3, kExact));
  CHECK(forecast.library == "nccl-2.9");
  CHECK(forecast.algorithm == "ring");
  CHECK(forecast.protocol == "Simple");
  CHECK(forecast.nodes == 1);
  CHECK(forecast.gpus_per_node == 3);
  CHECK(forecast.channels == std::vector<std::vector<int>>{{2, 0, 1}, {2, 1, 0}});
  CHECK(forecast.blocks == 4);
  REQUIRE(forecast.channel_Bps);
  CHECK_THAT(*forecast.channel_Bps, WithinRel(3e6 / 8e-6, kExact));
  CHECK(forecast.path_class == "NVL");
  CHECK_FALSE(forecast.fallback);
  CHECK(forecast.warnings.empty());
  CHECK_FALSE(forecast.messages);
  CollectiveRun nothing = run_of();
  nothing.flow_s = 0;
  CHECK_FALSE(collective::forecast_of(job, nothing).channel_Bps);
  // issued by a host: 20 calls, each of 3 us to issue, waited for in 5 us
  CollectiveJob issued = job;
  issued.launching = {launch::Kind::kProcess, 20, {3e-6, 2e-6, 4e-6}, {5e-6, 5e-6, 5e-6}, ""};
  const CollectiveForecast by_host = collective::forecast_of(issued, run_of());
  CHECK_THAT(by_host.time_s, WithinRel((3e-6 + 20 * 10e-6 + 5e-6) / 20, kExact));
  CHECK_THAT(by_host.device_s, WithinRel(10e-6, kExact));
  CHECK_THAT(by_host.interval.low_s, WithinRel((2e-6 + 20 * forecast.interval.low_s + 5e-6) / 20, kExact));
  CHECK_THAT(by_host.interval.high_s, WithinRel((4e-6 + 20 * forecast.interval.high_s + 5e-6) / 20, kExact));
  CHECK(by_host.limited_by == "thread blocks");
  issued.launching.host = {30e-6, 30e-6, 30e-6};
  issued.launching.inherited_from = "elsewhere";
  CollectiveRun linked = run_of();
  linked.limited_by = {link_of(*node, 0, 1)};
  const CollectiveForecast waits = collective::forecast_of(issued, linked);
  CHECK(waits.limited_by == "host");
  CHECK(waits.bottleneck.empty());
  CHECK(says(waits, "was measured on elsewhere, not on v100-dgx1"));
}

TEST_CASE("forecast of a run: what limits it", "[physics][made]") {
  const auto node = made_platform("v100-dgx1", {});
  const Cluster machine(*node);
  const TableLibrary library;
  const Communicator made = made_ring({0, 1, 2});
  const CollectiveJob job = job_of(machine, library, made);
  const auto id = [&](int link) { return node->constraints()[static_cast<std::size_t>(link)].id; };
  const int one = link_of(*node, 0, 1), two = link_of(*node, 1, 2);
  CollectiveRun run = run_of();
  CHECK(collective::forecast_of(job, run).limited_by == "thread blocks");
  CHECK(collective::forecast_of(job, run).bottleneck.empty());
  run.plan.latency_s = 8.1e-6;  // more than half
  CHECK(collective::forecast_of(job, run).limited_by == "start-up");
  run.plan.latency_s = 7.9e-6;
  CHECK(collective::forecast_of(job, run).limited_by == "thread blocks");
  run.limited_by.clear();  // a solver that cannot tell
  CHECK(collective::forecast_of(job, run).limited_by.empty());
  run.limited_by = {two, kOwnCap, one, two};
  const CollectiveForecast linked = collective::forecast_of(job, run);
  CHECK(linked.bottleneck == std::vector<std::string>{id(one), id(two)});
  CHECK(linked.limited_by.empty());
  // an activity that its hops through host memory limit: all of their links
  CollectiveRun staged = run_of();
  staged.limited_by = {kOwnCap, kOwnCap};
  staged.plan.hops = {{{0, 1, HopKind::kPeer}}, {{0, 1, HopKind::kPeer}, {1, 2, HopKind::kHostMemory}}};
  const CollectiveForecast host = collective::forecast_of(job, staged);
  std::set<std::string> links;
  for (const int link : node->to_host(node->gpu(1)).links) links.insert(id(link));
  for (const int link : node->from_host(node->gpu(2)).links) links.insert(id(link));
  CHECK(host.bottleneck == std::vector<std::string>(links.begin(), links.end()));
  CHECK(collective::host_links(*node, staged.plan.hops[0]).empty());
  // of many messages a few are named, all are counted
  CollectiveRun messages = run_of("messages");
  messages.messages.emplace();
  messages.messages->engine = "direct";
  messages.messages->messages = 56;
  messages.messages->classes = 7;
  messages.messages->why_direct = "because";
  for (int link = 0; link < 20; ++link) messages.limited_by.push_back(link);
  messages.messages->limits = messages.limited_by;
  const CollectiveForecast many = collective::forecast_of(job, messages);
  CHECK(many.bottleneck.size() == 7);  // the first of eight is no link
  REQUIRE(many.messages);
  CHECK(many.messages->bottlenecks == 20);  // links
  CHECK(many.messages->engine == "direct");
  CHECK(many.messages->count == 56);
  CHECK(many.messages->classes == 7);
  CHECK(many.messages->why_direct == "because");
}

TEST_CASE("forecast of a run: what was assumed is said, and nothing else", "[physics][made]") {
  const auto node = made_platform("hgx-h200", {});
  const Cluster machine(*node);
  const Cluster& alps = catalogue().machine("alps")->cluster();
  const TableLibrary library;
  Communicator made = made_ring({0, 1, 2, 3}), nodes = made;
  nodes.nodes = 2;
  made.nvls_channels = 2;
  const auto forecast = [&](const CollectiveRun& run) {
    return collective::forecast_of(job_of(machine, library, made), run);
  };
  const auto between = [&](const CollectiveRun& run) {
    return collective::forecast_of(job_of(alps, library, nodes), run);
  };
  CollectiveRun unknown = run_of();
  unknown.plan.cost.set(Figure::kBase, {});
  CHECK(says(forecast(unknown), "base and hop latencies are nccl-2.18's assumptions, not measured on hgx-h200"));
  CollectiveRun hops = run_of();
  hops.plan.cost.set(Figure::kNetworkHop, {});
  CHECK(forecast(hops).warnings.empty());  // of one node
  CHECK(says(between(hops), "no collective between nodes of alps was measured"));
  CHECK_FALSE(says(between(run_of()), "between nodes"));
  // switches
  CollectiveRun multicast = run_of("nvls");
  CHECK(forecast(multicast).channels == std::vector<std::vector<int>>{{0}, {1}});
  CHECK(forecast(multicast).warnings.empty());
  multicast.plan.cost.set(Figure::kLinks, {});
  CHECK(says(forecast(multicast), "multicast by NVSwitch attains"));
  CollectiveRun ring = run_of();
  ring.plan.cost.set(Figure::kLinks, {});
  CHECK(forecast(ring).warnings.empty());
  for (const char* algorithm : {"collnet_direct", "collnet_chain", "nvls"})
    CHECK(says(between(run_of(algorithm)), "reduction by the switches between nodes was never measured"));
  CHECK_FALSE(says(between(run_of("nvls_tree")), "reduction by the switches"));
  CHECK(says(between(run_of("pat")), "parallel aggregated trees were never measured"));
  CHECK_FALSE(says(between(run_of("tree")), "parallel aggregated trees"));
}

TEST_CASE("forecast of a run: host memory, shares and nominal rates are said", "[physics][made]") {
  const auto node = made_platform("hgx-h200", {});
  const Cluster machine(*node);
  const TableLibrary library;
  const Communicator made = made_ring({0, 1, 2, 3});
  const auto forecast = [&](const CollectiveRun& run) {
    return collective::forecast_of(job_of(machine, library, made), run);
  };
  // a ring through host memory, of which nothing is known on P100
  const auto dgx1 = made_platform("p100-dgx1", {});
  const Cluster old(*dgx1);
  Communicator host = made_ring({0, 1, 2}, {1}), pair = made_ring({0, 1}, {1});
  host.fallback = true;
  host.why = "no ring of peers";
  const CollectiveForecast fallback = collective::forecast_of(job_of(old, library, host), run_of());
  CHECK(fallback.fallback);
  CHECK(says(fallback, "no ring of peers"));
  CHECK(says(fallback, "what several GPUs together get of host memory was never measured on p100-dgx1"));
  CHECK_FALSE(says(collective::forecast_of(job_of(old, library, pair), run_of()), "host memory"));
  CHECK_FALSE(says(collective::forecast_of(job_of(machine, library, host), run_of()), "never measured on hgx"));
  // messages: shared out late, ways that stand for others, nominal rates of those that are named
  CollectiveRun messages = run_of("messages");
  messages.messages.emplace();
  CHECK(forecast(messages).warnings.empty());
  messages.messages->shared_late = true;
  messages.messages->most_ways = 6;
  CHECK(says(forecast(messages), kSharedLate));
  CHECK(says(forecast(messages), "of the ways between two cards 6 of each kind"));
  Calibration bare = node->calibration();
  std::erase_if(bare.parameters, [](const auto& one) { return one.first.rfind("cable.nvlink4", 0) == 0; });
  const Platform nominal(node->wiring(), bare);
  const Cluster plain(nominal);
  CollectiveRun linked = run_of();
  linked.limited_by = {link_of(nominal, 0, 1)};
  const std::string id = nominal.constraints()[static_cast<std::size_t>(linked.limited_by[0])].id;
  CHECK(says(collective::forecast_of(job_of(plain, library, made), linked),
             "the rate of " + id + " is nominal, not calibrated"));
  CHECK(forecast(linked).warnings.empty());
}

TEST_CASE("how sure a forecast is: links, blocks and start-ups by their parts of the time", "[physics][made]") {
  const auto node = made_platform("v100-dgx1", {});
  Calibration calibration = node->calibration();
  Topology wiring = node->wiring();
  for (auto& [name, parameter] : calibration.parameters)
    if (name.rfind("cable.nvlink2", 0) == 0 && name.ends_with("bandwidth_Bps"))
      parameter.stderr_ = 0.2 * parameter.value;
  const Platform unsure(wiring, calibration);
  const Cluster machine(unsure);
  const TableLibrary library;
  const Communicator made = made_ring({0, 1, 2});
  const CollectiveJob job = job_of(machine, library, made);
  CollectiveRun run = run_of();
  const double misfit = variance_of(job, run), flow = 0.8;  // of 10 us
  const int link = link_of(unsure, 0, 1), host = unsure.to_host(unsure.gpu(0)).links.front();
  CHECK_THAT(machine.rel_error(link), WithinRel(0.2, kExact));
  run.limited_by = {host, link};
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel(std::pow(0.2 * flow, 2), 1e-6));
  run.limited_by = {kOwnCap};
  run.plan.latency_terms = terms_of({0.3e-6, 0.4e-6});
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel(0.03 * 0.03 + 0.04 * 0.04, 1e-6));
  run.plan.latency_terms.clear();
  run.plan.cost.set(Figure::kLinks, terms_of({0.1}));
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel(std::pow(0.1 * flow, 2), 1e-6));
  run.plan.cost.set(Figure::kLinks, {});
  run.plan.cost.set(Figure::kBlock, terms_of({0.1, -0.2}));
  run.plan.cost.set(Figure::kNetwork, terms_of({0.5}));
  run.plan.cost.channel_Bps = 5e9;
  run.plan.cost.network_Bps = 6e9;
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel((0.01 + 0.04) * flow * flow, 1e-6));
  run.plan.cost.network_Bps = 4e9;  // proxies are slower
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel(0.25 * flow * flow, 1e-6));
  // Blocks of a ring in a node share its links: 8 MB on each hop take 4 blocks of 5 GB/s 0.4 ms. Where links alone
  // would take as long, the sixth powers add up, and each makes half of the time; far longer, and blocks do not limit.
  run.limited_by = {host};
  run.plan.links_s = 8e6 / (4 * 5e9);
  CHECK_THAT(variance_of(job, run) - misfit, WithinRel(std::pow(0.5 * 0.5 * flow, 2), 0.05));
  run.plan.links_s = 1;
  CHECK_THAT(variance_of(job, run), WithinRel(misfit, 1e-6));
  // hops between nodes that pass while bytes flow: of 5 and 8 us 3.57 are hidden, and both count by their squares
  CollectiveRun hidden = run_of();
  hidden.plan.between_s = 5e-6;
  hidden.plan.hidden_s = 5e-6 + 8e-6 - std::hypot(5e-6, 8e-6);
  hidden.plan.latency_terms = terms_of({0.1e-6, 0.5e-6});
  hidden.plan.cost.set(Figure::kBlock, terms_of({0.1}));
  hidden.plan.cost.channel_Bps = 5e9;
  const double both = std::hypot(5, 8), time = 10;
  CHECK_THAT(variance_of(job, hidden) - misfit, WithinRel(std::pow(0.1 / time, 2) + std::pow(0.5 * 5 / both / time, 2) +
                                                              std::pow(0.1 * 64 / both / time, 2),
                                                          1e-6));
}

// source of the widths: what the program assumes of what nobody measured, sim/forecast/collective_forecast.cpp
TEST_CASE("how sure a forecast is: wider by what was never measured", "[physics][made]") {
  const TableLibrary library;
  const Cluster& alps = catalogue().machine("alps")->cluster();
  Communicator made = made_ring({0, 1, 2, 3}), nodes = made;
  nodes.nodes = 4;
  const auto added = [&](const std::string& algorithm, bool between) {
    const CollectiveJob job =
        job_of(between ? alps : catalogue().machine("alps")->lone_node(), library, between ? nodes : made);
    return std::sqrt(std::max(0.0, variance_of(job, run_of(algorithm)) - variance_of(job, run_of())));
  };
  for (const char* algorithm : {"collnet_direct", "collnet_chain", "nvls"})  // twice or half, at 90 %
    CHECK_THAT(added(algorithm, true), WithinRel(std::log(2) / 1.645, 0.01));
  for (const char* algorithm : {"nvls_tree", "pat"}) CHECK_THAT(added(algorithm, true), WithinRel(0.3, 1e-6));
  CHECK(added("tree", true) == 0);
  for (const char* algorithm : {"nvls", "tree", "pat"}) CHECK(added(algorithm, false) == 0);
  // host memory of a CPU that nobody measured: all_reduce and all_gather took 10 to 26 % longer on one that was
  const auto dgx1 = made_platform("p100-dgx1", {});
  const Cluster old(*dgx1);
  const Communicator host = made_ring({0, 1, 2}, {1}), peers = made_ring({0, 1, 2}), pair = made_ring({0, 1}, {1});
  const auto variance = [&](const Communicator& one) { return variance_of(job_of(old, library, one), run_of()); };
  const double more = std::sqrt(variance(host) - variance(peers));
  CHECK(1.645 * more > std::log(1.26));
  CHECK(more < std::log(1.26));
  CHECK_THAT(variance(pair), WithinRel(variance(peers), kExact));
}

TEST_CASE("how sure a forecast is: wider by each doubling of nodes beyond those measured", "[physics]") {
  Calibration calibration;
  calibration.scatter = {{"left_out.nccl_network", 0, 1e15, 0.1, 9},
                         {"left_out.nccl_nodes_doubled", 0, 1e15, 0.2, 9},
                         {"left_out.mpi_network", 0, 1e15, 0.1, 9},
                         {"left_out.mpi_nodes_doubled", 0, 1e15, 0.05, 9},
                         {"mpi_collective_network", 0, 1e15, 0, 9}};
  const auto misfit = [&](bool messages, int nodes) {
    return uncertainty::misfit_of(calibration, {messages, nodes, "all_reduce"}, 1e6);
  };
  // nothing measured between nodes counts as two nodes
  CHECK_THAT(misfit(false, 2), WithinRel(0.1, kExact));
  CHECK_THAT(misfit(false, 16), WithinRel(std::hypot(0.1, 3 * 0.2), kExact));
  CHECK_THAT(misfit(true, 16), WithinRel(std::hypot(0.1, 3 * 0.05), kExact));
  calibration.scatter.push_back({"collective_network", 0, 1e15, 0.3, 9, 64});
  const double fitted = std::hypot(0.1, 0.3);
  CHECK_THAT(misfit(false, 64), WithinRel(fitted, kExact));
  CHECK_THAT(misfit(false, 16), WithinRel(fitted, kExact));
  CHECK_THAT(misfit(false, 256), WithinRel(std::hypot(fitted, 2 * 0.2), kExact));
}

TEST_CASE("how sure a forecast is: what parts left out are off by is no part of operations that were fitted",
          "[physics]") {
  Calibration calibration;
  const double MiB = 1048576;
  calibration.scatter = {{"left_out.nccl", 0, 1e15, 0.4, 9},
                         {"left_out.nccl_network", 0, 1e15, 0.4, 9},
                         {"left_out.nccl_nodes_doubled", 0, 4 * MiB, 0.2, 9},
                         {"left_out.nccl_nodes_doubled", 4 * MiB, 1e15, 0.05, 9},
                         {"left_out.mpi_network", 0, 1e15, 0.4, 9},
                         {"collective", 0, 1e15, 0.3, 9},
                         {"collective_network", 0, 1e15, 0.3, 9, 8, {"all_reduce", "broadcast"}},
                         {"mpi_collective_network", 0, 1e15, 0.3, 9, 8, {"alltoall"}}};
  const auto misfit = [&](const uncertainty::Kind& kind, double size_B = 1e6) {
    return uncertainty::misfit_of(calibration, kind, size_B);
  };
  CHECK_THAT(misfit({false, 8, "all_reduce"}), WithinRel(0.3, kExact));
  CHECK_THAT(misfit({false, 2, "broadcast"}), WithinRel(0.3, kExact));
  CHECK_THAT(misfit({false, 8, "alltoall"}), WithinRel(0.5, kExact));
  CHECK_THAT(misfit({true, 8, "alltoall"}), WithinRel(0.3, kExact));
  CHECK_THAT(misfit({true, 8, "all_reduce"}), WithinRel(0.5, kExact));
  CHECK_THAT(misfit({false, 1, "all_reduce"}), WithinRel(0.5, kExact));  // in a node parts are counts of GPUs too
  // by the size's own row for each doubling
  CHECK_THAT(misfit({false, 32, "all_reduce"}), WithinRel(std::hypot(0.3, 2 * 0.2), kExact));
  CHECK_THAT(misfit({false, 32, "all_reduce"}, 4 * MiB), WithinRel(std::hypot(0.3, 2 * 0.05), kExact));
}

TEST_CASE("a library of which nothing was fitted is no surer than the one that was", "[physics]") {
  const auto width = [](const char* library) {
    const Json answer = ask({{"platform", "abci-a100"},
                             {"kind", "collective"},
                             {"op", "all_reduce"},
                             {"nodes", 8},
                             {"gpus_per_node", 8},
                             {"size_B", 67108864},
                             {"library", library}});
    return answer["time_high_s"].get<double>() / answer["time_s"].get<double>();
  };
  CHECK(width("mpi-cray") > width("mpi-openmpi"));
  CHECK(width("nccl-2.27") > width("nccl-2.8"));
}

TEST_CASE("forecast beside others: who they are, and how much wider it is", "[physics][made]") {
  const TableLibrary library;
  const Cluster &lone = catalogue().machine("alps")->lone_node(), &alps = catalogue().machine("alps")->cluster();
  const Communicator a = made_ring({0, 1}), b = made_ring({1, 2}), c = made_ring({3, 0});
  Communicator two = a;
  two.nodes = 2;
  const auto beside = [](double alone_s, double together_s) {
    collective::Contended one{run_of(), run_of(), false};
    one.alone.flow_s = alone_s - one.alone.plan.latency_s;
    one.together.flow_s = together_s - one.together.plan.latency_s;
    return one;
  };
  std::vector<CollectiveJob> jobs{job_of(lone, library, a), job_of(lone, library, b, "all_gather", 4e6),
                                  job_of(lone, library, c, "reduce", 2e6)};
  jobs[2].launching = {launch::Kind::kProcess, 1, {1e-6, 1e-6, 1e-6}, {1e-6, 1e-6, 1e-6}, ""};
  const std::vector<collective::Contended> all{beside(10e-6, 25e-6), beside(20e-6, 30e-6), beside(40e-6, 50e-6)};
  const CollectiveForecast forecast = collective::forecast_together(jobs, all);
  CHECK_THAT(forecast.time_s, WithinRel(25e-6, kExact));
  REQUIRE(forecast.beside);
  CHECK_THAT(forecast.beside->alone_s, WithinRel(10e-6, kExact));
  REQUIRE(forecast.beside->others.size() == 2);
  const auto& [op, gpus, nodes, size_B, name, time_s, alone_s] = forecast.beside->others[0];
  CHECK(op == "all_gather");
  CHECK(gpus == std::vector<int>{1, 2});
  CHECK(nodes.empty());
  CHECK(size_B == 4e6);
  CHECK(name == "nccl-2.18");
  CHECK_THAT(time_s, WithinRel(30e-6, kExact));
  CHECK_THAT(alone_s, WithinRel(20e-6, kExact));
  CHECK_THAT(forecast.beside->others[1].time_s, WithinRel(52e-6, kExact));  // with its own launch
  CHECK_THAT(forecast.beside->others[1].alone_s, WithinRel(42e-6, kExact));
  CHECK(says(forecast, "GPUs in several communicators (0, 1)"));
  CHECK(says(forecast, "share links fairly: measured on 4 H100 and H200 only, with"));
  const double own = variance_of(jobs[0], all[0].together);
  CHECK_THAT(variance_of(forecast.interval, 25e-6) - own, WithinRel(std::pow(0.45 * (1 - 10.0 / 25), 2), 1e-6));
  // not slowed: no wider, and nothing to say
  const std::vector<collective::Contended> free{beside(10e-6, 10.05e-6), beside(20e-6, 30e-6)};
  const CollectiveForecast quiet =
      collective::forecast_together({jobs[0], job_of(lone, library, made_ring({2, 3}))}, free);
  CHECK(quiet.warnings.empty());
  std::vector<collective::Contended> late = free;
  late[0].shared_late = true;
  CHECK(says(collective::forecast_together({jobs[0], jobs[1]}, late), kSharedLate));
  // between nodes, of which nothing was measured: twice as wide; GPUs of other nodes are others
  std::vector<CollectiveJob> across{job_of(alps, library, two), job_of(alps, library, two)};
  across[1].order = {3, 2, 0, 1};
  const CollectiveForecast cluster = collective::forecast_together(across, {all[0], all[1]});
  CHECK(cluster.beside->others[0].nodes == std::vector<int>{3, 2});
  CHECK_FALSE(says(cluster, "several communicators"));
  CHECK(says(cluster, "measured on 4 H100 and H200 only, never between nodes"));
  CHECK_THAT(variance_of(cluster.interval, 25e-6) - variance_of(across[0], all[0].together),
             WithinRel(std::pow(0.6 * (1 - 10.0 / 25), 2), 1e-6));
  across[1].order = {3, 1, 0, 2};
  CHECK(says(collective::forecast_together(across, {all[0], all[1]}), "GPUs in several communicators (0, 1)"));
}

}  // namespace linkcast::test::collective_forecast_test
