// What a collective costs beside its links, worked out by hand on a machine whose thread blocks are so slow that they
// alone limit, and where links limit too: bases, hops that store and that add, crowding, what blocks do in each step,
// fills of chains and trees; and what each parameter's error does.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <tuple>
#include <vector>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::ring_costs_test {

namespace {

using Values = std::map<std::string, double>;

// Of ring and tree, in each protocol; a block moves 10 MB/s, so far below what links carry that these never count
const Values kMade = {
    {"ring.LL.base_s", 6e-6},           {"ring.LL.hop_s", 0.9e-6},         {"ring.LL.channel_Bps", 0.6e7},
    {"ring.LL.crowding", 0.3},          {"ring.LL.copy_steps", 0.9},       {"ring.LL.reduce_steps", 0.12},
    {"ring.LL.copy_s", 0.17e-6},        {"ring.LL.reduce_s", 0.23e-6},     {"ring.LL128.base_s", 8e-6},
    {"ring.LL128.hop_s", 1.4e-6},       {"ring.LL128.channel_Bps", 0.8e7}, {"ring.LL128.crowding", 0.1},
    {"ring.LL128.copy_steps", 0.5},     {"ring.LL128.reduce_steps", 0.42}, {"ring.LL128.copy_s", 0.31e-6},
    {"ring.LL128.reduce_s", 0.41e-6},   {"ring.Simple.base_s", 9e-6},      {"ring.Simple.hop_s", 2.2e-6},
    {"ring.Simple.channel_Bps", 1e7},   {"ring.Simple.crowding", 0.2},     {"ring.Simple.copy_steps", 0.6},
    {"ring.Simple.reduce_steps", 0.25}, {"ring.Simple.copy_s", 1.6e-6},    {"ring.Simple.reduce_s", 0.7e-6},
    {"ring.LL.read_steps", 0.15},       {"ring.LL128.read_steps", 0.21},   {"ring.Simple.read_steps", 0.19},
    {"ring.LL.read_s", 0.33e-6},        {"ring.LL128.read_s", 0.29e-6},    {"ring.Simple.read_s", 1.2e-6},
    {"tree.LL.slowness", 0.8},          {"tree.Simple.slowness", 1.3},     {"sendrecv.base_s", 11e-6},
    {"sendrecv.channel_Bps", 1.1e7},    {"sendrecv.unidirectional", 1.4},  {"sendrecv.simple_s", 3.3e-6}};

/// @param errors  relative, of these; all others have none. @param unknown  parameters that it has not
std::string machine(const std::string& id, const Values& changed = {}, const Values& errors = {},
                    const std::vector<std::string>& unknown = {}) {
  Calibration c = catalogue().machine("hgx-h200")->platform().calibration();
  std::erase_if(c.parameters, [](const auto& one) { return one.first.rfind("nccl.", 0) == 0; });
  for (auto& [name, parameter] : c.parameters) parameter.stderr_ = 0;
  Values values = kMade;
  for (const auto& [name, value] : changed) values[name] = value;
  for (const std::string& name : unknown) values.erase(name);
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

/// Payload of all blocks, bytes/s, where each step takes as long as those of a long all_reduce do on average.
double rate_of(const Json& result, const std::string& protocol) {
  const double n = blocks(result);
  return n * kMade.at("ring." + protocol + ".channel_Bps") /
         (1 + kMade.at("ring." + protocol + ".crowding") * std::sqrt(n - 1));
}

/// What a kernel does with the bytes of a step.
struct Primitive {
  bool adds, stores, sends;
};
constexpr Primitive kSend{false, false, true}, kCopySend{false, true, true}, kReceiveReduceSend{true, false, true},
    kReceiveReduceCopySend{true, true, true}, kReceiveCopySend{false, true, true},
    kReceiveReduceCopy{true, true, false}, kReceive{false, true, false};

/// Those of one block for each part of a buffer. source: NCCL 2.30.7, src/device/all_reduce.h, all_gather.h,
/// reduce_scatter.h, broadcast.h and reduce.h, runRing; chains by the ranks between the first and the last one
std::vector<Primitive> primitives(const std::string& op, int ranks) {
  std::vector<Primitive> all;
  const auto add = [&](int times, const Primitive& one) {
    all.insert(all.end(), static_cast<std::size_t>(times), one);
  };
  if (op == "all_reduce") {
    add(1, kSend);
    add(ranks - 2, kReceiveReduceSend);
    add(1, kReceiveReduceCopySend);
    add(ranks - 2, kReceiveCopySend);
    add(1, kReceive);
  } else if (op == "all_gather") {
    add(1, kCopySend);
    add(ranks - 2, kReceiveCopySend);
    add(1, kReceive);
  } else if (op == "reduce_scatter") {
    add(1, kSend);
    add(ranks - 2, kReceiveReduceSend);
    add(1, kReceiveReduceCopy);
  } else {
    add(1, op == "broadcast" ? kReceiveCopySend : kReceiveReduceSend);
  }
  return all;
}

/// Of a primitive, in steps: a send takes what is left where half of the steps store and half of them add.
double steps_of(const Primitive& one, const Values& id, const std::string& protocol) {
  const double copy = id.at("ring." + protocol + ".copy_steps"), reduce = id.at("ring." + protocol + ".reduce_steps");
  const double whole = one.sends ? 1 - (copy + reduce) / 2 : id.at("ring." + protocol + ".read_steps");
  if (one.sends && one.stores && one.adds) return whole + std::max(copy, reduce);
  return whole + (one.stores ? copy : 0) + (one.adds ? reduce : 0);
}

/// Steps of the root of a reduce, which sends nothing; no other operation has a rank of its own kind that could limit.
double root_of(const std::string& op, const std::string& protocol) {
  return op == "reduce" ? steps_of(kReceiveReduceCopy, kMade, protocol) : 0;
}

/// Of all primitives of an operation, by the slowest rank.
double work_of(const std::string& op, int ranks, const std::string& protocol) {
  double sum = 0;
  for (const Primitive& one : primitives(op, ranks)) sum += steps_of(one, kMade, protocol);
  return std::max(sum, root_of(op, protocol));
}

/// What a block takes of each rank's part in one round. source: NCCL's buffers, 4 slots of 512 KiB; lines of 8 and of
/// 128 B
double round_of(const std::string& protocol) {
  return protocol == "LL" ? 32768 : protocol == "LL128" ? 576000 : 4 * 524288;
}

/// Of what working in step costs, the part that is left. source of 12 rounds: docs/collectives.md
double left_after(double rounds) { return 1 / (1 + (rounds - 1) / 12); }

/// Times as long as alone that the step takes which sends nothing, while all blocks are in step. source:
/// docs/collectives.md
double store_together(const std::string& protocol, double blocks) {
  return protocol == "LL" ? 1 : 1 + 0.6 / 23 * (blocks - 1);
}

/// Steps of a block on links that are free, with what those that send nothing take longer while blocks are in step.
double work_in_step(const std::string& op, int ranks, const std::string& protocol, double part_B, double blocks) {
  double silent = 0;
  for (const Primitive& one : primitives(op, ranks)) silent += one.sends ? 0 : steps_of(one, kMade, protocol);
  const double rounds = std::max(1.0, part_B / round_of(protocol));
  return work_of(op, ranks, protocol) + (store_together(protocol, blocks) - 1) * silent * left_after(rounds);
}

/// Hops of the first byte, of which `storing` also store and `adding` also add, and the last step of closed rings.
double started_s(const std::string& protocol, double hops, double storing, double adding, bool closed = true) {
  const std::string ring = "ring." + protocol + ".";
  return kMade.at(ring + "base_s") + hops * kMade.at(ring + "hop_s") + storing * kMade.at(ring + "copy_s") +
         adding * kMade.at(ring + "reduce_s") + (closed ? kMade.at(ring + "read_s") : 0);
}

constexpr double kSizes[] = {4096, 262144, 16777216, 1073741824};

}  // namespace

TEST_CASE("by hand: rings of every protocol and operation whose blocks limit", "[physics][costs]") {
  const std::string id = machine("ring-costs");
  for (const int n : {2, 3, 8})
    for (const double size : kSizes)
      for (const std::string protocol : {"LL", "LL128", "Simple"}) {
        INFO(n << " " << size << " " << protocol);
        const double whole = 16.0 * n * std::ceil(size / 16 / n);  // parts begin at multiples of 16 bytes
        for (const auto& [op, hops, storing, adding] : {std::tuple{"all_reduce", 2 * (n - 1), n - 1, n - 1},
                                                        {"all_gather", n - 1, n - 1, 0},
                                                        {"reduce_scatter", n - 1, 0, n - 1}}) {
          INFO(op);
          const Json result = run(id, op, n, whole, "ring", protocol);
          CHECK_THAT(latency(result), WithinRel(started_s(protocol, hops, storing, adding), kExact));
          CHECK_THAT(seconds(result) - latency(result),
                     WithinRel(whole / n * work_in_step(op, n, protocol, whole / n / blocks(result), blocks(result)) /
                                   rate_of(result, protocol),
                               1e-6));
        }
        for (const auto& [op, storing] : {std::pair{"broadcast", 1}, {"reduce", 0}})  // one hop: it stores, or adds
          for (const int calls : {1, 20}) {
            INFO(op << " " << calls);
            const Json chain = run(id, op, n, size, "ring", protocol, {{"calls", calls}});
            CHECK_THAT(latency(chain),
                       WithinRel(started_s(protocol, (n - 1.0) / calls, storing, 1 - storing, false), kExact));
            const double fill =
                protocol == "Simple" ? (n - 1) * std::min(1.0, 524288 * blocks(chain) / size) / calls : 0;
            CHECK_THAT(seconds(chain) - latency(chain),
                       WithinRel(size * work_of(op, n, protocol) / rate_of(chain, protocol) * (1 + fill), 1e-6));
          }
      }
}

TEST_CASE("by hand: blocks and links of a ring, together at first and apart after many rounds", "[physics][costs]") {
  // source of (a^6 + b^6)^(1/6): docs/collectives.md
  const auto both_s = [](double a_s, double b_s) { return std::pow(std::pow(a_s, 6) + std::pow(b_s, 6), 1.0 / 6); };
  const auto with_blocks_of = [](double times, const std::string& id) {
    Values rates;
    for (const std::string protocol : {"LL", "LL128", "Simple"}) {
      rates["ring." + protocol + ".channel_Bps"] = times * kMade.at("ring." + protocol + ".channel_Bps");
      rates["ring." + protocol + ".crowding"] = 0;
    }
    return machine(id, rates);
  };
  const std::string free = with_blocks_of(1e9, "ring-free");
  for (const double times : {300.0, 1500.0, 3000.0, 12000.0}) {
    const std::string id = with_blocks_of(times, "ring-shared-" + std::to_string(times));
    for (const int n : {2, 4, 8})
      for (const double size : {1048576.0, 67108864.0, 8589934592.0})
        for (const std::string protocol : {"LL", "LL128", "Simple"})
          for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}) {
            INFO(times << " " << n << " " << size << " " << protocol << " " << op);
            const bool closed = op != "broadcast" && op != "reduce";
            const Json more = {{"calls", 100000000}};  // fills of chains count once
            const Json result = run(id, op, n, size, "ring", protocol, more),
                       on_links = run(free, op, n, size, "ring", protocol, more);
            REQUIRE(blocks(result) == blocks(on_links));
            const double links_s = seconds(on_links) - latency(on_links);
            const double part_B = size / (closed ? n : 1) / blocks(result);  // of each rank and block
            const double step_s = part_B / (times * kMade.at("ring." + protocol + ".channel_Bps"));
            const std::vector<Primitive> all = primitives(op, n);
            const double sends = static_cast<double>(
                std::count_if(all.begin(), all.end(), [](const Primitive& one) { return one.sends; }));
            double together_s = 0;
            for (const Primitive& one : all) {
              const double block_s = steps_of(one, kMade, protocol) * step_s;
              together_s +=
                  one.sends ? both_s(block_s, links_s / sends) : store_together(protocol, blocks(result)) * block_s;
            }
            together_s = std::max(together_s, root_of(op, protocol) * step_s);  // whatever the links do
            const double apart_s = both_s(work_of(op, n, protocol) * step_s, links_s);
            const double rounds = std::max(1.0, part_B / round_of(protocol));
            CHECK_THAT(seconds(result) - latency(result),
                       WithinRel(apart_s + std::max(0.0, together_s - apart_s) * left_after(rounds), 1e-5));
          }
  }
}

TEST_CASE("by hand: crowding by as many blocks as there are doubles the time at most", "[physics][costs]") {
  const std::string id = machine("ring-crowded", {{"ring.Simple.crowding", 3}});
  const Json crowded = run(id, "all_reduce", 4, 1e9, "ring", "Simple");
  const double n = blocks(crowded);
  REQUIRE(n > 2);
  const double rate = n * 1e7 / (1 + std::sqrt(n - 1));
  CHECK_THAT(seconds(crowded) - latency(crowded),
             WithinRel(1e9 / 4 * work_in_step("all_reduce", 4, "Simple", 1e9 / 4 / n, n) / rate, 1e-6));
}

TEST_CASE("by hand: trees inside a node, their hops, halved blocks and fill", "[physics][costs]") {
  const std::string id = machine("tree-costs");
  for (const int n : {2, 4, 8})
    for (const double size : {1048576.0, 16777216.0, 134217728.0, 4294967296.0}) {
      INFO(n << " " << size);
      const Json tree = run(id, "all_reduce", n, size, "tree", "Simple");
      // a ring's base and hops, slower
      CHECK_THAT(latency(tree), WithinRel(1.3 * (9e-6 + 2 * (n - 1) * 2.2e-6), kExact));
      double chunk = 524288;
      const double depth = n - 1;
      for (const auto& [wanted, least] : {std::pair{8 * depth, 131072.0}, {4 * depth, 65536.0}, {depth, 32768.0}})
        while (std::floor(size / (blocks(tree) * chunk)) < wanted && chunk > least) chunk /= 2;
      const double fill = 2 * depth * std::min(1.0, chunk * blocks(tree) / size);
      CHECK_THAT(seconds(tree) - latency(tree), WithinRel(size / (rate_of(tree, "Simple") / 2) * (1 + fill), 1e-6));
    }
  const Json lines = run(id, "all_reduce", 4, 1e7, "tree", "LL");
  CHECK_THAT(seconds(lines), WithinRel(0.8 * (6e-6 + 6 * 0.9e-6) + 1e7 / (rate_of(lines, "LL") / 2), 1e-6));
}

TEST_CASE("by hand: a slow GPU slows rings by itself, trees' hops by its share", "[physics][costs]") {
  const std::string id = machine("slow-costs");
  const Json slow{{"edits", Json::array({"slow gpu1:3"})}};
  for (const std::string protocol : {"LL", "Simple"}) {
    const Json before = run(id, "all_reduce", 4, 1e8, "ring", protocol),
               after = run(id, "all_reduce", 4, 1e8, "ring", protocol, slow);
    CHECK_THAT(seconds(after), WithinRel(3 * seconds(before), 1e-9));
    CHECK_THAT(latency(after), WithinRel(3 * latency(before), 1e-9));
  }
  const Json before = run(id, "all_reduce", 4, 1e8, "tree", "LL"),
             after = run(id, "all_reduce", 4, 1e8, "tree", "LL", slow);
  CHECK_THAT(latency(after), WithinRel(3 * 0.8 * 6e-6 + 6 * 0.8 * 0.9e-6 * (3 + 3) / 4, 1e-9));
  CHECK_THAT(seconds(after) - latency(after), WithinRel(3 * (seconds(before) - latency(before)), 1e-9));
}

TEST_CASE("by hand: messages of a group pay their base, what Simple costs more, and a hop's worth less",
          "[physics][costs]") {
  const std::string id = machine("message-costs");
  const auto message = [&](const std::string& op, double size_B, const Json& more = Json::object()) {
    Json query{{"platform", id},   {"kind", "collective"},   {"launch", "graph"},   {"op", op},
               {"size_B", size_B}, {"library", "nccl-2.18"}, {"gpus", {0, 1, 2, 3}}};
    query.update(more);
    return ask(query);
  };
  const Json small = message("sendrecv", 8), large = message("sendrecv", 1e9);
  REQUIRE(blocks(small) == 1);
  CHECK_THAT(latency(small), WithinRel(11e-6, kExact));
  // base and hop of LL are in the base of messages; Simple costs more by a parameter of its own, several blocks 0.7 us
  const double several_s = 0.7e-6, base_s = 11e-6 + 3.3e-6 + several_s;
  CHECK_THAT(latency(large), WithinRel(base_s, kExact));
  // the next call's first bytes wait until the last 128 KiB are copied out of the buffers, at twice the rate
  constexpr double kLast_B = 131072;
  CHECK_THAT(seconds(large) - latency(large), WithinRel(1e9 / (blocks(large) * 1.1e7) + kLast_B / (2 * 1.1e7), 1e-6));
  // what a rank sends to all others and keeps begins together, on however many channels
  for (const double size : {4194304.0, 67108864.0})
    CHECK_THAT(latency(message("alltoall", size)), WithinRel(base_s, kExact));
  // without a parameter 3.8 us, which H100 and H200 take
  const Json unmeasured =
      message("sendrecv", 1e9, {{"platform", machine("message-costs-prior", {}, {}, {"sendrecv.simple_s"})}});
  CHECK_THAT(latency(unmeasured), WithinRel(11e-6 + 3.8e-6 + several_s, kExact));
  // blocks of a root or of its partners only send or only receive, and never both
  for (const std::string op : {"gather", "scatter"}) {
    // they start one job of two, 0.9 of the base; the last copy of a row of calls is that of the last call alone
    for (const int calls : {1, 20})
      for (const double part_B : {1048576.0, 67108864.0}) {
        const Json unidirectional = message(op, 4 * part_B, {{"calls", calls}});
        REQUIRE(unidirectional["protocol"] == "Simple");
        const double block_B = part_B / blocks(unidirectional), rate = 1.4 * 1.1e7;
        INFO(op << " " << part_B << " " << calls << " " << block_B);
        CHECK_THAT(latency(unidirectional), WithinRel(0.9 * base_s, kExact));
        CHECK_THAT(seconds(unidirectional) - latency(unidirectional),
                   WithinRel(block_B / rate + std::min(kLast_B, block_B) / (2 * rate) / calls, 1e-6));
      }
    const Json lines = message(op, 4096);
    REQUIRE(lines["protocol"] == "LL");
    CHECK_THAT(latency(lines), WithinRel(0.9 * 11e-6, kExact));
    CHECK_THAT(seconds(lines) - latency(lines), WithinRel(1024 / (blocks(lines) * 0.6e7), 1e-6));
  }
  // as many channels as are forced
  const Json few = message("sendrecv", 1e6, {{"channels", 2}});
  CHECK(blocks(few) == 1);  // of two, shared out among four ranks
}

TEST_CASE("by hand: channels that a query asks for", "[physics][costs]") {
  const std::string id = machine("ring-channels");
  const double part_B = 268435456.0 / 4;
  for (const int channels : {1, 4, 16}) {
    const Json result = run(id, "all_reduce", 4, 268435456, "ring", "Simple", {{"channels", channels}});
    REQUIRE(blocks(result) == channels);
    CHECK_THAT(latency(result), WithinRel(started_s("Simple", 6, 3, 3), kExact));
    CHECK_THAT(seconds(result) - latency(result),
               WithinRel(part_B * work_in_step("all_reduce", 4, "Simple", part_B / channels, channels) /
                             rate_of(result, "Simple"),
                         1e-6));
  }
}

TEST_CASE("by hand: each parameter's error is in the interval as far as the time depends on it", "[physics][costs]") {
  using Ask = std::function<Json(const std::string&)>;
  const Values quick = {{"ring.LL.channel_Bps", 0.6e9}};  // so that the latency counts
  const auto variance = [&](const Values& errors, const Ask& ask) {
    const Json result = ask(machine("error-costs", quick, errors));
    const double high = std::log(result["time_high_s"].get<double>() / seconds(result)) / 1.645,
                 low = std::log(seconds(result) / result["time_low_s"].get<double>()) / 1.645;
    CHECK_THAT(low, WithinRel(high, 1e-6));
    return high * high;
  };
  constexpr double kError = 0.3;
  const auto check = [&](const std::string& name, const Ask& ask, double part) {
    INFO(name);
    CHECK_THAT(variance({{name, kError}}, ask) - variance({}, ask), WithinRel(std::pow(kError * part, 2), 1e-3));
  };
  const auto ring = [](const std::string& id) { return run(id, "all_reduce", 4, 4194304, "ring", "Simple"); };
  const Json result = ring(machine("error-costs", quick));
  const double time = seconds(result), flow = time - latency(result);
  check("ring.Simple.channel_Bps", ring, flow / time);
  // six sends, four stores, three adds, one of which hides behind a store: copy_steps counts four times, less half of
  // the sends that are so much shorter; that the last store takes longer while blocks are in step is left out
  check("ring.Simple.copy_steps", ring, 0.6 * (4 - 3) / work_of("all_reduce", 4, "Simple") * flow / time);
  check("ring.Simple.read_steps", ring, 0.19 / work_of("all_reduce", 4, "Simple") * flow / time);
  check("ring.Simple.read_s", ring, 1.2e-6 / time);
  const double others = 0.2 * std::sqrt(blocks(result) - 1);
  check("ring.Simple.crowding", ring, others / (1 + others) * flow / time);
  // three sends, three adds, one store
  const auto scatter = [](const std::string& id) { return run(id, "reduce_scatter", 4, 4194304, "ring", "Simple"); };
  const Json scattered = scatter(machine("error-costs", quick));
  check("ring.Simple.reduce_steps", scatter,
        0.25 * (3 - 1.5) / work_of("reduce_scatter", 4, "Simple") * (1 - latency(scattered) / seconds(scattered)));
  const auto small = [](const std::string& id) { return run(id, "all_reduce", 4, 65536, "ring", "LL"); };
  const Json lines = small(machine("error-costs", quick));
  check("ring.LL.base_s", small, 6e-6 / seconds(lines));
  check("ring.LL.hop_s", small, 6 * 0.9e-6 / seconds(lines));
  check("ring.LL.copy_s", small, 3 * 0.17e-6 / seconds(lines));
  check("ring.LL.reduce_s", small, 3 * 0.23e-6 / seconds(lines));
  // a reduce waits for its root: read + copy + reduce = 1.04 steps, more than the 0.825 of a rank that adds and sends
  const auto chain = [](const std::string& id) { return run(id, "reduce", 4, 4194304, "ring", "Simple"); };
  const Json reduced = chain(machine("error-costs", quick));
  const double of_root = 1 - latency(reduced) / seconds(reduced);
  for (const auto& [name, steps] : Values{{"copy_steps", 0.6}, {"reduce_steps", 0.25}, {"read_steps", 0.19}})
    check("ring.Simple." + name, chain, steps / 1.04 * of_root);
  const auto tree = [](const std::string& id) { return run(id, "all_reduce", 4, 65536, "tree", "LL"); };
  const Json of_tree = tree(machine("error-costs", quick));
  check("ring.LL.base_s", tree, 0.8 * 6e-6 / seconds(of_tree));
  check("ring.LL.hop_s", tree, 6 * 0.8 * 0.9e-6 / seconds(of_tree));
  check("tree.LL.slowness", tree, 0.8 * (6e-6 + 6 * 0.9e-6) / seconds(of_tree));
  const auto gather = [](const std::string& id) {
    return ask({{"platform", id},
                {"kind", "collective"},
                {"launch", "graph"},
                {"op", "gather"},
                {"size_B", 4194304},
                {"library", "nccl-2.18"},
                {"gpus", {0, 1, 2, 3}}});
  };
  const Json gathered = gather(machine("error-costs", quick));
  check("sendrecv.unidirectional", gather, 1 - latency(gathered) / seconds(gathered));
}

}  // namespace linkcast::test::ring_costs_test
