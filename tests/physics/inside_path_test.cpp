// Messages between GPUs of one node that nobody measured: made of their steps.
#include "sim/activities/inside_path.hpp"

#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

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

}  // namespace

TEST_CASE("without access by the CPU a message waits for a copy that its host issues", "[physics][mpi]") {
  const Platform& alps = catalogue().platform("alps");
  CHECK_FALSE(activities::cpu_access(alps, alps.gpu(0)));
  const double copy_s = alps.transports().get("peer").regimes.front().startup.value;
  const double steps_s = copy_s + activities::issue_and_wait_s(alps, false);
  CHECK(message_s("alps", 8) > steps_s);
  CHECK(message_s("alps", 8) < steps_s + 1e-6);
}

TEST_CASE("where the CPU loads and stores, small messages need no copy and large ones a kernel", "[physics][mpi]") {
  const Platform& lumi = catalogue().platform("lumi");
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

}  // namespace linkcast::test::inside_path_test
