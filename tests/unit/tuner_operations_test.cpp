// A library's cost model is of five operations; of others it says so.
#include "sim/plugin/library.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

TEST_CASE("a tuner refuses an operation that the library does not have", "[unit]") {
  const Platform& platform = test::catalogue().platform("v100-dgx1");
  for (const char* name : {"nccl-2.7", "nccl-2.18", "nccl-2.30"}) {
    const RingLibrary& library = ring_library(name);
    const Communicator made = library.build(platform, {0, 1, 2, 3});
    const TunerRequest unknown{"scan", {1048576}, "", "", false};
    const std::string what =
        "op: " + std::string(name) +
        " runs no rings and trees for scan: it has all_reduce, all_gather, reduce_scatter, broadcast, reduce";
    CHECK_THROWS_WITH(library.choose(platform, made, unknown), what);
    CHECK_THROWS_WITH(library.tuner(platform, made, unknown), what);
    CHECK_NOTHROW(library.choose(platform, made, {"reduce", {1048576}, "", "", false}));
  }
}
