// Answers about collectives and what a library builds: every key has the number it is named after, and keys that do not
// apply are not there.
#include <set>

#include "sim/forecast/collective_forecast.hpp"
#include "sim/forecast/library_view.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_words_test {

namespace {

using collective::CollectiveForecast;

CollectiveForecast plain() {
  CollectiveForecast made;
  made.time_s = 4e-3;
  made.interval = {3e-3, 5e-3};
  made.latency_s = 7e-6;
  made.size_B = 8e6;
  made.bus_factor = 1.5;
  made.device_s = 3.5e-3;
  made.library = "library";
  made.algorithm = "algorithm";
  made.protocol = "protocol";
  made.gpus_per_node = 3;
  made.channels = {{2, 0, 1}, {0, 1, 2}};
  made.blocks = 11;
  return made;
}

std::set<std::string> keys_of(const Json& answer) {
  std::set<std::string> keys;
  for (const auto& [key, value] : answer.items()) keys.insert(key);
  return keys;
}

/// Every key that is written has its row, of the right sort of value; required ones are there.
void check_rows(const query::KeyTable& table, const Json& answer, const std::set<std::string>& added_later = {}) {
  for (const auto& [name, value] : answer.items()) {
    INFO(name);
    const query::Key* row = query::find_key(table, name);
    if (row == nullptr) {
      CHECK(added_later.count(name) == 1);
      continue;
    }
    using enum query::ValueType;
    if (row->type == kNumber) CHECK(value.is_number());
    if (row->type == kWhole) CHECK(value.is_number_integer());
    if (row->type == kFlag) CHECK(value.is_boolean());
    if (row->type == kObjects)
      for (const Json& one : value) check_rows(row->fields, one);
  }
  for (const query::Key& row : table) {
    INFO(row.name);
    if (row.required) CHECK(answer.contains(row.name));
  }
}

}  // namespace

TEST_CASE("answer of a collective: time, rates, choice, and nothing that does not apply", "[unit]") {
  CollectiveForecast made = plain();
  const Json lone = collective::to_json(made);
  CHECK(keys_of(lone) == std::set<std::string>{"time_s", "time_low_s", "time_high_s", "launch", "latency_s",
                                               "algbw_Bps", "busbw_Bps", "library", "algorithm", "protocol", "ranks",
                                               "channels", "blocks", "channel_bandwidth_Bps", "fallback", "bottleneck",
                                               "warnings"});
  check_rows(collective::collective_results(), lone, {"warnings"});
  CHECK(lone["time_s"] == 4e-3);
  CHECK(lone["time_low_s"] == 3e-3);
  CHECK(lone["time_high_s"] == 5e-3);
  CHECK(lone["launch"] == "graph");
  CHECK(lone["latency_s"] == 7e-6);
  CHECK_THAT(lone["algbw_Bps"].get<double>(), WithinRel(8e6 / 4e-3, kExact));
  CHECK_THAT(lone["busbw_Bps"].get<double>(), WithinRel(1.5 * 8e6 / 4e-3, kExact));
  CHECK(lone["library"] == "library");
  CHECK(lone["algorithm"] == "algorithm");
  CHECK(lone["protocol"] == "protocol");
  CHECK(lone["channels"] == Json{{2, 0, 1}, {0, 1, 2}});
  CHECK(lone["blocks"] == 11);
  CHECK(lone["channel_bandwidth_Bps"] == 0);
  CHECK(lone["fallback"] == false);
  CHECK(lone["bottleneck"] == Json::array());
  CHECK(lone["warnings"] == Json::array());
  made.nodes = 4;
  made.channel_Bps = 9e9;
  made.path_class = "PXB";
  made.fallback = true;
  made.bottleneck = {"a", "b"};
  made.warnings = {"w"};
  made.limited_by = "thread blocks";
  made.launching = {launch::Kind::kPytorch, 5, {2e-6, 1e-6, 3e-6}, {}, ""};
  const Json full = collective::to_json(made);
  check_rows(collective::collective_results(), full, {"warnings"});
  CHECK(full["nodes"] == 4);
  CHECK(full["gpus_per_node"] == 3);
  CHECK(full["channel_bandwidth_Bps"] == 9e9);
  CHECK(full["path_class"] == "PXB");
  CHECK(full["fallback"] == true);
  CHECK(full["bottleneck"] == Json{"a", "b"});
  CHECK(full["warnings"] == Json{"w"});
  CHECK(full["limited_by"] == "thread blocks");
  CHECK(full["launch"] == "pytorch");
  CHECK(full["host_s"] == 2e-6);
  CHECK(full["device_s"] == 3.5e-3);
}

TEST_CASE("answer of a collective of rounds, of messages, and beside others", "[unit]") {
  CollectiveForecast made = plain();
  made.nodes = 4;
  made.rounds = {13, true, 2e-4, 3e-4, {"cuda_ipc", "mpi_network"}};
  const Json rounds = collective::to_json(made);
  check_rows(collective::collective_results(), rounds, {"warnings"});
  CHECK_FALSE(rounds.contains("launch"));
  CHECK(rounds["rounds"] == 13);
  CHECK(rounds["steady_state"] == true);
  CHECK(rounds["ranks"] == 12);
  CHECK(rounds["nodes"] == 4);
  CHECK(rounds["gpus_per_node"] == 3);
  CHECK(rounds["staging_s"] == 2e-4);
  CHECK(rounds["reducing_s"] == 3e-4);
  CHECK(rounds["transports"] == Json{"cuda_ipc", "mpi_network"});

  made = plain();
  made.messages = {5, "direct", 1234567, 17, ""};
  const Json direct = collective::to_json(made);
  check_rows(collective::collective_results(), direct, {"warnings"});
  CHECK(direct["bottlenecks"] == 5);
  CHECK(direct["engine"] == "direct");
  CHECK(direct["messages"] == 1234567);
  CHECK(direct["classes"] == 17);
  CHECK_FALSE(direct.contains("why_direct"));
  made.messages->why_direct = "because";
  CHECK(collective::to_json(made)["why_direct"] == "because");

  made = plain();
  made.beside = {
      1e-3, {{"all_gather", {4, 5}, {2, 3}, 64e6, "nccl-2.3", 6e-3, 2e-3}, {"reduce", {1}, {}, 32e6, "x", 8e-3, 7e-3}}};
  made.load = {{"beside", Json::array()}};
  const Json beside = collective::to_json(made);
  check_rows(collective::collective_results(), beside, {"warnings"});
  CHECK(beside["alone_s"] == 1e-3);
  CHECK_THAT(beside["slowdown"].get<double>(), WithinRel(4, kExact));
  CHECK(beside["beside"] == Json::array());
  REQUIRE(beside["others"].size() == 2);
  CHECK(beside["others"][0] == Json{{"op", "all_gather"},
                                    {"gpus", {4, 5}},
                                    {"size_B", 64e6},
                                    {"library", "nccl-2.3"},
                                    {"nodes", {2, 3}},
                                    {"time_s", 6e-3},
                                    {"alone_s", 2e-3}});
  CHECK_FALSE(beside["others"][1].contains("nodes"));
  CHECK(beside["others"][1]["time_s"] == 8e-3);
}

TEST_CASE("answer of a collective: what the library believes, and what else it could take", "[unit]") {
  CollectiveForecast made = plain();
  made.alternatives = collective::Alternatives{};
  const Json none = collective::to_json(made);
  CHECK(none["alternatives"] == Json::array());
  CHECK_FALSE(none.contains("library_believes"));
  CHECK_FALSE(none.contains("hint"));
  made.alternatives->believes = TunerEntry{"ring", "LL", {3e9}, {5e-6}, {6e-6}, true};
  made.alternatives->rows = {{"tree", "Simple", 1e-3, 2e-3}, {"linear", "messages", 4e-3, {}}};
  made.alternatives->hint = "take the tree";
  const Json full = collective::to_json(made);
  check_rows(collective::collective_results(), full, {"warnings"});
  CHECK(full["library_believes"] == Json{{"time_s", 6e-6}, {"bandwidth_Bps", 3e9}});
  CHECK(full["alternatives"] ==
        Json{{{"algorithm", "tree"}, {"protocol", "Simple"}, {"time_s", 1e-3}, {"library_believes_s", 2e-3}},
             {{"algorithm", "linear"}, {"protocol", "messages"}, {"time_s", 4e-3}}});
  CHECK(full["hint"] == "take the tree");
}

TEST_CASE("answer about rings: orders, hops, blocks, and what the library assumes", "[unit]") {
  Communicator made = made_ring({0, 2, 1}, {1});
  made.channels.push_back(made.channels.front());
  made.channels[0].blocks = 3;
  made.channels[1].blocks = 4;
  made.channels[1].order = {2, 1, 0};
  made.channels[1].hops[2] = {2, 1, HopKind::kRelay, 7};
  made.path_class = "PHB";
  made.library_channel_bandwidth = {12e9};
  made.link_equivalents = 1.5;
  made.fallback = true;
  made.why = "so";
  const Json rings = collective::communicator_json(made);
  CHECK(rings["channels"] == Json{{0, 2, 1}, {2, 1, 0}});
  CHECK(rings["hops"] == Json{{"peer", "host memory", "peer"}, {"peer", "host memory", "relay gpu7"}});
  CHECK(rings["blocks"] == 7);
  CHECK(rings["path_class"] == "PHB");
  CHECK(rings["library_channel_bandwidth_Bps"] == 12e9);
  CHECK(rings["library_bandwidth_Bps"] == 24e9);
  CHECK(rings["link_equivalents"] == 1.5);
  CHECK(rings["fallback"] == true);
  CHECK(rings["why"] == "so");
  CHECK(rings["trees"] == Json::array());
  for (const char* key : {"tree_class", "library_tree_bandwidth_Bps", "rings_found"}) CHECK_FALSE(rings.contains(key));
  Tree tree;
  tree.order = {1, 0, 2};
  made.trees = {tree};
  made.tree_class = "SYS";
  made.tree_channel_bandwidth = {6e9};
  made.rings_found = 5;
  const Json trees = collective::communicator_json(made);
  CHECK(trees["trees"] == Json{{1, 0, 2}});
  CHECK(trees["tree_class"] == "SYS");
  CHECK(trees["library_tree_bandwidth_Bps"] == 6e9);
  CHECK(trees["rings_found"] == 5);
}

TEST_CASE("answer about rings: NICs by which they enter and leave", "[unit]") {
  const Cluster& alps = catalogue().machine("alps")->cluster();
  const std::vector<std::string> ids = alps.nic_ids();
  REQUIRE(ids.size() == 4);
  Communicator made = made_ring({3, 1, 2});
  made.nodes = 2;
  made.channels[0].in = {2, {}, true};
  made.channels[0].out = {1, Hop{2, 0, HopKind::kPeer}, false};
  const Json rings = collective::nics_json(alps, made);
  CHECK(rings["nics"] == Json{{{"in", {{"gpu", 3}, {"nic", ids[2]}, {"through_host", true}}},
                               {"out", {{"gpu", 2}, {"nic", ids[1]}, {"through_host", false}, {"proxy", 0}}}}});
  CHECK(rings["swaps_rings"] == false);
  CHECK_FALSE(rings.contains("tree_nics"));
  CHECK_FALSE(rings.contains("network_class"));
  made.channels[0].in = {};  // by the NIC next to the GPU
  made.swaps_rings = true;
  made.network_class = "PIX";
  Tree tree;
  tree.order = {1, 0};
  tree.first = {3, {}, false};
  tree.second = {0, {}, true};
  made.trees = {tree};
  const Json full = collective::nics_json(alps, made);
  CHECK(full["nics"][0]["in"]["nic"] == ids[static_cast<std::size_t>(alps.nic_of(3))]);
  CHECK(full["tree_nics"] == Json{{{"gpu", 1}, {"nic", ids[3]}, {"through_host", false}}});
  CHECK(full["swaps_rings"] == true);
  CHECK(full["network_class"] == "PIX");
}

TEST_CASE("answer about rings: rows of the tuner and the one that is taken", "[unit]") {
  TableRings table;
  const Platform& node = catalogue().machine("hgx-h200")->platform();
  const Communicator made = made_ring({0, 1});
  const auto answer = [&] {
    return collective::tuner_json(table, node, made, {"all_reduce", {1e6}, "", "", true, false});
  };
  CHECK(answer() == Json{{"tuner", Json::array()}});
  table.rows = {{"ring", "LL", {1e9}, {2e-6}, {3e-6}, true}, {"tree", "Simple", {4e9}, {5e-6}, {6e-6}, false}};
  table.taken = TunerChoice{table.rows[0], 9, 512, 0.5};
  const Json full = answer();
  Json first{{"algorithm", "ring"}, {"protocol", "LL"}, {"bandwidth_Bps", 1e9},
             {"latency_s", 2e-6},   {"time_s", 3e-6},   {"enabled", true}};
  const Json second{{"algorithm", "tree"}, {"protocol", "Simple"}, {"bandwidth_Bps", 4e9},
                    {"latency_s", 5e-6},   {"time_s", 6e-6},       {"enabled", false}};
  CHECK(full["tuner"] == Json{first, second});
  first.update({{"channels", 9}, {"threads", 512}, {"payload_share", 0.5}});
  CHECK(full["library_takes"] == first);
}

}  // namespace linkcast::test::collective_words_test
