// What a collective costs beside its links, worked out by hand on a machine whose thread blocks are so slow that they
// alone limit: bases, hops, crowding, turns, tails, fills of chains and trees; and what each parameter's error does.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::ring_costs_test {

namespace {

using Values = std::map<std::string, double>;

// Of ring and tree, in each protocol; a block moves 1 GB/s, far below what links carry
const Values kMade = {
    {"ring.LL.base_s", 6e-6},      {"ring.LL.hop_s", 0.9e-6},         {"ring.LL.channel_Bps", 0.6e9},
    {"ring.LL.crowding", 0.3},     {"ring.LL.turn_steps", 0.5},       {"ring.LL128.base_s", 8e-6},
    {"ring.LL128.hop_s", 1.4e-6},  {"ring.LL128.channel_Bps", 0.8e9}, {"ring.LL128.crowding", 0.1},
    {"ring.Simple.base_s", 9e-6},  {"ring.Simple.hop_s", 2.2e-6},     {"ring.Simple.channel_Bps", 1e9},
    {"ring.Simple.crowding", 0.2}, {"ring.Simple.turn_steps", 0.7},   {"ring.Simple.tail_steps", 0.9},
    {"tree.LL.base_s", 5e-6},      {"tree.LL.hop_s", 1.2e-6},         {"tree.Simple.base_s", 7e-6},
    {"tree.Simple.hop_s", 3.1e-6}, {"sendrecv.base_s", 11e-6},        {"sendrecv.channel_Bps", 1.1e9}};

/// @param errors  relative, of these; all others have none
std::string machine(const std::string& id, const Values& changed = {}, const Values& errors = {}) {
  Calibration c = catalogue().machine("hgx-h200")->platform().calibration();
  std::erase_if(c.parameters, [](const auto& one) { return one.first.rfind("nccl.", 0) == 0; });
  for (auto& [name, parameter] : c.parameters) parameter.stderr_ = 0;
  Values values = kMade;
  for (const auto& [name, value] : changed) values[name] = value;
  for (const auto& [name, value] : values) {
    const double error = errors.count(name) > 0 ? errors.at(name) : 0;
    c.parameters["nccl." + name] = {value, error * value, "", "fitted"};
  }
  c.correlation = {};
  catalogue().adopt(id, catalogue().machine("hgx-h200")->platform().topology(), c);
  return id;
}

Json run(const std::string& platform, const std::string& op, int gpus, double size_B, const std::string& algorithm,
         const std::string& protocol, const Json& more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "collective"},   {"launch", "graph"},      {"op", op},
             {"size_B", size_B},     {"library", "nccl-2.18"}, {"algorithm", algorithm}, {"protocol", protocol}};
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  query.update(more);
  return ask(query);
}

double seconds(const Json& result) { return result["time_s"].get<double>(); }
double latency(const Json& result) { return result["latency_s"].get<double>(); }
double blocks(const Json& result) { return result["blocks"].get<double>(); }

/// Payload of all blocks, bytes/s.
double rate_of(const Json& result, const std::string& protocol) {
  const double n = blocks(result);
  return n * kMade.at("ring." + protocol + ".channel_Bps") /
         (1 + kMade.at("ring." + protocol + ".crowding") * std::sqrt(n - 1));
}

/// Turns are common in the first of R rounds of 2 MiB a block, later in 1 / sqrt(r) of them.
double turns(double size_B, int ranks, const Json& result, double turn, double steps) {
  const double rounds = std::max(1.0, size_B / ranks / blocks(result) / 2097152);
  return 1 + turn / steps * (2 * std::sqrt(rounds) - 1) / rounds;
}

constexpr double kSizes[] = {4096, 262144, 16777216, 1073741824};

}  // namespace

TEST_CASE("by hand: rings of every protocol and operation whose blocks limit", "[physics][costs]") {
  const std::string made = machine("ring-costs");
  for (const int n : {2, 3, 8})
    for (const double size : kSizes)
      for (const std::string protocol : {"LL", "LL128", "Simple"}) {
        const double base = kMade.at("ring." + protocol + ".base_s"), hop = kMade.at("ring." + protocol + ".hop_s");
        const double turn = protocol == "LL128" ? 0 : kMade.at("ring." + protocol + ".turn_steps");
        INFO(n << " " << size << " " << protocol);
        const Json all = run(made, "all_reduce", n, size, "ring", protocol);
        const double steps = 2 * (n - 1);
        CHECK_THAT(latency(all), WithinRel(base + steps * hop, kExact));
        CHECK_THAT(seconds(all) - latency(all),
                   WithinRel(size * steps / n / rate_of(all, protocol) * turns(size, n, all, turn, steps), 1e-6));
        const double whole = 16.0 * n * std::ceil(size / 16 / n);  // parts begin at multiples of 16 bytes
        const Json gather = run(made, "all_gather", n, whole, "ring", protocol);
        CHECK_THAT(latency(gather), WithinRel(base + (n - 1) * hop, kExact));
        CHECK_THAT(
            seconds(gather) - latency(gather),
            WithinRel(whole * (n - 1) / n / rate_of(gather, protocol) * turns(whole, n, gather, turn, n - 1), 1e-6));
        // the last step of a reduce_scatter takes its part of the blocks' time
        const double tail = protocol == "Simple" ? 0.9 : 0.8;
        const Json scatter = run(made, "reduce_scatter", n, whole, "ring", protocol);
        CHECK_THAT(seconds(scatter) - latency(scatter),
                   WithinRel(whole * (n - 1) / n / rate_of(scatter, protocol) * (n - 1 + tail) / (n - 1) *
                                 turns(whole, n, scatter, turn, n - 1),
                             1e-6));
        for (const char* op : {"broadcast", "reduce"}) {
          const Json chain = run(made, op, n, size, "ring", protocol, {{"calls", 1}});
          CHECK_THAT(latency(chain), WithinRel(base + hop, kExact));
          const double fill = (n - 1) * std::min(1.0, 524288 * blocks(chain) / size);
          CHECK_THAT(seconds(chain) - latency(chain),
                     WithinRel(size / rate_of(chain, protocol) * (protocol == "Simple" ? 1 + fill : 1), 1e-6));
          const Json many = run(made, op, n, size, "ring", protocol, {{"calls", 20}});
          CHECK_THAT(seconds(many) - latency(many),
                     WithinRel(size / rate_of(many, protocol) * (protocol == "Simple" ? 1 + fill / 20 : 1), 1e-6));
        }
      }
}

TEST_CASE("by hand: crowding by as many blocks as there are doubles the time at most", "[physics][costs]") {
  const std::string made = machine("ring-crowded", {{"ring.Simple.crowding", 3}});
  const Json crowded = run(made, "all_reduce", 4, 1e9, "ring", "Simple");
  const double n = blocks(crowded);
  REQUIRE(n > 2);
  const double rate = n * 1e9 / (1 + std::sqrt(n - 1));
  CHECK_THAT(seconds(crowded) - latency(crowded), WithinRel(1.5e9 / rate * turns(1e9, 4, crowded, 0.7, 6), 1e-6));
}

TEST_CASE("by hand: trees inside a node, their hops, halved blocks and fill", "[physics][costs]") {
  const std::string made = machine("tree-costs");
  for (const int n : {2, 4, 8})
    for (const double size : {1048576.0, 16777216.0, 134217728.0, 4294967296.0}) {
      INFO(n << " " << size);
      const Json tree = run(made, "all_reduce", n, size, "tree", "Simple");
      CHECK_THAT(latency(tree), WithinRel(7e-6 + 2 * (n - 1) * 3.1e-6, kExact));
      double chunk = 524288;
      const double depth = n - 1;
      for (const auto& [wanted, least] : {std::pair{8 * depth, 131072.0}, {4 * depth, 65536.0}, {depth, 32768.0}})
        while (std::floor(size / (blocks(tree) * chunk)) < wanted && chunk > least) chunk /= 2;
      const double fill = 2 * depth * std::min(1.0, chunk * blocks(tree) / size);
      CHECK_THAT(seconds(tree) - latency(tree), WithinRel(size / (rate_of(tree, "Simple") / 2) * (1 + fill), 1e-6));
    }
  const Json lines = run(made, "all_reduce", 4, 1e7, "tree", "LL");
  CHECK_THAT(seconds(lines), WithinRel(5e-6 + 6 * 1.2e-6 + 1e7 / (rate_of(lines, "LL") / 2), 1e-6));
}

TEST_CASE("by hand: a slow GPU slows rings by itself, trees' hops by its share", "[physics][costs]") {
  const std::string made = machine("slow-costs");
  const Json slow{{"edits", Json::array({"slow gpu1:3"})}};
  for (const std::string protocol : {"LL", "Simple"}) {
    const Json before = run(made, "all_reduce", 4, 1e8, "ring", protocol),
               after = run(made, "all_reduce", 4, 1e8, "ring", protocol, slow);
    CHECK_THAT(seconds(after), WithinRel(3 * seconds(before), 1e-9));
    CHECK_THAT(latency(after), WithinRel(3 * latency(before), 1e-9));
  }
  const Json before = run(made, "all_reduce", 4, 1e8, "tree", "LL"),
             after = run(made, "all_reduce", 4, 1e8, "tree", "LL", slow);
  CHECK_THAT(latency(after), WithinRel(3 * 5e-6 + 6 * 1.2e-6 * (3 + 3) / 4, 1e-9));
  CHECK_THAT(seconds(after) - latency(after), WithinRel(3 * (seconds(before) - latency(before)), 1e-9));
}

TEST_CASE("by hand: messages of a group pay their base, what Simple costs more, and a hop's worth less",
          "[physics][costs]") {
  const std::string made = machine("message-costs");
  const auto message = [&](double size_B) {
    Json query{{"platform", made}, {"kind", "collective"},   {"launch", "graph"},   {"op", "sendrecv"},
               {"size_B", size_B}, {"library", "nccl-2.18"}, {"gpus", {0, 1, 2, 3}}};
    return ask(query);
  };
  CHECK_THAT(latency(message(8)), WithinRel(11e-6, kExact));
  const Json large = message(1e9);
  // base and hop of LL are in the base of messages; Simple costs 9 of base instead of 6
  CHECK_THAT(latency(large), WithinRel(11e-6 + 9e-6 - 6e-6, kExact));
  CHECK(seconds(large) - latency(large) > 1e9 / (blocks(large) * 1.1e9) * (1 - 1e-9));
  CHECK(seconds(large) - latency(large) < 1.2 * 1e9 / (blocks(large) * 1.1e9));
}

TEST_CASE("by hand: each parameter's error is in the interval as far as the time depends on it", "[physics][costs]") {
  const auto variance = [](const std::string& id, const Values& errors,
                           const std::function<Json(const std::string&)>& ask) {
    const Json result = ask(machine(id, {}, errors));
    const double high = std::log(result["time_high_s"].get<double>() / seconds(result)) / 1.645,
                 low = std::log(seconds(result) / result["time_low_s"].get<double>()) / 1.645;
    CHECK_THAT(low, WithinRel(high, 1e-6));
    return high * high;
  };
  constexpr double kError = 0.3;
  const auto check = [&](const std::string& name, const std::function<Json(const std::string&)>& ask, double part) {
    INFO(name);
    const double added = variance("error-costs", {{name, kError}}, ask) - variance("error-costs", {}, ask);
    CHECK_THAT(added, WithinRel(std::pow(kError * part, 2), 1e-3));
  };
  const auto ring = [](const std::string& made) { return run(made, "all_reduce", 4, 4194304, "ring", "Simple"); };
  const Json result = ring(machine("error-costs"));
  const double time = seconds(result), flow = time - latency(result);
  check("ring.Simple.base_s", ring, 9e-6 / time);
  check("ring.Simple.hop_s", ring, 6 * 2.2e-6 / time);
  check("ring.Simple.channel_Bps", ring, flow / time);
  const double others = 0.2 * std::sqrt(blocks(result) - 1);
  check("ring.Simple.crowding", ring, others / (1 + others) * flow / time);
  const auto tree = [](const std::string& made) { return run(made, "all_reduce", 4, 65536, "tree", "LL"); };
  const Json of_tree = tree(machine("error-costs"));
  check("tree.LL.base_s", tree, 5e-6 / seconds(of_tree));
  check("tree.LL.hop_s", tree, 6 * 1.2e-6 / seconds(of_tree));
}

}  // namespace linkcast::test::ring_costs_test
