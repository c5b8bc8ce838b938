// What is wrong with a machine: forecasts of an edited machine stand for a measurement of a broken one.
#include "validate/diagnosis/diagnose.hpp"

#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::test::diagnose_test {

namespace {

using diagnosis::CauseKind;

double time_of(Json query, const std::vector<std::string>& edits) {
  query["edits"] = edits;
  return query::answer(catalogue(), query).at("time_s").get<double>();
}

/// A copy "measured" on the machine with these edits.
MeasuredPoint copy(const std::string& platform, int from, int to, const std::vector<std::string>& edits) {
  MeasuredPoint point;
  point.source = "gpu" + std::to_string(from);
  point.target = "gpu" + std::to_string(to);
  point.transport = from == to ? "local" : "peer";
  point.size_B = 67108864;
  point.time_s = {time_of({{"kind", "p2p"},
                           {"platform", platform},
                           {"src", point.source},
                           {"dst", point.target},
                           {"size_B", point.size_B},
                           {"transport", point.transport}},
                          edits)};
  return point;
}

Measurement copies_of(const std::string& platform) {
  Measurement measurement;
  measurement.topology = platform;
  measurement.bench = "p2p_copy";
  measurement.timing = "back_to_back";
  return measurement;
}

/// Peer copies of every pair of NVLink neighbours of a P100 DGX-1.
Measurement copies(const std::vector<std::string>& edits) {
  Measurement measurement = copies_of("p100-dgx1");
  const Platform& platform = catalogue().machine("p100-dgx1")->platform();
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      if (from != to && platform.topology().direct(platform.gpu(from), platform.gpu(to)) != nullptr)
        measurement.points.push_back(copy("p100-dgx1", from, to, edits));
  return measurement;
}

/// Copies between four GPUs of an HGX H100, and inside each.
Measurement switched_copies(const std::vector<std::string>& edits) {
  Measurement measurement = copies_of("hgx-h100");
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) measurement.points.push_back(copy("hgx-h100", from, to, edits));
  return measurement;
}

/// all_reduce of all eight GPUs from 1 MiB to 1 GiB, on an HGX H100 unless said.
Measurement all_reduce(const std::vector<std::string>& edits, const Json& more = Json::object(), int nodes = 1,
                       const std::string& platform = "hgx-h100") {
  Measurement measurement;
  measurement.topology = platform;
  measurement.bench = "nccl_tests";
  measurement.timing = "back_to_back";
  for (double size_B = 1048576; size_B<2e9; size_B *= nodes> 1 ? 8 : 2) {
    MeasuredCollective collective;
    collective.op = "all_reduce";
    collective.gpus = {0, 1, 2, 3, 4, 5, 6, 7};
    collective.size_B = size_B;
    collective.launch = "process";
    collective.nodes = nodes;
    Json query{{"kind", "collective"},
               {"platform", platform},
               {"op", "all_reduce"},
               {"size_B", size_B},
               {"launch", "process"}};
    if (nodes > 1)
      query.update({{"nodes", nodes}, {"gpus_per_node", collective.gpus.size()}});
    else
      query["gpus"] = collective.gpus;
    if (more.is_object()) query.update(more);
    collective.time_s = {time_of(query, edits)};
    measurement.collectives.push_back(collective);
  }
  return measurement;
}

diagnosis::Diagnosis of(const Measurement& measurement) {
  return diagnosis::Bench(catalogue(), measurement.topology, {}, measurement).diagnose();
}

}  // namespace

TEST_CASE("diagnose: a machine as it should be is normal", "[diagnose]") {
  const diagnosis::Diagnosis found = of(copies({}));
  CHECK(found.normal());
  CHECK(found.fast == 0);
  CHECK(diagnosis::likely_kinds(found).empty());
  CHECK(found.findings.size() == 32);  // 16 cables, both directions
  CHECK(of(all_reduce({})).normal());
}

TEST_CASE("diagnose: one slow cable is named", "[diagnose]") {
  const diagnosis::Diagnosis found = of(copies({"scale gpu0-gpu4:0.5"}));
  CHECK(found.slow == 2);
  CHECK_FALSE(found.normal());
  REQUIRE(!diagnosis::likely_kinds(found).empty());
  const diagnosis::RankedKind first = diagnosis::likely_kinds(found).front();
  CHECK(first.kind == CauseKind::kLinks);
  REQUIRE(first.candidates.size() == 1);
  CHECK(first.candidates[0].part == "gpu0-gpu4");
  CHECK(first.candidates[0].times == Approx(2).epsilon(0.07));  // the next degree
}

TEST_CASE("diagnose: links of one GPU at half of their rate are no slow GPU", "[diagnose]") {
  std::vector<std::string> half;
  for (int plane = 0; plane < 4; ++plane) half.push_back("scale gpu2-nvs" + std::to_string(plane) + ":0.5");
  for (const bool links : {true, false}) {
    const diagnosis::Diagnosis found = of(switched_copies(links ? half : std::vector<std::string>{"slow gpu2:2"}));
    REQUIRE(!diagnosis::likely_kinds(found).empty());
    const diagnosis::RankedKind first = diagnosis::likely_kinds(found).front();
    CHECK(first.kind == (links ? CauseKind::kLinks : CauseKind::kGpu));
    REQUIRE(first.candidates.size() == 1);
    CHECK(first.candidates[0].part == (links ? "links of gpu2" : "gpu2"));
    CHECK(first.candidates[0].times == Approx(2).epsilon(0.07));  // the next degree
  }
}

TEST_CASE("diagnose: a cable that lost a tenth is found beside its neighbours", "[diagnose]") {
  const diagnosis::Diagnosis found = of(copies({"scale gpu0-gpu4:0.9"}));

  CHECK(found.verdict == diagnosis::Verdict::kFaulty);
  CHECK(found.ranking.kinds.front().candidates.front().part == "gpu0-gpu4");
}

TEST_CASE("diagnose: one slow GPU is named instead of its four cables", "[diagnose]") {
  const diagnosis::Diagnosis found = of(copies({"slow gpu3:1.5"}));
  CHECK(found.slow == 8);
  REQUIRE(!diagnosis::likely_kinds(found).empty());
  const diagnosis::RankedKind first = diagnosis::likely_kinds(found).front();
  CHECK(first.kind == CauseKind::kGpu);
  CHECK(diagnosis::parts_text(first) == "gpu3");
}

TEST_CASE("diagnose: a collective of all GPUs names none of them", "[diagnose]") {
  const diagnosis::Diagnosis found = of(all_reduce({"slow gpu3:2"}));
  CHECK(found.verdict == diagnosis::Verdict::kFaulty);
  for (const diagnosis::RankedKind& kind : diagnosis::likely_kinds(found))
    if (kind.kind == CauseKind::kGpu) CHECK(kind.candidates.size() == 8);
}

TEST_CASE("diagnose: P2P off is recognised", "[diagnose]") {
  const diagnosis::Diagnosis peers = of(all_reduce({"disable p2p"}));
  REQUIRE(!diagnosis::likely_kinds(peers).empty());
  CHECK(diagnosis::likely_kinds(peers).front().kind == CauseKind::kPeers);
  // 1.4 times slower is inside the interval: no fault, and not a reason to call it normal either
  CHECK_FALSE(of(all_reduce({}, {{"nvls", false}})).faulty());
}

TEST_CASE("diagnose: pairs without peer access are put together", "[diagnose]") {
  Measurement log;
  log.topology = "p100-dgx1";
  log.source = "p2pBandwidthLatencyTest of the CUDA samples, version not printed";
  const auto refused = [&](auto takes) {
    log.points.clear();
    const Platform& platform = catalogue().machine("p100-dgx1")->platform();
    for (int from = 0; from < 8; ++from)
      for (int to = 0; to < 8; ++to) {
        if (from == to || !platform.peer_route(platform.gpu(from), platform.gpu(to))) continue;
        MeasuredPoint point;
        point.source = "gpu" + std::to_string(from);
        point.target = "gpu" + std::to_string(to);
        point.transport = takes(from, to) ? "staged" : "peer";
        point.time_s = {1, 1};
        log.points.push_back(point);
      }
    return diagnosis::without_access(platform, log).where;
  };
  CHECK(refused([](int, int) { return false; }).empty());
  CHECK(refused([](int, int) { return true; }) == "all pairs");
  CHECK(refused([](int from, int to) { return from == 6 || to == 6; }) == "gpu6");
  CHECK(refused([](int from, int to) { return from / 4 != to / 4; }) == "pairs across sockets");
  CHECK(refused([](int from, int to) { return from / 4 == 1 && to / 4 == 1; }) == "GPUs of cpu1");
  CHECK(refused([](int from, int to) { return from == 0 && to == 1; }) == "1 pairs, gpu0 -> gpu1 the first");
}

namespace {

Measurement times(Measurement measurement, double factor) {
  for (MeasuredPoint& point : measurement.points) point.time_s[0] *= factor;
  for (MeasuredCollective& collective : measurement.collectives) collective.time_s[0] *= factor;
  return measurement;
}

}  // namespace

TEST_CASE("diagnose: a measured machine that lost a fifth of everything is not normal", "[diagnose]") {
  CHECK_FALSE(of(times(copies({}), 1.25)).normal());
  CHECK(of(times(copies({}), 1 / 1.25)).normal());  // nor is a fast one faulty
}

TEST_CASE("diagnose: where the interval is wide the log cannot tell, and says what would", "[diagnose]") {
  const diagnosis::Diagnosis found = of(times(all_reduce({}, {}, 1, "a100-pcie"), 1.25));
  CHECK(found.verdict == diagnosis::Verdict::kCannotTell);
  CHECK(diagnosis::why_text(found).find("times slower than a healthy machine") != std::string::npos);
  CHECK(diagnosis::next_step(found).find("as baseline") != std::string::npos);
  CHECK(diagnosis::likely_kinds(found).empty());
}

TEST_CASE("diagnose: local copies alone that lost two fifths are named", "[diagnose]") {
  Measurement log = copies({});
  for (int gpu = 0; gpu < 8; ++gpu) {
    MeasuredPoint point;
    point.source = point.target = "gpu" + std::to_string(gpu);
    point.transport = "local";
    point.size_B = 67108864;
    const Json query{{"kind", "p2p"},       {"platform", "p100-dgx1"}, {"src", point.source},
                     {"dst", point.target}, {"size_B", point.size_B},  {"transport", "local"}};
    point.time_s = {time_of(query, {}) / 0.6};
    log.points.push_back(point);
  }
  const diagnosis::Diagnosis found = of(log);
  CHECK_FALSE(found.normal());
  REQUIRE(!diagnosis::odd_levels(found.levels).empty());
  CHECK(diagnosis::odd_levels(found.levels).front().part == "local copy_engine");
  CHECK_FALSE(diagnosis::next_step(found).empty());
}

namespace {

/// all_reduce on two nodes from 1 KiB to 1 GiB.
Measurement between_nodes(const std::string& platform, const std::vector<std::string>& edits) {
  Measurement measurement;
  measurement.topology = platform;
  measurement.bench = "nccl_tests";
  measurement.timing = "back_to_back";
  measurement.library = platform == "alps" ? "nccl-2.23" : "nccl-2.27";
  const int gpus = catalogue().machine(platform)->platform().gpu_count();
  for (double size_B = 1024; size_B < 2e9; size_B *= 2) {
    MeasuredCollective collective;
    collective.op = "all_reduce";
    for (int gpu = 0; gpu < gpus; ++gpu) collective.gpus.push_back(gpu);
    collective.size_B = size_B;
    collective.launch = "process";
    collective.nodes = 2;
    collective.time_s = {time_of({{"kind", "collective"},
                                  {"platform", platform},
                                  {"op", "all_reduce"},
                                  {"size_B", size_B},
                                  {"launch", "process"},
                                  {"library", measurement.library},
                                  {"nodes", 2},
                                  {"gpus_per_node", gpus}},
                                 edits)};
    measurement.collectives.push_back(collective);
  }
  return measurement;
}

/// Steps between nodes of 40 us, as over TCP.
std::vector<std::string> slow_steps(const std::string& platform) {
  std::vector<std::string> edits;
  for (const auto& [name, parameter] : catalogue().machine(platform)->platform().calibration().parameters)
    if (name.starts_with("nccl.network.") && name.ends_with(".hop_s")) edits.push_back("set " + name + "=40us");
  return edits;
}

}  // namespace

TEST_CASE("diagnose: between nodes a healthy log is not faulty, half of the forecast never normal", "[diagnose]") {
  for (const char* platform : {"alps", "dgx-a100", "hgx-h100"}) {
    INFO(platform);
    CHECK_FALSE(of(between_nodes(platform, {})).faulty());
    for (const double slower : {2.0, 2.5}) {
      const diagnosis::Diagnosis found = of(times(between_nodes(platform, {}), slower));
      CHECK_FALSE(found.normal());
      CHECK((!found.faulty() || found.slow >= 3));
      for (const diagnosis::RankedKind& kind : diagnosis::likely_kinds(found)) {
        CHECK(kind.kind != CauseKind::kGpu);
        CHECK(kind.kind != CauseKind::kClock);
      }
    }
  }
}

TEST_CASE("diagnose: between nodes sockets, GPUDirect, ports and start-up are recognised by their curves",
          "[diagnose]") {
  const auto first = [](const std::string& platform, const std::vector<std::string>& edits) {
    const diagnosis::Diagnosis found = of(between_nodes(platform, edits));
    REQUIRE(found.faulty());
    CHECK(found.slow >= 3);
    return diagnosis::likely_kinds(found).front().kind;
  };
  std::vector<std::string> edits = slow_steps("alps");
  CHECK(first("alps", edits) == CauseKind::kStartup);
  edits.emplace_back("scale slingshot:0.04");
  CHECK(first("alps", edits) == CauseKind::kSockets);
  CHECK(first("dgx-a100", {"disable gpudirect"}) == CauseKind::kGpuDirect);
  // of rails that carry alike a collective tells neither which nor whether all
  for (const char* edit : {"slow nic0:4", "scale slingshot:0.25"}) {
    const CauseKind slow = first("alps", {edit});
    CHECK((slow == CauseKind::kNic || slow == CauseKind::kFabric));
  }
}

TEST_CASE("diagnose: one lost rail of eight is not recognised between nodes", "[diagnose]") {
  CHECK(of(between_nodes("dgx-a100", {"remove nic0-plx0"})).verdict == diagnosis::Verdict::kCannotTell);
}

TEST_CASE("diagnose: slow sizes must repeat to be a fault", "[diagnose]") {
  Measurement log = all_reduce({});
  log.collectives[3].time_s[0] *= 5;
  log.collectives[7].time_s[0] *= 5;
  CHECK(of(log).verdict == diagnosis::Verdict::kCannotTell);
}

TEST_CASE("diagnose: what is faster than expected is no fault", "[diagnose]") {
  const diagnosis::Diagnosis found = of(copies({"scale gpu0-gpu4:2"}));
  CHECK(found.normal());
  CHECK(found.fast == 2);
}

}  // namespace linkcast::test::diagnose_test
