// Between nodes a library's choice near a tie is a distribution; hops of trees wait for whole chunks; bytes and steps
// last longer on more nodes.
#include <cmath>

#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::near_ties_test {

namespace {

Json all_reduce(const char* platform, int nodes, int gpus, double size_B, const Json& more = Json::object()) {
  Json all{{"platform", platform}, {"kind", "collective"}, {"op", "all_reduce"},
           {"size_B", size_B},     {"nodes", nodes},       {"gpus_per_node", gpus}};
  all.update(more);
  return ask(all);
}

double number(const Json& answer, const char* key) { return answer.at(key).get<double>(); }

std::string tie_of(const Json& answer) {
  for (const Json& warning : answer["warnings"])
    if (const auto text = warning.get<std::string>(); text.starts_with("near tie: ")) return text;
  return "";
}

}  // namespace

TEST_CASE("near tie: the interval reaches what may run instead, which the answer names", "[physics][choices]") {
  int ties = 0;
  for (const int nodes : {2, 4, 16, 64})
    for (double size_B = 65536; size_B <= 67108864; size_B *= 2) {
      const Json answer = all_reduce("alps", nodes, 4, size_B, {{"alternatives", true}});
      const std::string tie = tie_of(answer);
      const double estimate_s = answer["library_believes"]["time_s"].get<double>();
      for (const Json& other : answer["alternatives"]) {
        const std::string name = other["algorithm"].get<std::string>() + " " + other["protocol"].get<std::string>();
        const double ratio = other["library_believes_s"].get<double>() / estimate_s, time_s = number(other, "time_s");
        INFO(nodes << " nodes, " << size_B << " B: " << name << ", estimate " << ratio << "; " << tie);
        if (ratio > 1.5) CHECK(tie.find(name) == std::string::npos);
        // As likely as what runs, if not slower: within 5 %
        if (std::abs(ratio - 1) > 0.05 || time_s > 1.3 * number(answer, "time_s")) continue;
        ++ties;
        CHECK(tie.find(name) != std::string::npos);
        CHECK(number(answer, "time_low_s") <= time_s);
        CHECK(number(answer, "time_high_s") >= time_s);
      }
    }
  CHECK(ties >= 2);
}

TEST_CASE("near tie: what is forced, or in one node, is sure", "[physics][choices]") {
  for (double size_B = 65536; size_B <= 67108864; size_B *= 2) {
    CHECK(tie_of(all_reduce("alps", 4, 4, size_B, {{"algorithm", "ring"}, {"protocol", "LL"}})).empty());
    Json inside{
        {"platform", "alps"}, {"kind", "collective"}, {"op", "all_reduce"}, {"size_B", size_B}, {"gpus", {0, 1}}};
    CHECK(tie_of(ask(inside)).empty());
    // Settings that leave one of two out decide it.
    const Json simple = all_reduce("alps", 4, 4, size_B, {{"nccl_env", {{"NCCL_PROTO", "Simple"}}}});
    CHECK(tie_of(simple).find(" LL ") == std::string::npos);
    CHECK(simple["protocol"] == "Simple");
  }
}

TEST_CASE("trees between nodes: each hop waits for a whole chunk", "[physics][choices]") {
  // LL: what 4 KiB on one channel take longer than 8 B grows with the hops, of which eight times the nodes have twice.
  const auto longer_s = [](int nodes) {
    const Json forced{{"algorithm", "tree"}, {"protocol", "LL"}, {"channels", 1}};
    return number(all_reduce("alps", nodes, 4, 4096, forced), "time_s") -
           number(all_reduce("alps", nodes, 4, 8, forced), "time_s");
  };
  const double few = longer_s(4), many = longer_s(16), most = longer_s(64);
  CHECK_THAT((most - many) / (many - few), WithinAbs(1, 0.3));  // two doublings each
  CHECK(many > 1.3 * few);
}

TEST_CASE("LL between nodes: blocks of one GPU share its proxy", "[physics][choices]") {
  const auto time_s = [](int channels, double size_B) {
    return number(
        all_reduce("hgx-h100", 2, 8, size_B, {{"algorithm", "ring"}, {"protocol", "LL"}, {"channels", channels}}),
        "time_s");
  };
  // Eight channels have a NIC, and a GPU's proxy, each; sixteen share them.
  CHECK_THAT(time_s(16, 33554432) / time_s(8, 33554432), WithinAbs(1, 0.05));
  CHECK(time_s(4, 33554432) > 1.8 * time_s(8, 33554432));
}

TEST_CASE("trees between nodes: a block sends to its two children what it sends to one", "[physics][choices]") {
  // Blocks limit it there, not cables.
  const auto time_s = [](int nodes, const char* algorithm, double size_B) {
    return number(all_reduce("abci-a100", nodes, 8, size_B, {{"algorithm", algorithm}, {"protocol", "Simple"}}),
                  "time_s");
  };
  // Two nodes: each sends every byte once; more: an inner node twice down, as often as each sends in a ring.
  const double size_B = 4294967296.0;
  CHECK_THAT(time_s(8, "tree", size_B) / time_s(2, "tree", size_B), WithinAbs(2, 0.2));
  CHECK_THAT(time_s(8, "tree", size_B) / time_s(8, "ring", size_B), WithinAbs(1, 0.15));
}

TEST_CASE("growth: bytes between nodes take longer the more nodes there are", "[physics][choices]") {
  for (const char* platform : {"hgx-h100", "hgx-h200"}) {
    double before = 0;
    for (const int nodes : {2, 4, 8, 16, 32, 64}) {
      Json query{{"platform", platform},   {"kind", "collective"}, {"op", "reduce_scatter"},
                 {"size_B", 8589934592.0}, {"nodes", nodes},       {"gpus_per_node", 8}};
      const Json answer = ask(query);
      const double bus_Bps = number(answer, "busbw_Bps");
      INFO(platform << ", " << nodes << " nodes: " << bus_Bps);
      if (before > 0) CHECK(bus_Bps < before);
      if (before > 0) CHECK(bus_Bps > 0.88 * before);
      CHECK(bus_Bps * number(answer, "time_s") / number(answer, "time_low_s") <= 1.001 * 400e9);  // eight of 50 GB/s
      before = bus_Bps;
    }
  }
}

}  // namespace linkcast::test::near_ties_test
