// nccl-2.27 and nccl-2.30 against what NCCL 2.28.9 itself said on 2, 3 and 4 H200.
// Expected: tests/input/nccl_2_28_9_h200.json, facts of its log.
#include <cmath>

#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/nccl_graph.hpp"

namespace linkcast::test::nccl_graph_log_test {

namespace {

const Json& log_of(std::size_t index) {
  static const Json kLog = read_json_file(test::data_dir() + "/tests/input/nccl_2_28_9_h200.json");
  return kLog["communicators"][index];
}

std::vector<TunerEntry> table(const std::string& version, const Communicator& made, const std::string& op) {
  return nccl_graph::library(version).tuner(nccl_graph::platform("hgx-h200"), made, {op, {1024}, "", "", false});
}

}  // namespace

TEST_CASE("real log: rings, trees and blocks", "[unit]") {
  const std::string version = GENERATE("nccl-2.27", "nccl-2.30");
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& expected = log_of(i);
    const int gpus = expected["gpus"].get<int>();
    INFO(version << ", " << gpus << " GPUs");
    const Communicator made = nccl_graph::build(version, "hgx-h200", nccl_graph::first(gpus));
    Json rings = Json::array(), trees = Json::array();
    int blocks = 0;
    for (const auto& channel : made.channels) {
      rings.push_back(channel.order);
      blocks += channel.blocks;
    }
    for (const auto& tree : made.trees) trees.push_back(tree.order);
    CHECK(rings == expected["rings"]["orders"]);
    CHECK(trees == expected["trees"]["orders"]);
    CHECK(blocks == expected["blocks"].get<int>());
    CHECK(made.library_channel_bandwidth.si == expected["rings"]["speed_GBps"].get<double>() * 1e9);
    CHECK(made.tree_channel_bandwidth.si == expected["trees"]["speed_GBps"].get<double>() * 1e9);
    CHECK(made.path_class == expected["rings"]["path_class"].get<std::string>());
    CHECK(made.one_order == expected["rings"]["one_order"].get<bool>());
  }
}

TEST_CASE("real log: the tuner's latencies and bandwidths", "[unit]") {
  const std::string version = GENERATE("nccl-2.27", "nccl-2.30");
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& expected = log_of(i);
    const Communicator made = nccl_graph::build(version, "hgx-h200", nccl_graph::first(expected["gpus"].get<int>()));
    for (const Json& row : expected["tuner"]) {
      INFO(version << ", " << made.gpus.size() << " GPUs: " << row.dump());
      bool found = false;
      for (const TunerEntry& entry : table(version, made, row[0].get<std::string>())) {
        if (entry.algorithm != row[1].get<std::string>() || entry.protocol != row[2].get<std::string>()) continue;
        found = true;
        CHECK(std::abs(entry.latency.si * 1e6 - row[3].get<double>()) <= 0.051);  // printed with one decimal
        CHECK(std::abs(entry.bandwidth.si / 1e9 - row[4].get<double>()) <= 0.051);
      }
      CHECK(found);
    }
  }
}

TEST_CASE("real log: algorithm, protocol and blocks by size", "[unit]") {
  const std::string version = GENERATE("nccl-2.27", "nccl-2.30");
  int choices = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& expected = log_of(i);
    const Communicator made = nccl_graph::build(version, "hgx-h200", nccl_graph::first(expected["gpus"].get<int>()));
    for (const Json& row : expected["choices"]) {
      INFO(version << ", " << made.gpus.size() << " GPUs: " << row.dump());
      const auto choice = nccl_graph::library(version).choose(
          nccl_graph::platform("hgx-h200"), made, {row[0].get<std::string>(), {row[1].get<double>()}, "", "", false});
      REQUIRE(choice.has_value());
      CHECK(choice->entry.algorithm == row[2].get<std::string>());
      CHECK(choice->entry.protocol == row[3].get<std::string>());
      CHECK(choice->channels == row[4].get<int>());
      ++choices;
    }
  }
  CHECK(choices > 150);
}

}  // namespace linkcast::test::nccl_graph_log_test
