// `linkcast show PLATFORM --fabric` against what the papers say of the machines.
#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::fabric_view_test {

namespace {

Json shown(const std::string& platform) {
  const Run run = run_program("show " + platform + " --fabric --json");
  REQUIRE(run.code == 0);
  return parse_json(run.out, platform);
}

Json class_of(const Json& fabric, const std::string& name) {
  for (const Json& link : fabric["classes"])
    if (link["name"] == name) return link;
  FAIL("no class " << name);
  return {};
}

}  // namespace

TEST_CASE("LUMI and Alps: sizes, cables, cut, peak of an alltoall", "[unit][fabric]") {
  const Json lumi = shown("lumi");
  CHECK(lumi["endpoints"] == 24 * 124 * 4);
  CHECK(lumi["switches"] == 24 * 32);
  CHECK(class_of(lumi, "local")["cables"] == 24 * 32 * 31 / 2);
  CHECK(class_of(lumi, "global")["cables"] == 24 * 23 / 2 * 23);
  CHECK(lumi["diameter_links"] == 5);
  CHECK(lumi["bisection"]["cables"] == 12 * 12 * 23);  // 12 groups against 12
  // SC24, section V-C: the inter-node bandwidth of a GPU, 100 Gb/s on LUMI and 200 Gb/s on Alps, is expected
  CHECK_THAT(lumi["expected"]["alltoall_per_gpu_Bps"].get<double>(), WithinRel(100e9 / 8, 1e-9));
  CHECK_THAT(shown("alps")["expected"]["alltoall_per_gpu_Bps"].get<double>(), WithinRel(200e9 / 8, 1e-9));
}

TEST_CASE("Leonardo: cables, and the up-links of a leaf limit an alltoall", "[unit][fabric]") {
  const Json leonardo = shown("leonardo");
  const double endpoints = 3456 * 4;
  CHECK(leonardo["endpoints"] == endpoints);
  CHECK(leonardo["switches"] == 23 * 36);
  CHECK(class_of(leonardo, "local")["cables"] == 23 * 18 * 18);
  CHECK(class_of(leonardo, "global")["cables"] == 23 * 18 * 22 / 2);  // SC24, section II-B: 22 ports of each spine
  // 40 endpoints of a leaf send to all others over 18 cables of 200 Gb/s
  const double ways = 40 * (endpoints - 40) / 18;
  CHECK_THAT(class_of(leonardo, "local")["forwarding_index"].get<double>(), WithinRel(ways, 1e-9));
  CHECK_THAT(leonardo["expected"]["alltoall_Bps"].get<double>(), WithinRel(25e9 * (endpoints - 1) / ways, 1e-9));
  CHECK(leonardo["expected"]["alltoall_limit"] == "local");
}

TEST_CASE("ports of switches and groups are those of the papers", "[unit][fabric]") {
  // SC24, sections II-B and II-C
  const Json leonardo = shown("leonardo"), lumi = shown("lumi");
  CHECK(class_of(leonardo, "host")["ports_of_a_switch"] == 40);
  CHECK(class_of(leonardo, "local")["ports_of_a_switch"] == 18);
  CHECK(class_of(leonardo, "global")["ports_of_a_switch"] == 22);
  CHECK(class_of(leonardo, "global")["switches"] == 23 * 18);
  CHECK(class_of(leonardo, "global")["parts_without"] == 23);
  CHECK(class_of(leonardo, "global")["nodes_of_a_part"] == 180);
  CHECK(class_of(lumi, "local")["ports_of_a_switch"] == 31);
  CHECK(class_of(lumi, "global")["parts_without"] == 24);
  CHECK(class_of(lumi, "global")["nodes_of_a_part"] == 124);
  CHECK(class_of(shown("apenet-plus"), "torus")["parts_without"] == 8);
}

TEST_CASE("APEnet+: eight nodes in a torus, the InfiniBand card is not in it", "[unit][fabric]") {
  const Json torus = shown("apenet-plus");
  CHECK(torus["endpoints"] == 8);
  CHECK(torus["nics_per_node"] == 1);
  CHECK(class_of(torus, "torus")["cables"] == 16);
  CHECK(torus["diameter_links"] == 3);
}

TEST_CASE("show --fabric: another file, every link, what is wrong", "[unit][fabric]") {
  const Run run = run_program("show alps --fabric --fabric-file docs/fabrics/single_switch.json --json --links");
  REQUIRE(run.code == 0);
  const Json answer = parse_json(run.out, "answer");
  REQUIRE(answer["link_list"].size() == 2 * 8);
  CHECK(answer["link_list"][0]["from"] == "nic0");
  CHECK(answer["link_list"][0]["to"] == "switch");
  CHECK(answer["link_list"][1]["to"] == "nic0");

  const Run none = run_program("show gx8 --fabric");
  CHECK(none.code == 2);
  CHECK(none.err.find("/fabric: missing: this platform describes no network between nodes") != std::string::npos);
  const Run wrong = run_program("show alps --fabric --fabric-file calibrate/data/gx8/printed-host.json");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("/fabric: missing key") != std::string::npos);
  CHECK(run_program("show alps --links").code == 2);
}

}  // namespace linkcast::test::fabric_view_test
