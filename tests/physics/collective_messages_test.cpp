// Operations made of messages: start-ups of sizes and protocols, what each message takes of blocks, cards and links,
// and what is said of all of them together.
#include "sim/forecast/collective_messages.hpp"

#include <cmath>
#include <map>

#include "sim/forecast/collective_run.hpp"
#include "sim/forecast/host_path.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_messages_test {

namespace {

using collective::CollectiveJob;

constexpr double kNic_Bps = 0.92 * 50e9;  // NDR, 400 Gb/s, and what networks attain that nobody measured
const std::string kSwitch =
    "fabric single_switch:nodes=64,radix=512,routing=adaptive,source=test,links.host.cable=ib_ndr,"
    "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test";

/// Base of messages 10 us, Simple 2 more, a hop between nodes 5 and 8 us; blocks as fast as said. What the ring's
/// Simple costs more than its LL is something else.
std::string machine(double block_Bps, double network_Bps) {
  Values values = {{"ring.LL.base_s", 4e-6},        {"ring.LL.hop_s", 1e-6},        {"ring.Simple.base_s", 7e-6},
                   {"ring.Simple.hop_s", 2e-6},     {"sendrecv.base_s", 10e-6},     {"sendrecv.simple_s", 2e-6},
                   {"network.LL.hop_s", 5e-6},      {"network.Simple.hop_s", 8e-6}, {"sendrecv.channel_Bps", block_Bps},
                   {"sendrecv.unidirectional", 1.5}};
  for (const char* protocol : {"LL", "Simple"}) {
    values[std::string("ring.") + protocol + ".channel_Bps"] = block_Bps;
    values[std::string("ring.") + protocol + ".crowding"] = 0;
    values[std::string("network.") + protocol + ".channel_Bps"] = network_Bps;
  }
  const std::string id = "messages-" + std::to_string(block_Bps) + "-" + std::to_string(network_Bps);
  catalogue().adopt(id, catalogue().machine("hgx-h100")->platform().wiring(), made_calibration("hgx-h100", values));
  return id;
}

Json between(const std::string& id, int nodes, int gpus, const std::string& op, double size_B,
             const Json& more = Json::object()) {
  Json query{{"platform", id},
             {"kind", "collective"},
             {"launch", "graph"},
             {"op", op},
             {"nodes", nodes},
             {"size_B", size_B},
             {"gpus_per_node", gpus},
             {"library", "nccl-2.18"},
             {"edits", Json::array({kSwitch})}};
  if (more.contains("sizes_B")) query.erase("size_B");
  query.update(more);
  return ask(query);
}

double latency(const Json& answer) { return answer["latency_s"].get<double>(); }
double flow_s(const Json& answer) { return answer["time_s"].get<double>() - latency(answer); }

Json only(int ranks, const std::map<std::pair<int, int>, double>& parts) {
  Json rows(std::vector<std::vector<double>>(static_cast<std::size_t>(ranks),
                                             std::vector<double>(static_cast<std::size_t>(ranks), 0)));
  for (const auto& [pair, bytes] : parts)
    rows[static_cast<std::size_t>(pair.first)][static_cast<std::size_t>(pair.second)] = bytes;
  return rows;
}

}  // namespace

TEST_CASE("messages between nodes: cards carry what each rank sends and gets", "[physics][messages]") {
  const std::string fast = machine(1e12, 1e12);
  for (const int nodes : {2, 3, 6}) {
    const double n = nodes, size = 600e6;
    INFO(nodes);
    // ranks that only send or only receive start one of their two jobs: 0.9 of the base
    const double grown = 1 + key::network_hop_growth.prior->value * (std::log2(n) - 1);
    const auto takes = [&](const char* op, double bytes, double begun = 1) {
      const Json answer = between(fast, nodes, 1, op, size);
      CHECK_THAT(flow_s(answer), WithinRel(bytes / kNic_Bps, 0.02));  // the fabric's links, or a little of headers
      CHECK_THAT(latency(answer), WithinRel(begun * (10e-6 + 2e-6) + 8e-6 * grown, kExact));
      CHECK(answer["protocol"] == "Simple");
      CHECK(answer["algorithm"] == "messages");
      return answer;
    };
    CHECK(takes("sendrecv", size)["messages"] == nodes);
    CHECK(takes("gather", size * (n - 1) / n, 0.9)["messages"] == nodes - 1);
    CHECK(takes("scatter", size * (n - 1) / n, 0.9)["messages"] == nodes - 1);
    const Json all = takes("alltoall", size * (n - 1) / n);
    CHECK(all["messages"] == nodes * (nodes - 1));
    CHECK(all["engine"] == "reduced");
    const Json direct = between(fast, nodes, 1, "alltoall", size, {{"engine", "direct"}});
    CHECK_THAT(flow_s(direct), WithinRel(flow_s(all), 1e-6));
    CHECK(direct["engine"] == "direct");
    CHECK(direct["messages"] == all["messages"]);
    CHECK(direct["classes"] == nodes * (nodes - 1));
    CHECK_FALSE(direct.contains("why_direct"));
  }
}

TEST_CASE("messages between nodes: their blocks, and proxies where these are slower", "[physics][messages]") {
  for (const auto& [block, network] : {std::pair{0.2e9, 0.9e9}, {0.9e9, 0.2e9}}) {
    const std::string slow = machine(block, network);
    const Json one = between(slow, 2, 1, "sendrecv", 64e6);
    CHECK_THAT(flow_s(one), WithinRel(64e6 / (one["blocks"].get<double>() * 0.2e9), 1e-6));
    CHECK(one["limited_by"] == "thread blocks");
    CHECK(one["bottleneck"] == Json::array());
    // the same of an alltoall, messages together or each by itself, whose ranks copy their own part as well
    for (const int gpus : {1, 3})
      for (const char* engine : {"reduced", "direct"}) {
        const Json all = between(slow, 3, gpus, "alltoall", 64e6, {{"engine", engine}});
        const double ranks = 3 * gpus, each = all["blocks"].get<double>();
        CHECK(flow_s(all) >= 64e6 / ranks / (each * 0.2e9) * (1 - 1e-9));
        CHECK_THAT(flow_s(all), WithinRel(flow_s(between(slow, 3, gpus, "alltoall", 64e6)), 1e-6));
      }
  }
}

TEST_CASE("messages between nodes that blocks limit are as unsure as the blocks are", "[physics][messages]") {
  Calibration calibration = catalogue().machine(machine(0.2e9, 0.3e9))->platform().calibration();
  const auto variance = [&](const char* engine, const std::string& unsure) {
    Calibration made = calibration;
    if (!unsure.empty()) made.parameters.at(unsure).stderr_ = 0.4 * made.parameters.at(unsure).value;
    const std::string id = "messages-unsure" + unsure;
    catalogue().adopt(id, catalogue().machine("hgx-h100")->platform().wiring(), made);
    const Json all = between(id, 3, 1, "alltoall", 512e6, {{"engine", engine}});
    CHECK(all["limited_by"] == "thread blocks");
    CHECK(all["bottlenecks"] == 0);
    return std::pair{std::pow(std::log(all["time_high_s"].get<double>() / all["time_s"].get<double>()) / 1.645, 2),
                     flow_s(all) / all["time_s"].get<double>()};
  };
  for (const char* engine : {"direct", "reduced"}) {
    const auto [sure, part] = variance(engine, "");
    CHECK_THAT(variance(engine, "nccl.sendrecv.channel_Bps").first - sure, WithinRel(std::pow(0.4 * part, 2), 1e-3));
    CHECK_THAT(variance(engine, "nccl.network.Simple.channel_Bps").first, WithinRel(sure, 1e-6));  // proxies keep up
  }
}

TEST_CASE("messages: between nodes small ones take no LL, a group starts with its slowest", "[physics][messages]") {
  const std::string fast = machine(1e12, 1e12);
  const Json small = between(fast, 2, 1, "sendrecv", 8);
  CHECK(small["protocol"] == "Simple");
  CHECK_THAT(latency(small), WithinRel(10e-6 + 2e-6 + 8e-6, kExact));
  // a small message beside a large one: the protocol shown is that of the largest
  const Json mixed = between(fast, 3, 1, "alltoallv", 0, {{"sizes_B", only(3, {{{0, 1}, 8}, {{1, 2}, 80e6}})}});
  CHECK(mixed["protocol"] == "Simple");
  const double grown = 1 + key::network_hop_growth.prior->value * (std::log2(3) - 1);
  CHECK_THAT(latency(mixed), WithinRel(10e-6 + 2e-6 + 8e-6 * grown, kExact));
  CHECK_THAT(flow_s(mixed), WithinRel(80e6 / kNic_Bps, 0.02));
  CHECK(mixed["messages"] == 2);
  CHECK_THAT(mixed["algbw_Bps"].get<double>() * mixed["time_s"].get<double>(), WithinRel(80e6, kExact));
  // inside a node nothing crosses, between GPUs of one node of several neither
  const Json inside{{"platform", fast}, {"kind", "collective"}, {"launch", "graph"},     {"op", "sendrecv"},
                    {"gpus", {0, 1}},   {"size_B", 8},          {"library", "nccl-2.18"}};
  CHECK_THAT(latency(ask(inside)), WithinRel(10e-6, kExact));
  // which way round: rank 1 of the first node is its second GPU, and the second node begins after the first one's
  const Json local = between(fast, 2, 2, "alltoallv", 0, {{"sizes_B", only(4, {{{0, 1}, 800e6}})}}),
             away = between(fast, 2, 2, "alltoallv", 0, {{"sizes_B", only(4, {{{1, 2}, 800e6}})}});
  CHECK(flow_s(local) < 0.5 * flow_s(away));
  CHECK_THAT(flow_s(away), WithinRel(800e6 / kNic_Bps, 0.02));
}

TEST_CASE("messages that miss 16 bytes are read in narrower accesses, those of sendrecv not", "[physics][messages]") {
  const std::string slow = machine(0.2e9, 1e12);
  const auto rate = [&](const std::string& op, double size, int ranks) {
    Json query{{"platform", slow}, {"kind", "collective"},  {"launch", "graph"},     {"op", op},
               {"size_B", size},   {"gpus", Json::array()}, {"library", "nccl-2.18"}};
    for (int k = 0; k < ranks; ++k) query["gpus"].push_back(k);
    return size / flow_s(ask(query));
  };
  const double even = 64.0 * (1 << 20);
  // messages of 16 bytes more, of 8 and of 4: ten sixteenths of what is left to rings
  const double left = 0.65 * 10 / 16;
  CHECK_THAT(rate("alltoall", even + 4 * 16, 4), WithinRel(rate("alltoall", even, 4), 1e-3));
  for (const double off : {8.0, 4.0}) {
    CHECK_THAT(rate("alltoall", even + 4 * off, 4) / rate("alltoall", even, 4), WithinRel(left, 0.2));
    CHECK_THAT(rate("gather", even + 4 * off, 4) / rate("gather", even, 4), WithinRel(left, 0.2));
    CHECK_THAT(rate("sendrecv", even + off, 4), WithinRel(rate("sendrecv", even, 4), 1e-3));
  }
}

TEST_CASE("messages: what limits those that end last, and what all of them load", "[physics][messages]") {
  const catalogue::MachinePtr id = catalogue().edited(catalogue().machine(machine(1e12, 1e12)), {kSwitch});
  const Cluster& cluster = id->cluster();
  activities::ClusterProblem problem(cluster);
  Activity one;
  one.work_B = 1e6;
  for (const int node : {0, 1, 2, 3}) {
    problem.pass_fabric(cluster.endpoint(node, 0), cluster.endpoint(node + 1, 0), 1);
    problem.add(one);
  }
  REQUIRE(problem.problem().capacity_Bps.size() > 1);
  Solution solution;
  solution.makespan_s = 2;
  solution.finish_s = {2, 1.9, 2 * (1 - 1e-10), 2};
  solution.limited_by = {1, 0, 0, kOwnCap};
  std::vector<int> keys{problem.key(0), problem.key(1)};
  std::sort(keys.begin(), keys.end());
  CHECK(collective::last_limits(problem, solution) == keys);
  solution.finish_s = {2, 1.9, 1.99, 2};
  CHECK(collective::last_limits(problem, solution) == std::vector<int>{problem.key(1)});
  solution.limited_by = {kOwnCap, 0, 0, kOwnCap};  // their blocks
  CHECK(collective::last_limits(problem, solution) == std::vector<int>{kOwnCap});
  solution.limited_by.clear();  // a solver that cannot tell
  CHECK(collective::last_limits(problem, solution).empty());
  // per byte of one message each port carries n - 1 of them out and n - 1 in, whichever engine adds them up
  Solver& solver = catalogue().solver("fluid");
  const int nodes = 4;
  const Communicator made = *id->communicator("nccl-2.18", {0}, nodes);
  for (const char* engine : {"direct", "reduced"}) {
    CollectiveJob job{cluster, libraries().get("nccl-2.18"), made, collectives().get("alltoall"), "alltoall", 400e6};
    job.engine = engine;
    const collective::MessageAnswer answer = collective::run_messages(job, {true, true}, solver);
    CHECK(answer.busy.has_value());
    std::map<int, double> loads;
    for (const Use& use : answer.loads) loads[use.constraint] += use.weight;
    for (int node = 0; node < nodes; ++node) {
      const int out = cluster.key_of_fabric_link(2 * cluster.endpoint(node, cluster.nic_of(0)));
      INFO(engine << " " << node);
      CHECK_THAT(loads[out], WithinRel(nodes - 1, 1e-9));
      CHECK_THAT(loads[out + 1], WithinRel(nodes - 1, 1e-9));
    }
    const collective::MessageAnswer bare = collective::run_messages(job, {}, solver);
    CHECK_FALSE(bare.busy.has_value());
    CHECK(bare.loads.empty());
    CHECK_THAT(bare.plan.busiest_B, WithinRel(100e6, kExact));
  }
  // of messages of several sizes per byte of the largest
  const auto own = collectives().get("alltoallv").with_parts({0, 30e6, 0, 0, 0, 10e6, 0, 0, 0});
  const Communicator three = *id->communicator("nccl-2.18", {0}, 3);
  const CollectiveJob uneven{cluster, libraries().get("nccl-2.18"), three, *own, "alltoallv", 30e6};
  std::map<int, double> loads;
  for (const Use& use : collective::run_messages(uneven, {false, true}, solver).loads)
    loads[use.constraint] += use.weight;
  const auto out = [&](int node) { return cluster.key_of_fabric_link(2 * cluster.endpoint(node, cluster.nic_of(0))); };
  CHECK_THAT(loads[out(0)], WithinRel(1, 1e-9));
  CHECK_THAT(loads[out(1)], WithinRel(1.0 / 3, 1e-9));
  CHECK_THAT(loads[out(1) + 1], WithinRel(1, 1e-9));
  CHECK(loads.count(out(2)) == 0);
}

TEST_CASE("messages: how many ranks each engine takes, and what cannot be asked", "[physics][messages]") {
  const std::string id = machine(1e12, 1e12);
  const auto job_of = [&](int nodes, const Communicator& made, const std::string& engine) {
    CollectiveJob job{catalogue().machine(id)->lone_node(),
                      libraries().get("nccl-2.18"),
                      made,
                      collectives().get("alltoall"),
                      "alltoall",
                      1e6};
    job.engine = engine;
    static_cast<void>(nodes);
    return job;
  };
  Communicator made = made_ring({0, 1});
  const auto refused = [&](int nodes, const std::string& engine) {
    made.nodes = nodes;
    return error_of([&] { collective::check_ranks(job_of(nodes, made, engine), "because"); });
  };
  for (const char* engine : {"", "direct"}) {
    CHECK(refused(512, engine) == "no error");
    CHECK(refused(513, engine).find("1026 ranks: because, and the direct engine takes at most 1024") !=
          std::string::npos);
  }
  const auto error = [&](const std::string& op, const Json& more) {
    Json query{{"platform", id},
               {"kind", "collective"},
               {"op", op},
               {"nodes", 2},
               {"size_B", 8e6},
               {"gpus_per_node", 2},
               {"library", "nccl-2.18"},
               {"edits", Json::array({kSwitch})}};
    query.update(more);
    return query::answer(catalogue(), query).value("error", "");
  };
  CHECK(error("sendrecv", {{"engine", "reduced"}}).find("between every pair of ranks") != std::string::npos);
  CHECK(error("all_reduce", {{"engine", "direct"}}).find("is no operation of messages") != std::string::npos);
  CHECK(error("gather", {{"algorithm", "ring"}}).find("take no algorithm") != std::string::npos);
  CHECK(error("gather", {{"engine", "direct"}}).empty());
}

TEST_CASE("messages in a node: queues of first and last links, and host memory between GPUs that are no peers",
          "[physics][messages]") {
  // NVSwitch: three messages of other GPUs to one share its last link; each has as many blocks as it gets
  for (const double block : {3e9, 20e9}) {
    const std::string id = machine(block, 1e12);
    const Platform& node = catalogue().machine(id)->platform();
    const double link = 18 * parameter(node, "cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
    const auto takes = [&](const std::map<std::pair<int, int>, double>& parts) {
      Json query{{"platform", id},       {"kind", "collective"},   {"launch", "graph"},        {"op", "alltoallv"},
                 {"gpus", {0, 1, 2, 3}}, {"library", "nccl-2.18"}, {"sizes_B", only(4, parts)}};
      return ask(query);
    };
    const double size = 256.0 * (1 << 20);
    for (const bool in : {true, false}) {
      const auto pair = [&](int other) { return in ? std::pair{other, 0} : std::pair{0, other}; };
      const Json one = takes({{pair(1), size}}), three = takes({{pair(1), size}, {pair(2), size}, {pair(3), size}});
      const double blocks = one["blocks"].get<double>();
      // blocks and the link hold it back together: the sixth powers of what each alone would take add up
      const double alone_s = std::pow(std::pow(size / (blocks * block), 6) + std::pow(size / link, 6), 1.0 / 6);
      // in step, all blocks send and then copy, which takes half of their time, while the link idles: of that the more
      // is left the fewer chunks of 512 KiB a block has; the last 128 KiB are copied out in any case
      const double copy_s = 0.5 * size / (blocks * block), chunks = size / blocks / 524288;
      const double lost_s = std::max(0.0, size / link + copy_s - alone_s) / (1 + chunks / 12);
      CHECK((lost_s > 0) == (block > 10e9));
      CHECK_THAT(flow_s(one), WithinRel(alone_s + copy_s / (4 * chunks) + lost_s, 1e-6));
      const double rate = 3 * size / flow_s(three);
      CHECK(rate <= link * (1 + kExact));
      CHECK(rate > size / flow_s(one));
    }
  }
}

}  // namespace linkcast::test::collective_messages_test
