// Replays over nodes against forecasts of single messages and collectives.
#include <fstream>

#include "sim/query/query.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/unlearned.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_cluster_test {

namespace {

/// @param request  all but its trace
double makespan_s(replay::ReplayRequest request, const Json& header, const std::string& lines) {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << header.dump() << '\n' << lines;
  request.parts = {{file}};
  return replay::to_json(replay::replay(test::catalogue(), request))["makespan_s"].get<double>();
}

Json trace_header(int ranks, const Json& groups) {
  return {{"schema", "trace/1"}, {"name", "t"}, {"ranks", ranks}, {"source", "test"}, {"groups", groups}};
}

/// @param groups  ranks of each, which call the operation once, all at the same time
double of_groups_s(const replay::ReplayRequest& request, const std::string& op,
                   const std::vector<std::vector<int>>& groups) {
  Json named = Json::object();
  std::string lines;
  for (const std::vector<int>& ranks : groups) {
    const std::string name = "group" + std::to_string(named.size());
    named[name] = ranks;
    for (const int rank : ranks)
      lines += Json{{"rank", rank}, {"kind", "collective"}, {"op", op}, {"group", name}, {"size_B", 1e9}}.dump() + "\n";
  }
  return makespan_s(request, trace_header(request.nodes * request.gpus_per_node, named), lines);
}

/// @param lines  events of ranks 0 to 2, one GPU a node
double makespan_s(const std::string& platform, const std::string& lines, const std::string& transport = "",
                  const std::string& library = "") {
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine(platform);
  request.nodes = 3;
  request.gpus_per_node = 1;
  request.transport = transport;
  request.library = library;
  return makespan_s(request, trace_header(3, {{"pair", {0, 1}}}), lines);
}

std::string message(int from, int to, const std::string& stream, double size_B) {
  const auto one = [&](int rank, int peer, const char* kind) {
    return Json{{"rank", rank}, {"kind", kind}, {"stream", stream}, {"peer", peer}, {"size_B", size_B}}.dump() + "\n";
  };
  return one(from, to, "send") + one(to, from, "recv");
}

double forecast_s(const Json& query) {
  return query::answer_or_throw(test::catalogue(), query, "test")["time_s"].get<double>();
}

double p2p_s(const std::string& platform, int to, double size_B, const std::string& transport = "") {
  Json query{{"kind", "p2p"},
             {"platform", platform},
             {"src", "node0/gpu0"},
             {"dst", "node" + std::to_string(to) + "/gpu0"},
             {"size_B", size_B}};
  if (!transport.empty()) query["transport"] = transport;
  return forecast_s(query);
}

/// Start-ups and rates of a message on apenet-plus that is staged in host memory (paper 004, section V-C): copied down,
/// sent when all of it is there, copied up.
struct StagedParts {
  double start_s = parameter("apenet-plus", "transport.pinned.r0.startup_s");
  double send_s = parameter("apenet-plus", "transport.mpi_network_host.r0.startup_s");
  double down_Bps = parameter("apenet-plus", "cable.pcie2.to_host_Bps");
  double up_Bps = 8e9;  // source: topologies/apenet-plus.json, PCI Express 2.0 of 16 lanes
  double host_Bps = parameter("apenet-plus", "transport.mpi_network_host.r0.bandwidth_Bps");
  double gpu_Bps = parameter("apenet-plus", "transport.gpudirect_rdma.r0.bandwidth_Bps");
};

}  // namespace

TEST_CASE("replay over nodes: one message takes what its forecast says", "[replay]") {
  for (const std::string platform : {"apenet-plus", "summit", "alps"})
    for (const double size_B : {4096.0, 16777216.0}) {
      INFO(platform << " " << size_B);
      CHECK_THAT(makespan_s(platform, message(0, 1, "a", size_B)), WithinRel(p2p_s(platform, 1, size_B), kExact));
    }
}

TEST_CASE("replay over nodes: a card with an engine gives two messages together what it gives one", "[replay]") {
  constexpr double kSize = 16777216;
  const double both_s = makespan_s("apenet-plus", message(0, 1, "a", kSize) + message(0, 2, "b", kSize));
  // one message of both sizes has the same bytes and one start-up; node 2 is one hop of 0.2 us further
  CHECK_THAT(both_s, WithinRel(p2p_s("apenet-plus", 1, 2 * kSize), 1e-3));
  const double own_way_s = makespan_s("apenet-plus", message(0, 1, "a", kSize) + message(2, 0, "b", kSize));
  CHECK_THAT(own_way_s, WithinRel(p2p_s("apenet-plus", 1, kSize), 1e-3));  // in and out are apart
}

TEST_CASE("replay over nodes: a card that receives starts messages of a GPU meanwhile", "[replay]") {
  constexpr double kSize = 131072, kStart_s = 3e-6;  // source: topologies/apenet-plus.json, paper 004 section V-A
  const double alone_s = p2p_s("apenet-plus", 1, kSize);
  const std::string both = message(0, 1, "a", kSize) + message(1, 0, "b", kSize);
  CHECK_THAT(makespan_s("apenet-plus", both), WithinRel(alone_s + kStart_s, 1e-6));
  const double host_s = makespan_s("apenet-plus", message(0, 1, "a", kSize), "mpi_network_host");
  CHECK_THAT(makespan_s("apenet-plus", both, "mpi_network_host"), WithinRel(host_s, 1e-6));  // the driver starts those
}

TEST_CASE("replay over nodes: a collective over nodes takes what its forecast says", "[replay]") {
  const auto call = [](int rank) {
    return Json{{"rank", rank}, {"kind", "collective"}, {"op", "all_reduce"}, {"group", "pair"}, {"size_B", 1048576}}
               .dump() +
           "\n";
  };
  const double alone_s = forecast_s({{"kind", "collective"},
                                     {"launch", "graph"},
                                     {"platform", "alps"},
                                     {"op", "all_reduce"},
                                     {"nodes", 2},
                                     {"gpus_per_node", 1},
                                     {"size_B", 1048576},
                                     {"calls", 1}});
  CHECK_THAT(makespan_s("alps", call(0) + call(1)), WithinRel(alone_s, kExact));
}

namespace {

/// Four nodes, two at each of two leaves that one cable to the spine joins; a cable is as fast as a node's port.
const char* const kTwoLeaves =
    "fabric fat_tree:levels=2,nodes=4,switches_per_node=1,endpoints_per_leaf=8,radix=64,leaves=2,spines=1,"
    "uplinks_per_leaf=1,links.leaf_spine.bandwidth=25GB/s,links.leaf_spine.latency=300ns,"
    "links.leaf_spine.cable=slingshot";

replay::ReplayRequest on_two_leaves(int gpus) {
  replay::ReplayRequest request;
  request.machine = test::catalogue().edited(test::catalogue().machine(unlearned("alps", false)), {kTwoLeaves});
  request.nodes = 4;
  request.gpus_per_node = gpus;
  request.interval = false;
  return request;
}

/// Collectives of 1 GB that start together. @param groups  nodes of each, on the first `gpus` GPUs of every node
double together_s(const std::string& op, const std::vector<std::vector<int>>& groups, int gpus = 1) {
  std::vector<std::vector<int>> ranks;
  for (const std::vector<int>& nodes : groups) {
    std::vector<int>& of_group = ranks.emplace_back();
    for (const int node : nodes)
      for (int gpu = 0; gpu < gpus; ++gpu) of_group.push_back(node * gpus + gpu);
  }
  return of_groups_s(on_two_leaves(gpus), op, ranks);
}

}  // namespace

TEST_CASE("replay over nodes: collectives share the links between switches", "[replay]") {
  for (const std::string op : {"all_reduce", "all_gather", "alltoall"}) {
    INFO(op);
    const double alone_s = together_s(op, {{0, 2}});
    // Nodes 0, 1 and 2, 3 are at one leaf each. Alone the cable between the leaves carries what the ports do; both
    // cross it, each at half its rate. Start-up of some 20 us is 1e-3 of the 20 ms and more that 1 GB takes.
    CHECK_THAT(together_s(op, {{0, 2}, {1, 3}}), WithinRel(2 * alone_s, 2e-3));
    CHECK_THAT(together_s(op, {{1, 3}}), WithinRel(alone_s, kExact));  // where it is makes no difference here
    CHECK_THAT(together_s(op, {{0, 1}, {2, 3}}), WithinRel(together_s(op, {{0, 1}}), kExact));  // nothing in common
  }
}

TEST_CASE("replay over nodes: a collective shares links with messages", "[replay]") {
  const auto run_s = [](const std::string& lines) {
    return makespan_s(on_two_leaves(1), trace_header(4, {{"pair", {0, 2}}}), lines);
  };
  std::string reduce;
  for (const int rank : {0, 2})
    reduce +=
        Json{{"rank", rank}, {"kind", "collective"}, {"op", "all_gather"}, {"group", "pair"}, {"size_B", 2e9}}.dump() +
        "\n";
  const double alone_s = run_s(reduce);  // 1 GB goes each way
  const double one_s = run_s(message(1, 3, "a", 1e9));
  // over the cable between the leaves, in one of the two directions: both end when it has carried 2 GB
  CHECK_THAT(run_s(reduce + message(1, 3, "a", 1e9)), WithinRel(alone_s + one_s, 0.05));
  CHECK_THAT(run_s(reduce + message(3, 1, "a", 1e9)), WithinRel(alone_s + one_s, 0.05));
}

namespace {

/// On two nodes of four GPUs each.
double on_nodes_s(const std::string& platform, const std::string& op, const std::vector<std::vector<int>>& groups) {
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine(platform);
  request.nodes = 2;
  request.gpus_per_node = 4;
  request.interval = false;
  return of_groups_s(request, op, groups);
}

}  // namespace

TEST_CASE("replay over nodes: a communicator is of its own GPUs", "[replay]") {
  // One GPU of each of two nodes, each with a port of its own: GPU 0 of both, and beside it GPU 1 of both, which must
  // not be taken for GPU 0 too. At one leaf nothing but the ports is in common.
  const double alone_s = on_nodes_s("alps", "all_reduce", {{0, 4}});
  CHECK_THAT(on_nodes_s("alps", "all_reduce", {{0, 4}, {1, 5}}), WithinRel(alone_s, 1e-3));
}

TEST_CASE("replay over nodes: what each node does by itself takes what one of them takes", "[replay]") {
  const std::string op = GENERATE("all_reduce", "all_gather", "alltoall");
  for (const std::string platform : {"alps", "leonardo", "hgx-h100"}) {
    INFO(platform << " " << op);
    CHECK_THAT(on_nodes_s(platform, op, {{0, 1, 2, 3}, {4, 5, 6, 7}}),
               WithinRel(on_nodes_s(platform, op, {{0, 1, 2, 3}}), kExact));
  }
}

TEST_CASE("replay over nodes: rings side by side share detours", "[replay]") {
  // 16 groups of 8 nodes, two cables between any two groups. 32 rings of two GPUs, each with a port at both ends.
  constexpr int kGroups = 16, kNodes = 8, kCables = 2, kGpus = 4;
  replay::ReplayRequest request;
  request.machine = test::catalogue().edited(test::catalogue().machine("alps"),
                                             {"fabric dragonfly:nodes=128,groups=16,global_links=2"});
  request.nodes = 2 * kNodes;
  request.gpus_per_node = kGpus;
  request.interval = false;
  std::vector<std::vector<int>> pairs;
  for (int rank = 0; rank < kNodes * kGpus; ++rank) pairs.push_back({rank, kNodes * kGpus + rank});
  const double alone_s = of_groups_s(request, "all_gather", {pairs.front()});
  const double together_s = of_groups_s(request, "all_gather", pairs);
  // Each moves half of 1 GB over its port, which is no faster than a cable.
  const double direct = 1.0 * kNodes * kGpus / kCables, all = direct / (kGroups - 1);
  CHECK(together_s > all * alone_s * 0.9);
  CHECK(together_s < 2 * alone_s);
  // predict says the same of some of them, in any order
  Json others = Json::array();
  std::vector<std::vector<int>> some = {{1, kGpus + 1}};
  for (int node = kNodes - 1; node >= 0; --node) {
    others.push_back({{"op", "all_gather"}, {"size_B", 1e9}, {"gpus", {0}}, {"nodes", {node, kNodes + node}}});
    some.insert(some.begin() + 1, {node * kGpus, (kNodes + node) * kGpus});
  }
  const Json answer = ask({{"kind", "collective"},
                           {"platform", "alps"},
                           {"op", "all_gather"},
                           {"size_B", 1e9},
                           {"nodes", 2},
                           {"gpus", {1}},
                           {"with", others},
                           {"edits", {"fabric dragonfly:nodes=128,groups=16,global_links=2"}}});
  double longest_s = answer["time_s"].get<double>();
  for (const Json& other : answer["others"]) longest_s = std::max(longest_s, other["time_s"].get<double>());
  CHECK_THAT(of_groups_s(request, "all_gather", some), WithinRel(longest_s, 2e-3));
  // two fill the direct cables
  CHECK_THAT(of_groups_s(request, "all_gather", {pairs[0], pairs[1]}), WithinRel(alone_s, 0.05));
}

TEST_CASE("replay: one node is a cluster of one", "[replay]") {
  const std::string platform = GENERATE("alps", "summit", "hgx-h200");
  const std::string library = GENERATE("", "nccl-2.18", "mpi-openmpi", "mpi-staged");
  if (library.empty() && platform == "summit") return;  // NCCL 2.3, which has no sends
  constexpr double kSize = 4194304;
  const std::string lines = message(0, 1, "a", kSize) + message(1, 2, "b", kSize / 2) +
                            R"({"rank":0,"kind":"copy","copy":"h2d","stream":"c","size_B":65536})"
                            "\n"
                            R"({"rank":1,"kind":"copy","copy":"d2h","stream":"d","size_B":65536})"
                            "\n"
                            R"({"rank":0,"kind":"collective","op":"all_gather","group":"pair","size_B":1048576})"
                            "\n"
                            R"({"rank":1,"kind":"collective","op":"all_gather","group":"pair","size_B":1048576})"
                            "\n";
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","ranks":3,"source":"test","groups":{"pair":[0,1]}})" << '\n'
                      << lines;
  const auto on = [&](int nodes) {
    replay::ReplayRequest request;
    request.machine = test::catalogue().machine(platform);
    request.parts = {{file}};
    request.nodes = nodes;
    request.library = library;
    return replay::to_json(replay::replay(test::catalogue(), request));
  };
  const Json alone = on(0);
  for (const int nodes : {1, 2}) {  // all ranks are on the first one
    CAPTURE(platform, library, nodes);
    const Json among = on(nodes);
    for (const char* key : {"makespan_s", "time_low_s", "time_high_s"})
      CHECK_THAT(among[key].get<double>(), WithinRel(alone[key].get<double>(), kExact));
    CHECK(among["warnings"] == alone["warnings"]);
  }
}

TEST_CASE("replay: the network of one node refuses several", "[replay]") {
  const Json query{{"kind", "replay"},          {"platform", "alps"}, {"trace", "data_parallel"},
                   {"options", {{"ranks", 2}}}, {"network", "node"},  {"nodes", 2}};
  CHECK(query::answer(test::catalogue(), query).value("error", "").find("one node alone") != std::string::npos);
}

TEST_CASE("a staged message whose curve has no rate is copied, sent and copied, one after the other", "[physics]") {
  const StagedParts parts;
  for (const double size_B : {32.0, 131072.0, 4194304.0}) {
    const double down_s = parts.start_s + size_B / parts.down_Bps;
    const double staged_s = down_s + size_B / parts.host_Bps + size_B / parts.up_Bps;
    CHECK_THAT(p2p_s("apenet-plus", 1, size_B, "pinned"), WithinRel(staged_s, 1e-6));
    CHECK_THAT(makespan_s("apenet-plus", message(0, 1, "a", size_B), "pinned"), WithinRel(staged_s, 1e-6));
    // at the source alone: the card writes into the GPU
    CHECK_THAT(p2p_s("apenet-plus", 1, size_B, "pinned_source"), WithinRel(down_s + size_B / parts.gpu_Bps, 1e-6));
  }
  // Without a curve: a copy, a message between hosts, a copy.
  constexpr double large_B = 67108864;
  double parts_s = 0;
  for (const auto& [from, to] : {std::pair{"gpu0", "cpu0"}, {"node0/cpu0", "node1/cpu0"}, {"cpu0", "gpu0"}})
    parts_s += forecast_s({{"kind", "p2p"}, {"platform", "summit"}, {"src", from}, {"dst", to}, {"size_B", large_B}});
  CHECK_THAT(p2p_s("summit", 1, large_B, "pinned"), WithinRel(parts_s, 1e-6));
  const Json made = query::answer(test::catalogue(), {{"kind", "p2p"},
                                                      {"platform", "summit"},
                                                      {"src", "node0/gpu0"},
                                                      {"dst", "node1/gpu0"},
                                                      {"size_B", 1},
                                                      {"transport", "pinned"}});
  CHECK(made["warnings"].dump().find("no message of the kind pinned was measured on summit") != std::string::npos);
}

TEST_CASE("replay over nodes: a process makes its staged copies in turn, the network goes on meanwhile", "[replay]") {
  const StagedParts parts;
  const auto both_s = [](double size_B) {
    return makespan_s("apenet-plus", message(0, 1, "a", size_B) + message(0, 1, "b", size_B), "pinned");
  };
  const double large_B = 4194304;  // receiving is the slowest: the copies of one message show, the network of both
  CHECK_THAT(both_s(large_B),
             WithinRel(parts.start_s + large_B / parts.down_Bps + 2 * large_B / parts.host_Bps + large_B / parts.up_Bps,
                       1e-6));
  CHECK_THAT(both_s(1), WithinRel(2 * (parts.start_s - parts.send_s) + parts.send_s, 1e-3));  // copies are all there is
}

TEST_CASE("replay over nodes: the sender copies before a staged message", "[replay]") {
  const StagedParts parts;  // of one byte, so that the copies at the sender are all there is
  const double copy_s = parts.start_s - parts.send_s;
  const auto pinned_s = [](const std::string& lines) { return makespan_s("apenet-plus", lines, "pinned"); };
  CHECK_THAT(pinned_s(message(0, 1, "a", 1) + message(0, 2, "b", 1)), WithinRel(2 * copy_s + parts.send_s, 0.02));
  CHECK_THAT(pinned_s(message(0, 2, "a", 1) + message(1, 2, "b", 1)), WithinRel(copy_s + parts.send_s, 0.02));
}

TEST_CASE("messages of MPI's collectives between nodes take the transport asked for", "[replay]") {
  const Json call{{"kind", "collective"}, {"launch", "graph"},  {"platform", "summitdev"}, {"op", "broadcast"},
                  {"nodes", 2},           {"gpus_per_node", 1}, {"size_B", 1048576},       {"library", "mpi-mpich"}};
  const auto with = [&](const Json& more) {
    Json query = call;
    query.update(more);
    return query;
  };
  for (const std::string transport : {"pinned", "unpinned_gpudirect"})  // of two ranks: one message
    CHECK_THAT(forecast_s(with({{"transport", transport}})),
               WithinRel(p2p_s("summitdev", 1, 1048576, transport), 1e-6));
  const auto event = [](int rank) {
    return Json{{"rank", rank}, {"kind", "collective"}, {"op", "broadcast"}, {"group", "pair"}, {"size_B", 1048576}}
               .dump() +
           "\n";
  };
  CHECK_THAT(makespan_s("summitdev", event(0) + event(1), "unpinned", "mpi-mpich"),
             WithinRel(p2p_s("summitdev", 1, 1048576, "unpinned"), 1e-6));
  const auto refusal = [&](const Json& query) { return query::answer(test::catalogue(), query).value("error", ""); };
  CHECK(refusal(with({{"transport", "pinned"}, {"platform", "summit"}})).find("made of copies") != std::string::npos);
  CHECK(refusal(with({{"transport", "pinned"}, {"library", "mpi-staged"}})).find("host memory") != std::string::npos);
  CHECK(refusal(with({{"transport", "by hand"}})).find("not allowed") != std::string::npos);
}

TEST_CASE("replay: a slow GPU computes slowly, and one GPU computes for one job", "[replay]") {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","ranks":1,"source":"test"})" << '\n'
                      << R"({"rank":0,"kind":"compute","time_s":1})" << '\n';
  replay::ReplayRequest request;
  request.machine = test::catalogue().edited(test::catalogue().machine("hgx-h200"), {"slow gpu0:4"});
  request.parts = {{file}};
  CHECK_THAT(replay::to_json(replay::replay(test::catalogue(), request))["makespan_s"].get<double>(),
             WithinRel(4, kExact));
  request.parts = {{file}, {file, {0}}};
  CHECK_THROWS_AS(replay::to_json(replay::replay(test::catalogue(), request)), InputError);
}

}  // namespace linkcast::test::replay_cluster_test
