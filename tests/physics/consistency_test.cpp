// What two ways of asking say of one thing, and what a forecast names as its limit.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::consistency_test {

namespace {

Json tree(const std::string& platform, const std::vector<int>& gpus, double size_B, const Json& more) {
  Json query{{"platform", platform}, {"kind", "collective"}, {"launch", "graph"},  {"op", "all_reduce"},
             {"gpus", gpus},         {"size_B", size_B},     {"algorithm", "tree"}};
  query.update(more);
  return ask(query);
}

}  // namespace

TEST_CASE("a tree that its channels or host hops limit names only links of its own hops", "[physics]") {
  // On H200 a channel is slower than NVLink; gx8 has no NVLink, so that both ways of a tree cross host memory.
  for (const std::string protocol : {"LL", "LL128", "Simple"})
    for (const double size : {65536.0, kMiB, 64 * kMiB}) {
      const Json result = tree("hgx-h200", {0, 1, 2, 3}, size, {{"protocol", protocol}});
      for (const Json& id : result["bottleneck"]) CHECK(id.get<std::string>().find("cpu") == std::string::npos);
    }
  const Json host = tree("gx8", {0, 1, 2, 3, 4}, kMiB, {{"library", "nccl-2.18"}})["bottleneck"];
  CHECK(host == Json{"gpu1<->sr0"});  // the way down and the way up, each with a load from and a store to the host
}

TEST_CASE("flows of one copy are that copy from rest, with its interval", "[physics]") {
  for (const double size : {1.0, 64.0, 4 * kMiB, 1024 * kMiB}) {  // v100-dgx1 was measured at 40 MB alone
    const Json one = ask({{"platform", "v100-dgx1"},
                          {"kind", "p2p"},
                          {"src", "gpu0"},
                          {"dst", "gpu1"},
                          {"size_B", size},
                          {"timing", "single"}});
    const Json copy = {"gpu0", "gpu1", size};
    const Json list = ask({{"platform", "v100-dgx1"}, {"kind", "flows"}, {"flows", Json::array({copy})}});
    for (const char* key : {"time_s", "time_low_s", "time_high_s", "bottleneck", "warnings"})
      CHECK(one[key] == list[key]);
  }
}

}  // namespace linkcast::test::consistency_test
