// Forecasts of whole queries against physics: solvers agree, times grow with size, no result beats its wires, symmetric
// requests get equal times, and effects of the papers come from the mechanism that the model names.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "sim/engine/solvers.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::forecast_test {

namespace {

std::string gpu(int k) { return "gpu" + std::to_string(k); }

Json p2p(const std::string& platform, int source, int target, double size_B, const std::string& transport = "") {
  Json query{{"platform", platform}, {"kind", "p2p"}, {"src", gpu(source)}, {"dst", gpu(target)}, {"size_B", size_B}};
  if (!transport.empty()) query["transport"] = transport;
  return query;
}

Json with(Json query, const std::string& key, const Json& value) {
  query[key] = value;
  return query;
}

Json flows(const std::string& platform, const Json& list, const std::string& engine) {
  return {{"platform", platform}, {"kind", "flows"}, {"flows", list}, {"engine", engine}};
}

Json collective(const std::string& platform, const std::vector<int>& gpus, double size_B,
                const std::string& op = "all_reduce") {
  return {{"platform", platform}, {"kind", "collective"}, {"launch", "graph"}, {"op", op},
          {"gpus", gpus},         {"size_B", size_B}};
}

std::vector<int> first(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

void require_solvers_agree(const Json& query) {
  INFO(query.dump());
  const Json fluid = ask(with(query, "solver", "fluid")), native = ask(with(query, "solver", "native"));
  CHECK_THAT(fluid["time_s"].get<double>(), WithinRel(native["time_s"].get<double>(), kExact));
  for (std::size_t i = 0; fluid.contains("flow_times_s") && i < fluid["flow_times_s"].size(); ++i)
    CHECK_THAT(fluid["flow_times_s"][i].get<double>(), WithinRel(native["flow_times_s"][i].get<double>(), kExact));
}

/// Nominal bytes/s of a link, from the topology file alone.
double nominal_of(const Platform& platform, const std::string& id) {
  for (std::size_t i = 0; i < platform.links().size(); ++i) {
    const Cable& cable = platform.topology().cables[static_cast<std::size_t>(platform.links()[i].cable)];
    if (platform.constraints()[i].id == id) return cable.count * cable.bandwidth.si;
  }
  return 0;
}

/// Seconds the wires of a route need: its slowest link; of a relayed copy all of them, one after the other.
double wire_bound(const Platform& platform, const Json& route, double size_B) {
  double bound = 0;
  for (const Json& id : route["route"]) {
    const double time = size_B / nominal_of(platform, id.get<std::string>());
    bound = route["transport"] == "relay" ? bound + time : std::max(bound, time);
  }
  return bound;
}

/// Time of staged copies on a platform of our own: both ways at once if asked for.
double staged_time(const Platform& platform, int source, int target, double bytes, bool both_ways) {
  activities::ProblemBuilder builder(platform);
  activities::Transfer transfer;
  transfer.source = platform.gpu(source);
  transfer.target = platform.gpu(target);
  transfer.bytes = bytes;
  transfer.transport = "staged";
  builder.add(transfer);
  std::swap(transfer.source, transfer.target);
  if (both_ways) builder.add(transfer);
  return catalogue().solver("fluid").run(builder.problem()).makespan_s;
}

enum class Keep { kAll, kKindsOnly };

/// P100-DGX-1 with parts taken out of its calibration, and its switches' uplinks as bundles of `uplinks` cables.
/// kKindsOnly: no cable, link or GPU is special.
Platform p100(Keep keep, bool duplex, int uplinks = 1) {
  Calibration calibration = catalogue().machine("p100-dgx1")->platform().calibration();
  std::erase_if(calibration.parameters, [&](const auto& item) {
    const bool special = item.first.rfind("link.", 0) == 0 || item.first.find('@') != std::string::npos;
    return (keep == Keep::kKindsOnly && special) || (!duplex && item.first.find("duplex") != std::string::npos);
  });
  Topology topology = catalogue().machine("p100-dgx1")->platform().wiring();
  for (Cable& cable : topology.cables)
    if (cable.id.rfind("plx", 0) == 0) cable.count = uplinks;
  return {std::move(topology), std::move(calibration)};
}

}  // namespace

TEST_CASE("fluid and native agree on copies", "[physics][forecast]") {
  for (const double size : {1.0, 4096.0, 16384.0, 16385.0, kMiB, 64 * kMiB}) {
    require_solvers_agree(p2p("p100-dgx1", 0, 1, size, "peer"));
    require_solvers_agree(p2p("p100-dgx1", 0, 5, size, "relay"));
    require_solvers_agree(p2p("p100-dgx1", 0, 1, size, "staged"));
    require_solvers_agree(p2p("v100-dgx1", 2, 7, size, "staged"));
    require_solvers_agree(p2p("dgx2", 3, 12, size));
  }
  for (const std::string transport : {"peer", "staged"})
    require_solvers_agree(with(p2p("p100-dgx1", 2, 3, 8 * kMiB, transport), "bidirectional", true));
  require_solvers_agree(with(p2p("p100-dgx1", 2, 5, 8 * kMiB, "relay"), "bidirectional", true));
}

TEST_CASE("fluid and native agree on twelve flows", "[physics][forecast]") {
  Json list = Json::array();
  for (int k = 0; k < 12; ++k) list.push_back({gpu(k % 8), gpu((k + 1 + 3 * k % 7) % 8), (k + 1) * 3e6});
  for (const std::string engine : {"copy_engine", "sm"}) {
    require_solvers_agree(flows("p100-dgx1", list, engine));
    require_solvers_agree(with(flows("v100-dgx1", list, engine), "transport", "staged"));
  }
}

TEST_CASE("fluid and native agree on rings without host hops", "[physics][forecast]") {
  for (const std::string op : {"all_reduce", "broadcast"}) {
    require_solvers_agree(collective("p100-dgx1", first(4), 64 * kMiB, op));
    require_solvers_agree(collective("v100-dgx1", first(8), 64 * kMiB, op));
    require_solvers_agree(collective("dgx2", first(16), 1024, op));
  }
}

TEST_CASE("time never falls as the size grows", "[physics][forecast]") {
  for (const std::string transport : {"local", "peer", "relay", "staged", "host"}) {
    const int target = transport == "local" ? 0 : transport == "relay" ? 5 : 1;
    std::set<double> sizes;
    for (double size = 1; size <= 1073741824; size *= 2) sizes.insert({std::max(size - 1, 1.0), size, size + 1});
    double before = 0;
    for (const double size : sizes) {
      Json query = p2p("p100-dgx1", 0, target, size, transport);
      if (transport == "host") query["dst"] = "cpu0";
      const double time = time_of(query);
      INFO(transport << ", " << size << " B");
      CHECK(time >= before);
      before = time;
    }
  }
}

TEST_CASE("no copy beats its wires", "[physics][forecast]") {
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "abci-v100", "dgx2"}) {
    const Platform& platform = catalogue().machine(name)->platform();
    for (int a = 0; a < platform.gpu_count(); ++a)
      for (int b = 0; b < platform.gpu_count(); ++b)
        for (const double size : {1e3, 1e6, 1e9}) {
          if (a == b) continue;
          const Json routes =
              ask({{"platform", name}, {"kind", "routes"}, {"src", gpu(a)}, {"dst", gpu(b)}, {"size_B", size}});
          for (const Json& route : routes["routes"]) {
            INFO(name << " " << a << " " << b << " " << route["transport"]);
            const double bound = wire_bound(platform, route, size);
            CHECK((bound > 0 && std::isfinite(bound)));
            CHECK(route["time_s"].get<double>() >= bound);
          }
        }
  }
}

TEST_CASE("no collective beats its links", "[physics][forecast]") {
  // all_reduce sends 2 (n-1)/n of the buffer out of every GPU. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "abci-v100", "dgx2"}) {
    const Platform& platform = catalogue().machine(name)->platform();
    for (int n = 2; n <= platform.gpu_count(); ++n) {
      double out_of_gpu0 = 0;
      for (const Cable& cable : platform.topology().cables)
        if (cable.a == platform.gpu(0) || cable.b == platform.gpu(0)) out_of_gpu0 += cable.count * cable.bandwidth.si;
      for (const double size : {1e3, 1e6, 1e9}) {
        INFO(name << ", " << n << " GPUs, " << size << " B");
        CHECK(time_of(collective(name, first(n), size)) >= 2.0 * (n - 1) / n * size / out_of_gpu0);
      }
    }
  }
}

TEST_CASE("relabelling by a symmetry of the P100 NVLink graph changes no collective", "[physics][forecast]") {
  const std::vector<std::vector<int>> symmetries = {
      {4, 5, 6, 7, 0, 1, 2, 3}, {1, 0, 2, 3, 5, 4, 6, 7}, {3, 2, 1, 0, 7, 6, 5, 4}, {2, 0, 3, 1, 6, 4, 7, 5}};
  const Topology& topology = catalogue().machine("p100-dgx1")->platform().topology();
  for (const auto& image : symmetries)
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b)
        REQUIRE(topology.direct_links(a, b) ==
                topology.direct_links(image[static_cast<std::size_t>(a)], image[static_cast<std::size_t>(b)]));
  for (const auto& members : std::vector<std::vector<int>>{{0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 4, 5}, first(8)})
    for (const auto& image : symmetries) {
      std::vector<int> mapped;
      for (const int member : members) mapped.push_back(image[static_cast<std::size_t>(member)]);
      for (const double size : {1e4, 1e8}) {
        INFO(Json(members).dump() << " -> " << Json(mapped).dump());
        CHECK_THAT(time_of(collective("p100-dgx1", mapped, size)),
                   WithinRel(time_of(collective("p100-dgx1", members, size)), kExact));
      }
    }
}

TEST_CASE("twice the bytes take twice the time beyond the start-up", "[physics][forecast]") {
  const auto bytes_part = [](Json query, double size) {
    query["size_B"] = size;
    const Json result = ask(query);
    return result["time_s"].get<double>() - result["latency_s"].get<double>();
  };
  const Json peer = p2p("p100-dgx1", 0, 1, 1), relay = p2p("p100-dgx1", 0, 5, 1, "relay");
  for (const Json& query : {peer, relay, collective("p100-dgx1", first(8), 1), collective("v100-dgx1", first(5), 1)})
    for (const double size : {16 * kMiB, 256 * kMiB}) {
      INFO(query.dump() << size);
      CHECK_THAT(bytes_part(query, 2 * size), WithinRel(2 * bytes_part(query, size), kExact));
    }
  // A staged copy adds pipelined bytes only: the same difference for each further MiB.
  const auto staged = [&](double size) { return time_of(p2p("p100-dgx1", 0, 4, size, "staged")); };
  CHECK_THAT(staged(64 * kMiB) - staged(32 * kMiB), WithinRel(2 * (staged(48 * kMiB) - staged(32 * kMiB)), 1e-6));
}

TEST_CASE("staged copies below one switch are slower than across sockets, both ways even more", "[physics][forecast]") {
  // source: paper 001 (TPDS 2020), section 3.1.2: PCIe anti-locality, 9.2-9.8 against 10.0-10.8 GB/s
  const double size = 40e6;
  const auto time = [&](int a, int b, bool both) {
    return time_of(with(p2p("p100-dgx1", a, b, size, "staged"), "bidirectional", both));
  };
  double one_way = 0, both_ways = 0;
  int pairs = 0;
  for (int target = 0; target < 8; ++target) {
    const int neighbour = target ^ 1;
    for (int far = target < 4 ? 4 : 0; far < (target < 4 ? 8 : 4); ++far, ++pairs) {
      INFO(neighbour << " -> " << target << " against " << far << " -> " << target);
      CHECK(time(neighbour, target, false) > time(far, target, false));
      CHECK(time(neighbour, target, true) > time(far, target, true));
      one_way += time(neighbour, target, false) / time(far, target, false);
      both_ways += time(neighbour, target, true) / time(far, target, true);
    }
  }
  INFO("mean ratios " << one_way / pairs << " one way, " << both_ways / pairs << " both ways");
  CHECK(both_ways > 1.2 * one_way);
}

TEST_CASE("anti-locality comes from the uplink and its duplex capacity, and goes with them", "[physics][forecast]") {
  const double size = 40e6;
  const Platform kinds = p100(Keep::kKindsOnly, true), no_duplex = p100(Keep::kAll, false),
                 bare = p100(Keep::kKindsOnly, false), wide = p100(Keep::kKindsOnly, false, 2);
  for (int target = 0; target < 8; ++target) {
    const int neighbour = target ^ 1, far = (target + 4) % 8;
    INFO(neighbour << " and " << far << " -> " << target);
    const auto ratio = [&](const Platform& p, bool both) {
      return staged_time(p, neighbour, target, size, both) / staged_time(p, far, target, size, both);
    };
    // Structure and the numbers of the PCIe kind are enough: no GPU or cable needs to be special.
    CHECK(ratio(kinds, false) > 1.05);
    CHECK(ratio(kinds, true) > 1.5);
    // One way: without a duplex capacity the two directions of the uplink are independent.
    CHECK_THAT(ratio(no_duplex, false), WithinRel(1.0, kExact));
    CHECK_THAT(ratio(bare, false), WithinRel(1.0, kExact));
    // Both ways two copies share each direction of one uplink: twice the time, and none of it with a second uplink.
    CHECK_THAT(ratio(bare, true), WithinRel(2.0, 0.02));
    CHECK_THAT(ratio(wide, true), WithinRel(1.0, kExact));
  }
}

TEST_CASE("two copies of one copy engine take turns, kernels share", "[physics][forecast]") {
  // gpu0 -> gpu1 and gpu0 -> gpu2 have a link each: kernels use both at once, one copy engine serves one after the
  // other
  const double size = 64 * kMiB;
  const double lone = time_of(p2p("p100-dgx1", 0, 1, size));
  const Json two = {{gpu(0), gpu(1), size}, {gpu(0), gpu(2), size}};
  const Json engines = ask(flows("p100-dgx1", two, "copy_engine"));
  CHECK_THAT(engines["flow_times_s"][0].get<double>(), WithinRel(lone, kExact));
  CHECK_THAT(engines["flow_times_s"][1].get<double>(), WithinRel(2 * lone, kExact));
  const double lone_sm = time_of(with(p2p("p100-dgx1", 0, 1, size), "engine", "sm"));
  const Json sm = ask(flows("p100-dgx1", two, "sm"));
  for (const Json& time : sm["flow_times_s"]) CHECK_THAT(time.get<double>(), WithinRel(lone_sm, kExact));
  // The same link twice: kernels get half each, so that both end when the second copy would.
  const Json same = ask(flows("p100-dgx1", {{gpu(0), gpu(1), size}, {gpu(0), gpu(1), size}}, "sm"));
  const double startup = ask(p2p("p100-dgx1", 0, 1, size))["latency_s"].get<double>();
  for (const Json& time : same["flow_times_s"])
    CHECK_THAT(time.get<double>() - startup, WithinRel(2 * (lone_sm - startup), kExact));
  // Opposite directions of one cable do not slow each other.
  CHECK_THAT(time_of(with(p2p("p100-dgx1", 0, 1, size), "bidirectional", true)), WithinRel(lone, kExact));
}

TEST_CASE("all_reduce falls off a cliff at five GPUs of a DGX-1", "[physics][forecast]") {
  // source: paper 001 (TPDS 2020), section 3.3: no NVLink ring over 5 GPUs, the library goes through host memory
  for (const std::string name : {"p100-dgx1", "v100-dgx1"}) {
    std::vector<double> busbw(9);
    for (int n = 2; n <= 8; ++n) {
      const Json result = ask(collective(name, first(n), 256 * kMiB));
      busbw[static_cast<std::size_t>(n)] = result["busbw_Bps"].get<double>();
      CHECK(result["fallback"].get<bool>() == (n == 5));
    }
    INFO(name);
    for (const std::size_t n : {2U, 3U, 4U, 6U, 7U, 8U}) CHECK(busbw[n] > 2 * busbw[5]);
    CHECK(busbw[8] > busbw[6]);
  }
}

TEST_CASE("every prediction lies inside its own interval", "[physics][forecast]") {
  const auto inside = [](const Json& result) {
    const double low = result["time_low_s"].get<double>(), time = result["time_s"].get<double>();
    CHECK(low > 0);
    CHECK(low <= time);
    CHECK(time <= result["time_high_s"].get<double>());
    CHECK(std::isfinite(result["time_high_s"].get<double>()));
  };
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "abci-v100", "dgx2"})
    for (const double size : {1.0, 1000.0, 1e6, 1e9, 1e12}) {
      INFO(name << ", " << size << " B");
      for (int b = 1; b < catalogue().machine(name)->platform().gpu_count(); ++b) {
        inside(ask(p2p(name, 0, b, size)));
        inside(ask(p2p(name, 0, b, size, "staged")));
        inside(ask(collective(name, first(b + 1), size)));
      }
      inside(ask(p2p(name, 0, 0, size)));
      inside(ask(with(p2p(name, 0, 1, size), "dst", "cpu0")));
      inside(ask(with(p2p(name, 0, 1, size), "bidirectional", true)));
      for (const std::string engine : {"copy_engine", "sm"})
        inside(ask(flows(name, {{gpu(0), gpu(1), size}, {gpu(1), gpu(2), size}}, engine)));
    }
}

TEST_CASE("copies between any two P100: median error at most 2 %, 95th percentile at most 10 %",
          "[physics][forecast]") {
  // Target of the project: uncontended copies, all 56 ordered pairs, 4 B to 256 MB
  std::map<std::string, std::vector<double>> errors;
  std::set<std::pair<std::string, std::string>> pairs;
  for (const std::string file : {"p2p-message-size", "p2p-matrix"}) {
    Measurement m = read_measurement(test::data_dir() + "/calibrate/data/p100-dgx1/" + file + ".json");
    const auto points = m.points;
    for (const MeasuredPoint& point : points) {
      if (point.size_B < 4 || point.transport == "local" || point.transport == "host") continue;
      m.points = {point};  // one at a time: a comparison keeps its five worst points only
      const validate::Comparison comparison = validate::compare(catalogue(), m, {});
      REQUIRE(comparison.unanswered.empty());
      REQUIRE(comparison.worst.size() == 1);
      for (const std::string& group : {std::string("all"), point.transport.name()})
        errors[group].push_back(std::abs(comparison.worst[0].error()));
      pairs.insert({point.source, point.target});
    }
  }
  CHECK(pairs.size() == 56);
  CHECK(errors.size() == 4);
  CHECK(errors["all"].size() == (32 + 56) * 27 + 32 + 24 + 56);  // 27 sizes, and one size of the matrix with relays
  for (auto& [transport, list] : errors) {
    std::sort(list.begin(), list.end());
    const double median = list[list.size() / 2], p95 = list[list.size() * 95 / 100];
    INFO(transport << ": median " << 100 * median << " %, 95th percentile " << 100 * p95 << " %, worst "
                   << 100 * list.back() << " %");
    CHECK(median <= 0.02);
    CHECK(p95 <= 0.10);
  }
}

TEST_CASE("copies that were fitted are not passed off as held out", "[physics][forecast]") {
  for (const std::string file : {"p2p-message-size", "p2p-matrix"}) {
    const validate::Comparison comparison = validate::compare(
        catalogue(), read_measurement(test::data_dir() + "/calibrate/data/p100-dgx1/" + file + ".json"), {});
    for (const validate::CompareGroup& group : comparison.groups) {
      INFO(file << " " << group.transport << " " << group.sizes);
      CHECK(group.fitted);
    }
  }
}

}  // namespace linkcast::test::forecast_test
