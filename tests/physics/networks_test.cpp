// Networks by name, adapters by number, upper cables by factor: what-if edits of what joins nodes.
#include "sim/records/networks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "sim/machine/fabric.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::networks_test {

namespace {

Json request(const std::string& platform, int nodes, double size_B, const Json& edits) {
  return {{"platform", platform}, {"kind", "collective"}, {"op", "all_reduce"}, {"size_B", size_B},
          {"nodes", nodes},       {"gpus_per_node", 4},   {"edits", edits}};
}

double number(const Json& answer, const char* key) { return answer.at(key).get<double>(); }
double time_s(const std::string& platform, int nodes, double size_B, const Json& edits) {
  return number(ask(request(platform, nodes, size_B, edits)), "time_s");
}

std::string error_of(const std::string& platform, const std::string& edit) {
  return query::answer(catalogue(), request(platform, 2, 8, Json::array({edit}))).value("error", "");
}

}  // namespace

TEST_CASE("networks: nothing is faster than the ports, and large messages fill most of them", "[physics][network]") {
  for (const Network& network : kNetworks)
    for (const char* platform : {"hgx-h100", "alps", "dgx-a100"}) {
      const std::string edit = "network " + std::string(network.name);
      const Json answer = ask(request(platform, 4, 1 << 30, Json::array({edit})));
      INFO(edit << " on " << platform << ": " << answer.dump());
      const double nics = std::string(platform) == "alps" ? 4 : 8;
      const double own_Bps = std::string(platform) == "hgx-h100" ? 50e9 : 25e9;
      const double port_Bps = network.port_Bps > 0 ? network.port_Bps : own_Bps;
      // Four GPUs of a node use no more than the adapters next to them, PXN aside.
      const double wire_s = 2.0 * (1 << 30) * (15.0 / 16) / (nics * port_Bps);
      CHECK(number(answer, "time_low_s") >= 0.5 * wire_s);  // a tree moves half of a ring's bytes
    }
}

TEST_CASE("networks: small calls wait for messages, TCP's longest", "[physics][network]") {
  for (const char* platform : {"hgx-h100", "alps", "dgx-a100"}) {
    const double ib_s = time_s(platform, 4, 8, {"network ib_hdr"}), efa_s = time_s(platform, 4, 8, {"network efa_p5"}),
                 tcp_s = time_s(platform, 4, 8, {"network tcp"});
    INFO(platform << ": " << ib_s << ", " << efa_s << ", " << tcp_s);
    CHECK(1.5 * ib_s < efa_s);
    CHECK(1.2 * efa_s < tcp_s);
  }
}

TEST_CASE("networks: over TCP a node carries what its host does, by one adapter", "[physics][network]") {
  for (const char* platform : {"hgx-h100", "alps", "dgx-a100"}) {
    Json all = request(platform, 4, 1 << 28, {"network tcp"});
    all["gpus_per_node"] = std::string(platform) == "alps" ? 4 : 8;
    const Json answer = ask(all);
    INFO(answer.dump());
    CHECK(number(answer, "busbw_Bps") > 3.5e9);  // 4 to 6 GB/s (NVIDIA/nccl issue 450)
    CHECK(number(answer, "busbw_Bps") < 6.5e9);
  }
}

TEST_CASE("networks: a family's name is the network of the node's GPUs", "[physics][network]") {
  const Json bare = ask(request("hgx-h200", 4, 1 << 20, {"network efa_p5en"}));
  CHECK(ask(request("hgx-h200", 4, 1 << 20, {"network efa"}))["time_s"] == bare["time_s"]);
  CHECK(error_of("hgx-h200", "network roce").find("several begin so, none for these GPUs: one of roce_100, roce_200") !=
        std::string::npos);
  CHECK(error_of("hgx-h200", "network token_ring").find("no such network: one of ib_edr, ") != std::string::npos);
  CHECK(error_of("hgx-h200", "network efa:rails=4").find("'rails' is no key of a network") != std::string::npos);
  CHECK(error_of("hgx-h200", "network efa:nodes=1").find("nodes must be a whole number from 2") != std::string::npos);
  CHECK(error_of("hgx-h200", "network efa:nodes=4x").find("nodes must be a whole number from 2") != std::string::npos);
  CHECK(error_of("rtx-4090", "network tcp").find("no adapter") != std::string::npos);
}

TEST_CASE("networks: what a plug-in leaves out never runs, and what it tells raises the tuner's estimate",
          "[physics][network]") {
  for (double size_B = 8; size_B < 1e9; size_B *= 16) {
    const Json simple = ask(request("dgx-a100", 4, size_B, {"network efa_p4d"}));
    INFO(simple.dump());
    CHECK(simple["protocol"] == "Simple");
  }
  const auto estimate_s = [](const char* network) {
    Json all = request("hgx-h100", 4, 8, Json::array({network}));
    all["alternatives"] = true;
    return ask(all)["library_believes"]["time_s"].get<double>();
  };
  // Up and down a tree over four nodes: four steps of 75 us.
  CHECK(estimate_s("network efa_p5") - estimate_s("network roce_400") == Approx(4 * 75e-6).epsilon(1e-6));
}

TEST_CASE("networks: on EFA the plug-in's regions choose, on more than two nodes and unless settings forbid it",
          "[physics][network][plugin]") {
  const auto all_reduce = [](const Json& more) {
    Json all{{"platform", "hgx-h200"},
             {"kind", "collective"},
             {"op", "all_reduce"},
             {"size_B", 104857600},
             {"nodes", 8},
             {"gpus_per_node", 8},
             {"library", "nccl-2.27"},
             {"edits", {"network efa_p5en"}}};
    all.update(more);
    return ask(all);
  };
  const auto says = [](const Json& answer, const char* text) {
    return answer["warnings"].dump().find(text) != std::string::npos;
  };
  const std::string ruled = "the tuner of EFA's plug-in chose";
  // 64 ranks: Ring LL128 between 58 MiB and 562 MiB.
  const Json by_plugin = all_reduce(Json::object());
  CHECK(by_plugin["algorithm"] == "ring");
  CHECK(by_plugin["protocol"] == "LL128");
  CHECK(says(by_plugin, ruled.c_str()));
  CHECK_FALSE(says(by_plugin, "near tie"));
  const Json by_nccl = all_reduce({{"plugin_tuner", false}});
  CHECK_FALSE(says(by_nccl, ruled.c_str()));
  for (const char* variable : {"OFI_NCCL_TUNER_TYPE", "NCCL_TUNER_PLUGIN"}) {
    const char* value = std::string(variable) == "NCCL_TUNER_PLUGIN" ? "none" : "INTERNAL";
    CHECK(all_reduce({{"nccl_env", {{variable, value}}}})["time_s"] == by_nccl["time_s"]);
  }
  CHECK_FALSE(says(all_reduce({{"nodes", 2}}), ruled.c_str()));
  CHECK_FALSE(says(all_reduce({{"library", "nccl-2.20"}}), ruled.c_str()));
  CHECK_FALSE(says(all_reduce({{"gpus_per_node", 4}}), ruled.c_str()));
  CHECK_FALSE(says(all_reduce({{"edits", {"network ib_ndr"}}}), ruled.c_str()));
  // A region that NCCL is not allowed is passed over: no other region contains the call, so that NCCL chooses.
  CHECK(all_reduce({{"without", {"LL128"}}})["protocol"] != "LL128");
  CHECK(all_reduce({{"size_B", 131072}})["algorithm"] == "tree");
  CHECK(all_reduce({{"size_B", 131072}})["protocol"] == "LL");
  CHECK(says(all_reduce({{"edits", {"network tcpxo"}}}), "a table that is not public"));
  // Its job scripts leave NVLS out, which NCCL would take here by itself.
  const Json multicast = {{"nodes", 2}, {"size_B", 1073741824}, {"plugin_tuner", false}};
  const auto chosen = [&](const char* network) {
    Json more = multicast;
    more["edits"] = {network};
    return all_reduce(more)["algorithm"].get<std::string>();
  };
  CHECK(chosen("network ib_ndr") == "nvls_tree");
  CHECK(chosen("network tcpxo") != "nvls_tree");
  CHECK_FALSE(says(all_reduce({{"edits", {"network tcpxo"}}, {"plugin_tuner", false}}), "not public"));
}

TEST_CASE("networks: EFA's plug-in sets buffers of 8 MiB, unless the user does", "[physics][network][plugin]") {
  const auto time_s = [](const Json& more) {
    Json all = request("hgx-h200", 4, 1 << 26, {"network efa_p5en"});
    all.update({{"algorithm", "tree"}, {"protocol", "Simple"}, {"library", "nccl-2.27"}});
    all.update(more);
    return number(ask(all), "time_s");
  };
  CHECK(time_s({{"buffer_B", 8388608}}) == Approx(time_s(Json::object())).epsilon(1e-9));
  CHECK(time_s({{"nccl_env", {{"NCCL_BUFFSIZE", "4194304"}}}}) < time_s(Json::object()));
}

TEST_CASE("networks: as many nodes as edits say", "[physics][network]") {
  for (const int nodes : {2, 40, 127, 500, 1500})
    for (const char* platform : {"hgx-h100", "leonardo", "summit", "l40s"}) {
      INFO(platform << " " << nodes);
      const std::string edit = "network ib_ndr:nodes=" + std::to_string(nodes);
      Json all = request(platform, nodes, 8, Json::array({edit}));
      all["gpus_per_node"] = 2;
      CHECK(number(ask(all), "time_s") > 0);
      all["nodes"] = nodes + 1;
      CHECK(query::answer(catalogue(), all).contains("error"));
    }
}

TEST_CASE("networks: flows of a connection are hashed one by one and share its bytes", "[physics][network]") {
  for (const char* platform : {"hgx-h100", "abci-a100"}) {
    const Cluster& cluster = catalogue().machine(platform)->cluster();
    const Fabric& fabric = cluster.fabric();
    // Every adapter sends to the one of the next node that has another number: over the upper switches.
    const auto loads = [&](int flows) {
      std::map<int, double> load;
      for (int node = 0; node + 1 < 32; ++node)
        for (int nic = 0; nic < cluster.nics(); ++nic) {
          std::vector<WeightedLink> links;
          add_fabric_links(fabric, FabricRouting::kEcmp, cluster.endpoint(node, nic),
                           cluster.endpoint(node + 1, (nic + 1) % cluster.nics()), links,
                           std::numeric_limits<int>::max(), flows);
          double first = 0;
          for (const WeightedLink& one : links) {
            load[one.link] += one.share;
            if (one.link == links.front().link) first += one.share;
          }
          CHECK(first == Approx(1));
        }
      double most = 0;
      for (const auto& [link, share] : load) most = std::max(most, share);
      return most;
    };
    INFO(platform);
    CHECK(loads(1) >= 2);  // some collide
    CHECK(loads(8) < loads(1));
    CHECK(loads(64) <= loads(8));
    CHECK(loads(64) >= 1);  // the adapters' own cables
  }
  CHECK(error_of("alps", "fabric dragonfly:flows=4").find("are of routing ecmp") != std::string::npos);
  CHECK(error_of("hgx-h100", "fabric rail_optimized:flows=0").find("must be 1 to 128") != std::string::npos);
}

TEST_CASE("adapters: half of them carry half", "[physics][network]") {
  const double all_s = time_s("hgx-h100", 4, 4294967296.0, Json::array()),
               same_s = time_s("hgx-h100", 4, 4294967296.0, {"nics 8"});
  CHECK(same_s == all_s);
  Json half = request("hgx-h100", 4, 4294967296.0, {"nics 4"});
  half["gpus_per_node"] = 8;
  Json whole = half;
  whole["edits"] = Json::array();
  CHECK(number(ask(half), "time_s") / number(ask(whole), "time_s") == Approx(2).epsilon(0.1));
  CHECK(error_of("hgx-h100", "nics 9").find("joins 8 adapters") != std::string::npos);
  for (const char* platform : {"alps", "leonardo", "summit", "dgx2", "abci-a100"})
    for (const int nics : {1, 2}) {
      INFO(platform << " " << nics);
      CHECK(time_s(platform, 2, 1 << 26, Json::array({"nics " + std::to_string(nics)})) >=
            0.95 * time_s(platform, 2, 1 << 26, Json::array()));
    }
}

TEST_CASE("oversubscription: cables above the leaves carry less, those below the same", "[physics][network]") {
  const auto messages_s = [](const Json& edits) {
    Json all = request("hgx-h100", 64, 1 << 28, edits);
    all["op"] = "alltoall";
    all["gpus_per_node"] = 1;
    return number(ask(all), "time_s");
  };
  const double full_s = messages_s(Json::array()), same_s = messages_s({"oversubscription 1"}),
               quarter_s = messages_s({"oversubscription 4"});
  INFO(full_s << " " << same_s << " " << quarter_s);
  CHECK(same_s == Approx(full_s).epsilon(1e-9));
  CHECK(quarter_s > 1.5 * full_s);
  // 16 nodes are one unit, and rings stay on their rail.
  CHECK(time_s("hgx-h100", 16, 1 << 28, {"oversubscription 4"}) == time_s("hgx-h100", 16, 1 << 28, Json::array()));
  CHECK(error_of("alps", "oversubscription 2").find("no leaves") != std::string::npos);
  CHECK(error_of("hgx-h100", "oversubscription 0.5").find("not a factor from 1") != std::string::npos);
}

TEST_CASE("fabric edits: keys that are missing are named at once, and what would fit builds", "[physics][network]") {
  const std::string fits = "so many nodes fit: ";
  for (const char* platform : {"hgx-h100", "leonardo", "l40s"})
    for (const PluginInfo& generator : fabric_generators().list())
      for (const int nodes : {3, 300, 3000}) {
        if (generator.name == "torus" || generator.name == "listed") continue;  // they have no key nodes
        const std::string edit = "fabric " + generator.name + ":nodes=" + std::to_string(nodes);
        const std::string error = error_of(platform, edit);
        if (error.empty()) continue;  // the platform's own, which has room
        INFO(platform << ", " << edit << ": " << error);
        const auto at = error.find(fits);
        REQUIRE(at != std::string::npos);
        CHECK(error_of(platform, error.substr(at + fits.size())) == "");
      }
  CHECK(error_of("hgx-h100", "fabric listed:nodes=3").find("is read from a file") != std::string::npos);
  const std::string error = error_of("hgx-h100", "fabric dragonfly:nodes=500");
  for (const char* key : {"groups", "switches_per_group", "global_links", "radix", "links.global.latency"})
    CHECK(error.find(key, error.find("missing: ")) != std::string::npos);
}

}  // namespace linkcast::test::networks_test
