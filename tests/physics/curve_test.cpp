// Curves over sizes and nodes: where nobody measured what runs, a larger call is never much faster, whatever the
// library is thought to choose; a fall that was measured stays.
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "sim/forecast/near_ties.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::curve_test {

namespace {

constexpr double kFall = 1.2;  // source: aim, a size over twice that size

struct Curve {
  const char *platform, *op;
  int nodes, gpus;
};

// Those that fell most, by up to 14 times, when the forecast was that of the likeliest row alone
constexpr std::array<Curve, 22> kCurves = {
    {{"gb300-nvl72", "broadcast", 2, 72}, {"gb200-nvl72", "reduce", 8, 72}, {"hgx-h20", "reduce", 64, 8},
     {"hgx-h200", "broadcast", 64, 8},    {"a3-ultra", "broadcast", 16, 8}, {"nd-h100-v5", "reduce", 16, 8},
     {"hgx-b300", "broadcast", 64, 8},    {"dgx-b200", "reduce", 64, 8},    {"dgx-a100", "broadcast", 64, 8},
     {"nd-a100-v4", "reduce", 64, 8},     {"dgx2", "reduce", 64, 16},       {"dgx2", "broadcast", 16, 16},
     {"mi325x", "broadcast", 2, 8},       {"mi300x", "all_gather", 16, 8},  {"mi350x", "reduce_scatter", 64, 8},
     {"mi325x", "reduce", 16, 8},         {"leonardo", "all_gather", 2, 4}, {"abci-a100", "broadcast", 4, 8},
     {"p100-dgx1", "all_reduce", 64, 8},  {"a40", "all_reduce", 8, 8},      {"summit", "all_reduce", 16, 6},
     {"h100-pcie", "all_reduce", 4, 8}}};

double time_of(const Curve& curve, int nodes, double size_B, const Json& more = Json::object()) {
  Json query{{"platform", curve.platform}, {"kind", "collective"}, {"op", curve.op},
             {"size_B", size_B},           {"nodes", nodes},       {"gpus_per_node", curve.gpus}};
  query.update(more);
  return ask(query).at("time_s").get<double>();
}

double seconds_of(const Json& terms) {
  double sum = 0;
  for (const Json& term : terms) sum += term.at("time_s").get<double>();
  return sum;
}

}  // namespace

TEST_CASE("between nodes: twice the bytes are never 1.2 times as fast", "[physics][choices]") {
  for (const Curve& curve : kCurves) {
    double before_s = 0;
    for (double size_B = 1024; size_B <= 1 << 30; size_B *= 2) {
      INFO(curve.op << " on " << curve.nodes << " nodes of " << curve.platform << ", " << size_B << " B");
      const double time_s = time_of(curve, curve.nodes, size_B);
      CHECK(before_s <= kFall * time_s);
      before_s = time_s;
    }
  }
}

TEST_CASE("between nodes: more nodes are never 1.2 times as fast", "[physics][choices]") {
  const std::array<Curve, 4> curves = {{{"leonardo", "all_reduce", 64, 4},
                                        {"p100-dgx1", "all_reduce", 64, 8},
                                        {"summit", "all_reduce", 64, 6},
                                        {"rtx-4090-switched", "broadcast", 16, 8}}};
  for (const Curve& curve : curves)
    for (const double size_B : {131072.0, 262144.0, 1048576.0, 2097152.0, 4194304.0, 8388608.0}) {
      double before_s = 0;
      for (const int nodes : {2, 4, 8, 16, 64}) {
        if (nodes > curve.nodes) continue;
        INFO(curve.op << " of " << size_B << " B on " << nodes << " nodes of " << curve.platform);
        const double time_s = time_of(curve, nodes, size_B);
        CHECK(before_s <= kFall * time_s);
        before_s = time_s;
      }
    }
}

TEST_CASE("between nodes: a fall that was measured stays", "[physics][choices]") {
  // all_reduce of 1 and 2 MiB: 921 and 129 us on two nodes of Alps, 1,459 and 212 us on four (calibrate/data/alps)
  for (const int nodes : {2, 4}) {
    const Curve alps{"alps", "all_reduce", nodes, 4};
    CHECK(time_of(alps, nodes, 1 << 20) > 4 * time_of(alps, nodes, 1 << 21));
  }
}

TEST_CASE("between nodes: the terms of what may run add up to the time", "[physics][choices]") {
  for (const double size_B : {262144.0, 1048576.0, 4194304.0}) {
    const Json answer = ask({{"platform", "hgx-h100"},
                             {"kind", "collective"},
                             {"op", "broadcast"},
                             {"size_B", size_B},
                             {"nodes", 16},
                             {"gpus_per_node", 8},
                             {"explain", true}});
    const double time_s = answer.at("time_s").get<double>();
    CHECK_THAT(seconds_of(answer.at("terms")), WithinRel(time_s, 1e-9));
    CHECK(answer.at("time_low_s").get<double>() <= time_s);
    CHECK(answer.at("time_high_s").get<double>() >= time_s);
  }
}

TEST_CASE("tuned libraries: what is sure of a row stays, what is not is no bad choice", "[physics][choices]") {
  // Nothing is left to say of a row that is known: e times as slow is e^-2 times as likely.
  const collective::Tuned sure = collective::as_tuned(1, 0);
  CHECK_THAT(sure.excess, WithinAbs(1, 0.01));
  CHECK_THAT(sure.likelihood, WithinRel(std::exp(-2.0), 0.01));
  // The closed form against the sum over a normal distribution.
  for (const double excess : {0.2, 1.0, 2.5})
    for (const double spread : {0.1, 0.4, 0.8}) {
      double likelihood = 0, mean = 0;
      constexpr int kSteps = 20000;
      for (int i = -kSteps; i < kSteps; ++i) {
        const double z = 8 * (i + 0.5) / kSteps, x = excess + spread * z;
        const double part = std::exp(-z * z / 2 - 2 * std::max(0.0, x)) * 8 / kSteps / std::sqrt(2 * std::acos(-1.0));
        likelihood += part;
        mean += part * x;
      }
      const collective::Tuned tuned = collective::as_tuned(excess, spread);
      INFO(excess << " " << spread);
      CHECK_THAT(tuned.likelihood, WithinRel(likelihood, 1e-6));
      CHECK_THAT(tuned.excess, WithinAbs(std::max(0.0, mean / likelihood), 1e-6));
    }
  // One that is as fast as any stays as it is.
  CHECK(collective::as_tuned(-0.3, 0.8).excess == -0.3);
}

}  // namespace linkcast::test::curve_test
