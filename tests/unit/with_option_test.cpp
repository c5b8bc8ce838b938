// `predict collective --with OP:SIZE:GPUS[:NODES]`: the question that it stands for.
#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::with_option_test {

TEST_CASE("the option --with: operation, size, GPUs and nodes, each in its place", "[unit][cli]") {
  const Run run = run_program(
      "predict collective --platform alps --nodes 4 --gpus-per-node 4 --op all_reduce --size 1MiB "
      "--with all_gather:64MiB:0-3:2,3 --with broadcast:1KiB:1,2:0-1 --json");
  REQUIRE(run.code == 0);
  const Json with = Json::parse(run.out).at("inputs").at("query").at("with");
  CHECK(with == Json::parse(R"([{"op": "all_gather", "gpus": [0, 1, 2, 3], "size_B": 67108864.0, "nodes": [2, 3]},
                                {"op": "broadcast", "gpus": [1, 2], "size_B": 1024.0, "nodes": [0, 1]}])"));
}

}  // namespace linkcast::test::with_option_test
