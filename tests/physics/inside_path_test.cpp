// Messages between GPUs of one node that nobody measured: made of their steps.
#include "sim/plan/inside_path.hpp"

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::inside_path_test {

namespace {

double message_s(const std::string& platform, double size_B, const std::string& to = "gpu1") {
  return ask({{"platform", platform},
              {"kind", "p2p"},
              {"src", "node0/gpu0"},
              {"dst", "node0/" + to},
              {"size_B", size_B},
              {"transport", "mpi"}})["time_s"];
}

/// One of a queue of them.
Json window(const std::string& platform, double size_B, const Json& more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "p2p"},      {"src", "node0/gpu0"},     {"dst", "node0/gpu1"},
             {"size_B", size_B},     {"transport", "mpi"}, {"timing", "back_to_back"}};
  query.update(more);
  return ask(query);
}

}  // namespace

TEST_CASE("without access by the CPU a message waits for a copy that its host issues", "[physics][mpi]") {
  const Platform& alps = catalogue().machine("alps")->platform();
  CHECK_FALSE(activities::cpu_access(alps, alps.gpu(0)));
  const double copy_s = alps.transports().get("peer").regimes.front().startup.value;
  const double steps_s = copy_s + activities::issue_and_wait_s(alps, false);
  CHECK(message_s("alps", 8) > steps_s);
  CHECK(message_s("alps", 8) < steps_s + 1e-6);
}

TEST_CASE("where the CPU loads and stores, small messages need no copy and large ones a kernel", "[physics][mpi]") {
  const Platform& lumi = catalogue().machine("lumi")->platform();
  REQUIRE(activities::cpu_access(lumi, lumi.gpu(0)));
  CHECK(message_s("lumi", 8) < message_s("alps", 8) / 2);
  CHECK(message_s("lumi", 8192) > message_s("lumi", 4096));
  const double large_B = 1073741824;
  const double by_kernel = ask({{"platform", "lumi"},
                                {"kind", "p2p"},
                                {"src", "gpu0"},
                                {"dst", "gpu1"},
                                {"size_B", large_B},
                                {"engine", "sm"}})["time_s"];
  CHECK_THAT(message_s("lumi", large_B), WithinRel(by_kernel, 0.01));
}

TEST_CASE("an eager message ends where a copy is sooner", "[physics][mpi]") {
  double before = 0;
  for (double size = 1; size < 1e6; size *= 2) {
    const double time = message_s("leonardo", size);
    CHECK(time >= before);
    before = time;
  }
  CHECK(message_s("leonardo", 8) < 0.5 * message_s("leonardo", 16384));
}

TEST_CASE("a window of messages that a GPU copies is a queue of copies", "[physics][mpi]") {
  const Json copy{{"platform", "leonardo"}, {"kind", "p2p"},      {"src", "gpu0"},
                  {"dst", "gpu1"},          {"size_B", 16777216}, {"timing", "back_to_back"}};
  CHECK_THAT(window("leonardo", 16777216)["time_s"].get<double>(),
             WithinRel(ask(copy)["time_s"].get<double>(), kExact));
  for (const double size_B : {16384.0, 1048576.0})
    CHECK(window("leonardo", size_B)["time_s"] < message_s("leonardo", size_B));  // nothing waits for a round trip
  const Json both = window("leonardo", 16777216, {{"bidirectional", true}});
  CHECK(both["bandwidth_Bps"] > 1.5 * window("leonardo", 16777216)["bandwidth_Bps"].get<double>());
}

TEST_CASE("a window of eager messages is as fast as the process that moves them", "[physics][mpi]") {
  const Regime& eager = catalogue().machine("leonardo")->platform().transports().message("mpi_socket")->regimes.front();
  const double more_s =
      window("leonardo", 8192)["time_s"].get<double>() - window("leonardo", 4096)["time_s"].get<double>();
  CHECK_THAT(more_s, WithinRel(4096 / eager.rate_cap->value, 1e-9));
  CHECK(window("leonardo", 8)["time_s"] < 0.5 * message_s("leonardo", 8));
  const Json refused = query::answer(catalogue(), {{"platform", "leonardo"},
                                                   {"kind", "p2p"},
                                                   {"src", "node0/gpu0"},
                                                   {"dst", "node0/gpu1"},
                                                   {"size_B", 8},
                                                   {"transport", "mpi"},
                                                   {"timing", "back_to_back"},
                                                   {"bidirectional", true}});
  CHECK(refused["error"].get<std::string>().find("bidirectional: is not known") != std::string::npos);
}

TEST_CASE("osu_bw between two A100 with four NVLinks, copied messages: held out", "[physics][mpi]") {
  // source: calibrate/data/leonardo/osu-nv4.json; only sizes up to 8 KiB entered the machine's curve
  const Measurement m = read_measurement(test::data_dir() + "/calibrate/data/leonardo/osu-nv4.json");
  const validate::Comparison comparison = validate::compare(catalogue(), m, {});
  REQUIRE(comparison.unanswered.empty());
  CHECK(comparison.held_out.points == 12);
  CHECK(comparison.held_out.median_error < 0.05);
  CHECK(comparison.held_out.p95_error < 0.25);
  CHECK(comparison.held_out.in_interval == 1);
}

TEST_CASE("messages inside a node need no network between nodes", "[physics][mpi]") {
  CHECK(message_s("rtx-a6000", 65536) > window("rtx-a6000", 65536)["time_s"].get<double>());
  const Json refused = query::answer(catalogue(), {{"platform", "rtx-a6000"},
                                                   {"kind", "p2p"},
                                                   {"src", "node0/gpu0"},
                                                   {"dst", "node1/gpu1"},
                                                   {"size_B", 8},
                                                   {"transport", "mpi"}});
  CHECK(refused["error"].get<std::string>().find("/fabric: missing") != std::string::npos);
}

}  // namespace linkcast::test::inside_path_test
