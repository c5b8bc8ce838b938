// Messages of a library's kernels queue for the links that they take.
#include "tests/support/ask.hpp"

namespace linkcast::test::own_links_test {

namespace {

double time_s(const std::string& platform, const char* op, std::vector<int> gpus, double size_B) {
  return time_of({{"platform", platform},
                  {"kind", "collective"},
                  {"launch", "graph"},
                  {"library", "nccl-2.18"},
                  {"op", op},
                  {"gpus", std::move(gpus)},
                  {"size_B", size_B}});
}

}  // namespace

TEST_CASE("GPUs joined directly send to all others as fast as to one, behind switches they share", "[physics]") {
  constexpr double kPart_B = 268435456;
  for (const char* platform : {"alps", "leonardo"}) {
    const double one = time_s(platform, "sendrecv", {0, 1}, kPart_B);
    CHECK(time_s(platform, "alltoall", {0, 1, 2, 3}, 4 * kPart_B) < 1.2 * one);
  }
  const double one = time_s("hgx-h200", "sendrecv", {0, 1}, kPart_B);
  CHECK(time_s("hgx-h200", "alltoall", {0, 1, 2, 3}, 4 * kPart_B) > 2 * one);
}

}  // namespace linkcast::test::own_links_test
