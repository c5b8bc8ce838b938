// Collectives between nodes by hand, on nodes of eight GPUs at one switch, where blocks or NICs limit: hops inside and
// between, what of them is hidden behind bytes, calls in a row, start-ups of multicast and of switches that reduce.
#include <cmath>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::between_costs_test {

namespace {

// source of the rate: NDR, 400 Gb/s
const std::string kSwitch =
    "fabric single_switch:nodes=32,radix=256,routing=minimal,source=test,links.host.cable=ib_ndr,"
    "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test,sharp=test";
// of a NIC, what networks attain that nobody measured
constexpr double kNic_Bps = 0.92 * 50e9, kNetwork_Bps = 0.05e9, kNetworkHop_s = 13e-6;

struct Cost {
  double base_s, hop_s, network_hop_s;
};
constexpr Cost kLL{6e-6, 0.9e-6, 5e-6}, kSimple{9e-6, 2.2e-6, kNetworkHop_s};

/// @param growth  with each doubling of more than two nodes, of bytes and of steps
std::string machine(double network_error = 0, double growth = 1e-15) {
  Calibration c = catalogue().machine("hgx-h100")->platform().calibration();
  std::erase_if(c.parameters, [](const auto& one) { return one.first.rfind("nccl.", 0) == 0; });
  for (auto& [name, parameter] : c.parameters) parameter.stderr_ = 0;
  const auto set = [&](const std::string& name, double value, double error = 0) {
    c.parameters["nccl." + name] = {value, error * value, "", "fitted"};
  };
  for (const auto& [protocol, cost] : {std::pair<std::string, Cost>{"LL", kLL}, {"Simple", kSimple}}) {
    set("ring." + protocol + ".base_s", cost.base_s);
    set("ring." + protocol + ".hop_s", cost.hop_s);
    set("ring." + protocol + ".channel_Bps", 1e9);
    set("ring." + protocol + ".crowding", 0);
    set("network." + protocol + ".channel_Bps", kNetwork_Bps);
    set("network." + protocol + ".hop_s", cost.network_hop_s, network_error);
  }
  set("network.growth", growth);
  set("network.hop_growth", growth);
  c.correlation = {};
  const std::string id = "between-costs-" + std::to_string(network_error) + "-" +
                         std::to_string(growth);  // edited platforms are kept by their id
  catalogue().adopt(id, catalogue().machine("hgx-h100")->platform().wiring(), c);
  return id;
}

Json run(const std::string& platform, int nodes, int gpus, const std::string& op, double size_B, Json more) {
  Json query{{"platform", platform}, {"kind", "collective"}, {"launch", "graph"},     {"op", op},
             {"nodes", nodes},       {"size_B", size_B},     {"gpus_per_node", gpus}, {"library", "nccl-2.18"}};
  query["edits"] = Json::array({kSwitch});
  query.update(more);
  return ask(query);
}

double seconds(const Json& result) { return result["time_s"].get<double>(); }
double latency(const Json& result) { return result["latency_s"].get<double>(); }
double blocks(const Json& result) { return result["blocks"].get<double>(); }
/// Rate of blocks in LL, whose lines a CPU thread of each GPU looks through.
double proxies_Bps(const Json& result, int gpus) {
  return blocks(result) / std::ceil(blocks(result) / gpus) * kNetwork_Bps;
}

Json ring(const std::string& protocol) { return {{"algorithm", "ring"}, {"protocol", protocol}}; }

}  // namespace

TEST_CASE("by hand: rings between nodes, of whose hops Simple hides some behind its bytes", "[physics][costs]") {
  const std::string made = machine();
  for (const int nodes : {2, 3, 5})
    for (const int gpus : {1, 8})
      for (const double size : {65536.0, 1e7, 1e9}) {
        INFO(nodes << " of " << gpus << ", " << size);
        const double ranks = nodes * gpus, steps = 2 * (ranks - 1), between = steps * nodes / ranks;
        const Json lines = run(made, nodes, gpus, "all_reduce", size, ring("LL"));
        const double latency_s = kLL.base_s + (steps - between) * kLL.hop_s + between * kLL.network_hop_s;
        CHECK_THAT(latency(lines), WithinRel(latency_s, 1e-9));
        CHECK_THAT(seconds(lines) - latency(lines), WithinRel(steps / ranks * size / proxies_Bps(lines, gpus), 1e-6));
        const Json simple = run(made, nodes, gpus, "all_reduce", size, ring("Simple"));
        const double hops_s = between * kNetworkHop_s, flow_s = steps / ranks * size / (blocks(simple) * kNetwork_Bps);
        CHECK_THAT(seconds(simple),
                   WithinRel(kSimple.base_s + (steps - between) * kSimple.hop_s + std::hypot(hops_s, flow_s), 1e-6));
        const Json gather = run(made, nodes, gpus, "all_gather", 64 * ranks * std::ceil(size / ranks / 64), ring("LL"));
        CHECK_THAT(latency(gather),
                   WithinRel(kLL.base_s + (steps - between) / 2 * kLL.hop_s + between / 2 * kLL.network_hop_s, 1e-9));
        // a chain: its hops count once in a row of calls, those between nodes are one less than nodes
        for (const int calls : {1, 20}) {
          Json more = ring("Simple");
          more["calls"] = calls;
          const Json chain = run(made, nodes, gpus, "broadcast", size, more);
          const double passed = (ranks - 1) / calls, crossed = (nodes - 1.0) / calls;
          CHECK_THAT(latency(chain),
                     WithinRel(kSimple.base_s + (passed - crossed) * kSimple.hop_s + crossed * kNetworkHop_s, 1e-9));
          const double fill = 1 + (ranks - 1) * std::min(1.0, 524288 * blocks(chain) / size) / calls;
          CHECK_THAT(seconds(chain) - latency(chain), WithinRel(size * fill / (blocks(chain) * kNetwork_Bps), 1e-6));
        }
      }
}

TEST_CASE("by hand: the error of hops between nodes, the less the more of them is hidden", "[physics][costs]") {
  const auto variance = [](double error, double size_B, const std::string& protocol) {
    const Json result = run(machine(error), 4, 8, "all_reduce", size_B, ring(protocol));
    return std::pow(std::log(result["time_high_s"].get<double>() / seconds(result)) / 1.645, 2);
  };
  const double ranks = 32, steps = 2 * (ranks - 1), between = steps * 4 / ranks;
  for (const double size : {1024.0, 16384.0, 65536.0}) {
    const Json simple = run(machine(), 4, 8, "all_reduce", size, ring("Simple"));
    const double hops_s = between * kNetworkHop_s, flow_s = steps / ranks * size / (blocks(simple) * kNetwork_Bps);
    const double part = hops_s * hops_s / std::hypot(hops_s, flow_s) / seconds(simple);
    INFO(size);
    CHECK_THAT(variance(0.3, size, "Simple") - variance(0, size, "Simple"), WithinRel(std::pow(0.3 * part, 2), 2e-3));
  }
  const Json lines = run(machine(), 4, 8, "all_reduce", 65536, ring("LL"));
  const double part = between * kLL.network_hop_s / seconds(lines);
  CHECK_THAT(variance(0.3, 65536, "LL") - variance(0, 65536, "LL"), WithinRel(std::pow(0.3 * part, 2), 2e-3));
}

TEST_CASE("by hand: bytes and steps take longer with each doubling of more than two nodes", "[physics][costs]") {
  constexpr double kGrowth = 0.1;
  const std::string grown = machine(0, kGrowth);
  for (const int nodes : {2, 4, 16})
    for (const int gpus : {1, 8}) {
      INFO(nodes << " of " << gpus);
      const double ranks = nodes * gpus, steps = 2 * (ranks - 1), between = steps * nodes / ranks, size = 1e8,
                   doublings = std::log2(nodes) - 1;
      const Json lines = run(grown, nodes, gpus, "all_reduce", size, ring("LL"));
      CHECK_THAT(latency(lines), WithinRel(kLL.base_s + (steps - between) * kLL.hop_s +
                                               between * kLL.network_hop_s * (1 + kGrowth * doublings),
                                           1e-9));
      CHECK_THAT(seconds(lines) - latency(lines),
                 WithinRel(steps / ranks * size / proxies_Bps(lines, gpus) * std::pow(1 + kGrowth, doublings), 1e-6));
    }
}

// source of the start-ups: models/libraries/SOURCES.md, NCCL 2.18
TEST_CASE("by hand: start-ups of multicast and of switches that reduce", "[physics][costs]") {
  catalogue().adopt("between-costs-unlearned", catalogue().machine("hgx-h100")->platform().wiring(),
                    made_calibration("hgx-h100", {}));
  for (const int nodes : {2, 4, 16}) {
    INFO(nodes);
    std::string platform = "between-costs-unlearned", launch = "graph";
    const auto started = [&](const std::string& algorithm, bool collnet, int gpus = 8) {
      const Json more{{"algorithm", algorithm}, {"collnet", collnet}, {"launch", launch}};
      return latency(run(platform, nodes, gpus, "all_reduce", 1e8, more));
    };
    // Rounds of 8 heads x 16 blocks x 64 KiB: NVLS since less than 64 would be of 128, trees from four nodes on.
    const double many = 1e8 / (8 * 16 * 65536) + 2, of_tree = nodes < 4 ? 1e8 / (8 * 16 * 131072) + 2 : many;
    CHECK_THAT(started("nvls_tree", false), WithinRel((23 + of_tree * 5 + 2 * std::log2(nodes) * 19) * 1e-6, 1e-9));
    CHECK_THAT(started("nvls", true), WithinRel((23 + many * 5 + 18) * 1e-6, 1e-9));
    CHECK_THAT(started("collnet_direct", true), WithinRel((2 * 3.7 + 31 + 2 * 7 * 0.4) * 1e-6, 1e-9));
    CHECK_THAT(started("collnet_chain", true), WithinRel((2 * 7 * 2.8 + 30) * 1e-6, 1e-9));
    CHECK_THAT(started("collnet_chain", true, 1), WithinRel(30e-6, 1e-9));
    // What H200 taught of multicast in a node takes the place of the 23 us and of the 5 of a round, and of nothing
    // else.
    platform = "hgx-h100";
    launch = "queue";
    const double base_s = parameter("hgx-h100", "nccl.nvls@2.27.base_s"),
                 chunk_s = parameter("hgx-h100", "nccl.nvls@2.27.chunk_s"), learned_s = base_s + many * chunk_s;
    CHECK_THAT(started("nvls_tree", false), WithinRel(base_s + of_tree * chunk_s + 2 * std::log2(nodes) * 19e-6, 1e-9));
    CHECK_THAT(started("nvls", true), WithinRel(learned_s + 18e-6, 1e-9));
    CHECK_THAT(started("collnet_direct", true), WithinRel((2 * 3.7 + 31 + 2 * 7 * 0.4) * 1e-6, 1e-9));
    // A CUDA graph saves the same of each.
    launch = "graph";
    const double graph_s = parameter("hgx-h100", "nccl.graph.sooner_s");
    CHECK_THAT(started("nvls", true), WithinRel(learned_s + 18e-6 - graph_s, 1e-9));
    CHECK_THAT(started("collnet_chain", true, 1), WithinRel(30e-6 - graph_s, 1e-9));
    // half of each head's part by either tree: together each NIC passes its part at most twice each way
    const Json tree = run("hgx-h100", nodes, 8, "all_reduce", 4e9, {{"algorithm", "nvls_tree"}});
    const double part_s = 4e9 / 8 / kNic_Bps, flow_s = seconds(tree) - latency(tree);
    CHECK(flow_s > (nodes == 2 ? 1 : 1.5) * part_s * (1 - 1e-9));
    CHECK(flow_s < 2.6 * part_s);
  }
}

}  // namespace linkcast::test::between_costs_test
