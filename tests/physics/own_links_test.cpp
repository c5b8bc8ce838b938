// Messages of a library's kernels queue for the links that they take.
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::own_links_test {

namespace {

double time_s(const std::string& platform, const char* op, std::vector<int> gpus, const Json& size) {
  return time_of({{"platform", platform},
                  {"kind", "collective"},
                  {"launch", "graph"},
                  {"library", "nccl-2.18"},
                  {"op", op},
                  {"gpus", std::move(gpus)},
                  {size.is_array() ? "sizes_B" : "size_B", size}});
}

/// From the first GPU to the second alone.
double alone_s(const std::string& platform, double size_B) {
  return time_s(platform, "alltoallv", {0, 1}, Json::array({{0, size_B}, {0, 0}}));
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

// A line of 128 bytes and its header come back for a request of one header.
// source: docs/model.md, packets; NCCL loads between two A100 alone (ncclTopoCheckP2p of src/graph/paths.cc)
TEST_CASE("A100 that load messages send requests against data", "[physics]") {
  constexpr double kSize_B = 1073741824, kLine_B = 128 + 16, kRequest_B = 16;
  const auto both = [&](const std::string& platform) {
    return time_s(platform, "sendrecv", {0, 1}, kSize_B) / alone_s(platform, kSize_B);
  };
  CHECK_THAT(both("leonardo"), WithinRel((kLine_B + kRequest_B) / kLine_B, 0.02));
  CHECK(both("alps") < 1.02);  // H100 store
  // a ring of three uses each link in one direction
  CHECK_THAT(time_s("leonardo", "sendrecv", {0, 1, 2}, kSize_B), WithinRel(alone_s("leonardo", kSize_B), 0.02));
  // LL lies in the receiver's memory on any GPU, and copies do not load
  constexpr double kLL_B = 65536;
  CHECK(time_s("leonardo", "sendrecv", {0, 1}, kLL_B) < 1.1 * time_s("leonardo", "sendrecv", {0, 1, 2}, kLL_B));
}

TEST_CASE("two A100 send to each other as on Leonardo", "[physics]") {
  // source: issue 331 of NVIDIA/nccl-tests: sendrecv of NCCL 2.22.3 on a node of Leonardo, at most 71 to 73 GB/s
  constexpr double kSize_B = 1073741824, kMeasured_Bps = 72e9;
  CHECK_THAT(kSize_B / time_s("leonardo", "sendrecv", {0, 1}, kSize_B), WithinRel(kMeasured_Bps, 0.1));
}

}  // namespace linkcast::test::own_links_test
