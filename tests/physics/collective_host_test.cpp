// What kernels pay for hops through host memory and for parts that do not begin at 16 bytes: packets, cache, buffers,
// widths, and the steps of a ring that wait for the part that moves slowest.
#include <algorithm>
#include <cmath>

#include "sim/forecast/alignment.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/narrow_steps.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_host_test {

namespace {

using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::Figure;

CollectiveJob job_of(const Cluster& machine, const Library& library, const Communicator& made, const std::string& op,
                     double size_B) {
  return {machine, library, made, collectives().get(op), op, size_B};
}

}  // namespace

TEST_CASE("hops through host memory: packets, flags, and what stays in the cache of a CPU", "[physics][cost]") {
  const Values values = {{"host.data_share", 0.9}, {"host.cache_B", 20e6}};
  const auto node = made_platform("hgx-h200", values);
  const Communicator made = made_ring({5, 6, 7});  // four GPUs hang on each CPU
  const auto hops = [&](double element_B, double buffers_B, bool through = true) {
    return collective::host_hops(*node, made, through, 6, element_B, buffers_B);
  };
  // 24 bytes of header to 128 of payload; a warp writes 32 elements side by side
  for (const auto& [element_B, payload_B] : {std::pair{16.0, 128.0}, {4.0, 128.0}, {2.0, 64.0}, {1.0, 32.0}})
    CHECK_THAT(hops(element_B, 1e9).wire, WithinRel((payload_B + 24) / payload_B / (152.0 / 128) / 0.9, kExact));
  CHECK(hops(16, 1e9).steps == 6);
  CHECK_THAT(hops(16, 50e6).memory, WithinRel(1 - 20e6 / (4 * 50e6), kExact));
  CHECK(hops(16, 5e6).memory == 0);  // four times 5 MB fit
  CHECK(hops(16, 1e3).memory == 0);
  const activities::HostHops none = hops(1, 1e9, false);
  CHECK(none.steps == 0);
  CHECK(none.wire == 1);
  CHECK(none.memory == 1);
  // where no kernel over PCIe was measured they are taken as copies are
  const auto dgx1 = made_platform("p100-dgx1", values);
  REQUIRE_FALSE(dgx1->transports().measured("h2d_sm"));
  CHECK(collective::host_hops(*dgx1, made, true, 6, 1, 1e9).wire == 1);
  // unmeasured: hosts leave most, the cache holds about 2 of 15 ways of 100 MiB
  const auto unknown = made_platform("hgx-h200", {});
  const activities::HostHops assumed = collective::host_hops(*unknown, made, true, 0, 16, 1e9);
  CHECK_THAT(1 / assumed.wire, WithinRel(0.8, kExact));
  CHECK_THAT((1 - assumed.memory) * 4e9, WithinRel(2.0 / 15 * 100 * 1048576, 0.05));
}

TEST_CASE("buffers that a call touches: of rings at most 4 MiB a block, of messages eight chunks", "[physics][cost]") {
  const auto node = made_platform("hgx-h200", {});
  const Cluster machine(*node);
  const TableLibrary library;
  const Communicator made = made_ring({0, 1, 2, 3});
  // two chunks of each rank's part at a time
  CHECK(collective::ring_buffers_B(job_of(machine, library, made, "all_reduce", 8e6), 10) == 4e6);
  CHECK(collective::ring_buffers_B(job_of(machine, library, made, "all_reduce", 8e9), 10) == 10 * 4194304);
  CHECK(collective::message_buffers_B(3, 7) == 8 * 131072 * 3 * 7);
  const Collective &sums = collectives().get("reduce_scatter"), &copies = collectives().get("all_gather");
  CHECK(collective::element_B(sums, "LL", 20) == 16);
  for (const auto& [distance, aligned] : {std::pair{0.0, true}, {32.0, true}, {24.0, false}, {20.0, false}}) {
    CHECK(collective::element_B(sums, "Simple", distance) == (aligned ? 16 : 4));
    CHECK(collective::element_B(copies, "Simple", distance) == (aligned ? 16 : 1));
    CHECK(collective::element_B(copies, "LL128", distance) == (aligned ? 16 : 1));
  }
}

TEST_CASE("narrow accesses take their share of a block's rate, but of LL none", "[physics][cost]") {
  const auto node =
      made_platform("hgx-h200", {{"ring.Simple.narrow4_share", 0.44}}, {{"ring.Simple.narrow4_share", 0.05}});
  const TableRings table;  // estimates 0.6 of 8 bytes, 0.35 of 4
  const Communicator made = made_ring({0, 1, 2});
  const auto rate = [&](const std::string& protocol, double distance_B) {
    CollectiveCost cost;
    cost.channel_Bps = 10e9;
    collective::narrow_blocks(*node, table, made, protocol, distance_B, cost);
    const double error = cost.terms(Figure::kBlock).empty() ? 0 : cost.terms(Figure::kBlock).back().spread.sigma;
    return std::pair{cost.channel_Bps, error};
  };
  for (const std::string protocol : {"LL128", "Simple"}) {
    CHECK(rate(protocol, 0) == std::pair{10e9, 0.0});
    CHECK(rate(protocol, -8) == std::pair{10e9, 0.0});
    CHECK(rate(protocol, 48) == std::pair{10e9, 0.0});
    CHECK_THAT(rate(protocol, 24).first, WithinRel(6e9, kExact));
    CHECK_THAT(rate(protocol, 24).second, WithinRel(0.15, kExact));
    CHECK_THAT(rate(protocol, 20).first, WithinRel(4.4e9, kExact));
    CHECK_THAT(rate(protocol, 20).second, WithinRel(0.05, kExact));
  }
  for (const double distance : {20.0, 24.0, 48.0}) CHECK(rate("LL", distance) == std::pair{10e9, 0.0});
}

/// Which rank's part leaves each place of a ring in a step, by playing it.
std::vector<std::vector<int>> played(const std::vector<int>& ranks, bool reduces) {
  const std::size_t n = ranks.size();
  std::vector<std::vector<int>> steps;
  // all_gather: everyone passes on what came last, first its own. reduce_scatter: part q is complete at its rank after
  // n - 1 hops, so it sets out from the place behind it.
  std::vector<int> holds(n);
  for (std::size_t place = 0; place < n; ++place) holds[reduces ? (place + 1) % n : place] = ranks[place];
  for (std::size_t step = 0; step + 1 < n; ++step) {
    steps.push_back(holds);
    std::rotate(holds.begin(), holds.end() - 1, holds.end());
  }
  if (reduces)
    for (std::size_t place = 0; place < n; ++place) CHECK(holds[place] == ranks[place]);
  return steps;
}

TEST_CASE("where a ring keeps step it waits for the narrow parts that cross host memory", "[physics][cost]") {
  // source: a load from host memory takes 1.17 us, one from the GPU's own 500 cycles at 1,480 MHz
  const double slower = 1.17e-6 / (500 / 1480e6);
  const auto node = made_platform("hgx-h200", {});
  const Cluster machine(*node);
  TableLibrary library;
  library.made.keeps = true;
  const std::vector<int> order = {2, 0, 3, 1, 4};
  for (const std::vector<std::size_t>& through : {std::vector<std::size_t>{1}, {0, 3}, {4}}) {
    Communicator made = made_ring(order, through);
    made.gpus = {1, 0, 2, 3, 4};  // rank r is GPU gpus[r]
    std::vector<int> ranks;
    for (const int gpu : order)
      ranks.push_back(static_cast<int>(std::find(made.gpus.begin(), made.gpus.end(), gpu) - made.gpus.begin()));
    for (const bool reduces : {false, true})
      for (const double distance : {20.0, 24.0, 36.0}) {
        const std::string op = reduces ? "reduce_scatter" : "all_gather";
        double time = 0, host = 0;
        const auto share_of = [](int width) { return width == 16 ? 1 : width == 8 ? 0.6 : 0.35; };
        const double worst = share_of(collective::access_width_B(distance));
        for (const std::vector<int>& leaves : played(ranks, reduces)) {
          double slowest = 1;
          for (const std::size_t hop : through) {
            const int begins = leaves[hop] * static_cast<int>(distance);  // of part 0 at a buffer's beginning
            const int width = begins % 16 == 0 ? 16 : begins % 8 == 0 ? 8 : 4;
            if (width < 16) slowest = std::max(slowest, slower * worst / share_of(width));
          }
          time += slowest;
          if (slowest > 1) host += slowest;
        }
        INFO(op << " " << distance << " " << through.front());
        CollectiveCost cost;
        const CollectiveJob job = job_of(machine, library, made, op, 5 * distance);
        CHECK_THAT(collective::narrow_host_share(job, made.channels.front(), distance, cost),
                   WithinRel(4 / time, kExact));
        REQUIRE(cost.terms(Figure::kBlock).size() == 1);
        CHECK_THAT(cost.terms(Figure::kBlock)[0].spread.sigma, WithinRel(host / time * std::hypot(0.2, 0.3), kExact));
      }
  }
  // nothing of it: parts at 16 bytes, chains, rings that do not keep step, no host memory, several nodes
  const Communicator host = made_ring({0, 1, 2}, {1}), peers = made_ring({0, 1, 2});
  Communicator nodes = host;
  nodes.nodes = 2;
  const auto share = [&](const Communicator& made, const std::string& op, double distance) {
    CollectiveCost cost;
    const double left =
        collective::narrow_host_share(job_of(machine, library, made, op, 60), made.channels.front(), distance, cost);
    CHECK(cost.terms(Figure::kBlock).empty() == (left == 1));
    return left;
  };
  CHECK(share(host, "all_gather", 20) < 1);
  CHECK(share(host, "all_gather", 32) == 1);
  CHECK(share(host, "broadcast", 20) == 1);
  CHECK(share(peers, "all_gather", 20) == 1);
  CHECK(share(nodes, "all_gather", 20) == 1);
  library.made.keeps = false;
  CHECK(share(host, "all_gather", 20) == 1);
}

}  // namespace linkcast::test::collective_host_test
