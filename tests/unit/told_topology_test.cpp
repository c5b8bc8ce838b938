// What a library is told of the machine (library_topology, p2p_level): the file as NCCL reads it, and what is refused.
#include "sim/machine/library.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::told_topology_test {
namespace {

std::string told(const std::string& name) { return test::data_dir() + "/tests/input/told/" + name; }

Json rings_of(const std::string& file, std::vector<int> gpus = {0, 1, 2, 3}) {
  return ask({{"kind", "rings"},
              {"platform", "hgx-h200"},
              {"gpus", gpus},
              {"library_topology", told(file)},
              {"p2p_level", "NVL"}});
}

std::string error_of_text(const std::string& xml) {
  const ScratchFolder folder;
  const std::string path = (folder / "topo.xml").string();
  std::ofstream(path) << xml;
  const Json answer = query::answer(
      catalogue(), {{"kind", "rings"}, {"platform", "hgx-h200"}, {"gpus", {0, 1}}, {"library_topology", path}});
  const std::string error = answer.value("error", "no error");
  const auto at = error.find(path);
  return at == std::string::npos ? error : error.substr(at + path.size());
}

std::string gpu(int dev, const std::string& inside = "", const std::string& attributes = "") {
  return "<pci busid=\"0000:1" + std::to_string(dev) +
         ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">"
         "<gpu dev=\"" +
         std::to_string(dev) + "\" sm=\"90\"" + attributes + ">" + inside + "</gpu></pci>";
}

std::string system_of(const std::string& inside) {
  return "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
         "modelid=\"143\">" +
         inside + "</cpu></system>";
}

}  // namespace

TEST_CASE("a library that is told of a ring finds it both ways", "[unit]") {
  const Json rings = rings_of("h200-ring.xml");
  CHECK(rings["path_class"] == "NVL");
  CHECK(rings["fallback"] == false);
  std::set<Json> orders(rings["channels"].begin(), rings["channels"].end());
  CHECK(orders == std::set<Json>{{0, 1, 2, 3}, {0, 3, 2, 1}});
  CHECK(rings["channels"].size() == 8);  // 2 x 6 links of 20.6 GB/s carry 8 x 30
  CHECK(rings["library_topology_sha256"].get<std::string>().size() == 64);
}

TEST_CASE("pairs that the file does not join go through host memory", "[unit]") {
  const Json line = rings_of("h200-line.xml");
  CHECK(line["fallback"] == true);
  CHECK(line["channels"][0] == Json{0, 1, 2, 3});
  CHECK(line["hops"][0] == Json{"peer", "peer", "peer", "host memory"});
  CHECK(line["tree_class"] == "NVL");  // an open chain needs no fourth hop
  const Json pairs = rings_of("h200-pairs.xml");
  CHECK(pairs["hops"][0] == Json{"peer", "host memory", "peer", "host memory"});
  CHECK(pairs["tree_class"] == "PHB");
}

TEST_CASE("without a level of peer access a pair goes through the GPU between", "[unit]") {
  const Json query{
      {"kind", "rings"}, {"platform", "hgx-h200"}, {"gpus", {1, 0, 2}}, {"library_topology", told("h200-star.xml")}};
  const Json open = ask(query);
  CHECK(open["path_class"] == "NVB");
  CHECK(open["hops"][0].dump().find("relay gpu0") != std::string::npos);
  Json closed = query;
  closed["p2p_level"] = "NVL";
  CHECK(ask(closed)["hops"][0].dump().find("host memory") != std::string::npos);
}

TEST_CASE("what a cloud's file leaves out is the machine's own", "[unit]") {
  const Json asked{{"kind", "rings"}, {"platform", "hgx-h200"}, {"gpus", {0, 1, 2, 3}}};
  const Json plain = ask(asked);
  for (const char* file : {"switch-only.xml"}) {
    Json query = asked;
    query["library_topology"] = told(file);
    const Json rings = ask(query);
    CHECK(rings["channels"] == plain["channels"]);  // NVLinks are found by NCCL itself
    CHECK(rings["trees"] == plain["trees"]);
  }
  // Four GPUs of eight without dev: nothing says which.
  Json query = asked;
  query["library_topology"] = told("cloud.xml");
  const std::string error = query::answer(catalogue(), query).value("error", "");
  CHECK(error.find("4 GPUs without dev, and the machine has 8: nothing says which they are") != std::string::npos);
  CHECK(error.find("cloud.xml line 4") != std::string::npos);
  // A machine of four: two below each switch.
  query["platform"] = "abci-v100";
  query["library"] = "nccl-2.18";
  CHECK(ask(query)["channels"].size() > 0);
}

TEST_CASE("files that a library could not take are refused with their place", "[unit]") {
  CHECK(error_of_text("<system version=\"1\">\n<cpu").find("not XML") != std::string::npos);
  CHECK(error_of_text("<graphs version=\"1\"/>").find("not a topology file of NCCL: its root is system") !=
        std::string::npos);
  CHECK(error_of_text(system_of(gpu(9))).find("line 2:/system/cpu/pci/gpu/@dev: the machine has the GPUs 0 to 7") !=
        std::string::npos);
  const std::string one_way = "<nvlink target=\"0000:11:00.0\" count=\"2\" tclass=\"0x030200\"/>";
  const std::string nobody = "<nvlink target=\"fffe:ff:00.0\" count=\"1\" tclass=\"0x030200\"/>";
  CHECK(error_of_text(system_of(gpu(0, one_way) + gpu(1, nobody))).find("2 NVLinks to gpu1, which has 0 back") !=
        std::string::npos);
  CHECK(error_of_text(system_of(gpu(0, one_way + one_way) + gpu(0))).find("@dev: is listed twice") !=
        std::string::npos);
  CHECK(error_of_text(system_of(gpu(0, nobody) + gpu(1, nobody))) == "no error");
}

/// The board's other GPUs have NVLinks to GPU 0, which has none by the file.
TEST_CASE("GPUs that a file lacks are missed only by communicators with them", "[unit]") {
  const ScratchFolder folder;
  const std::string path = (folder / "two.xml").string();
  const std::string nobody = "<nvlink target=\"fffe:ff:00.0\" count=\"1\" tclass=\"0x030200\"/>";
  std::ofstream(path) << system_of(gpu(0, nobody) + gpu(1, nobody));
  Json query{{"kind", "rings"},
             {"platform", "v100-dgx1"},
             {"library", "nccl-2.18"},
             {"gpus", {0, 1}},
             {"library_topology", path}};
  CHECK(ask(query)["path_class"] == "PHB");
  query["gpus"] = {2, 3, 6, 7};
  CHECK(ask(query)["path_class"] == "NVL");
  query["gpus"] = {0, 1, 2};
  CHECK(query::answer(catalogue(), query).value("error", "").find("the file lacks gpu2, whose NVLinks to gpu0") !=
        std::string::npos);
}

TEST_CASE("libraries and nodes that take no topology file say so", "[unit]") {
  const Json query{{"kind", "collective"}, {"platform", "p100-dgx1"}, {"gpus", {0, 1}},
                   {"op", "all_reduce"},   {"size_B", 1024},          {"p2p_level", "NVL"}};
  CHECK(query::answer(catalogue(), query)
            .value("error", "")
            .ends_with("nccl-2.3 looks at the machine itself: take one of nccl-2.7 to " +
                       nearest_version("nccl", 99, 0)));
  Json mpi = query;
  mpi["library"] = "mpi-openmpi";
  CHECK(query::answer(catalogue(), mpi).value("error", "").find("p2p_level") != std::string::npos);
  const Json across{{"kind", "rings"}, {"platform", "alps"}, {"nodes", 2}, {"gpus_per_node", 4}, {"p2p_level", "NVL"}};
  CHECK(query::answer(catalogue(), across).value("error", "").find("modelled for one node") != std::string::npos);
}

TEST_CASE("messages between GPUs that are not joined go through host memory", "[unit]") {
  Json query{{"kind", "collective"},
             {"platform", "hgx-h200"},
             {"gpus", {0, 1, 2, 3}},
             {"op", "alltoall"},
             {"size_B", 268435456}};
  const double board_s = time_of(query);
  query["library_topology"] = told("h200-ring.xml");
  query["p2p_level"] = "NVL";
  const double ring_s = time_of(query);
  query.erase("library_topology");
  query["p2p_level"] = "LOC";
  CHECK(ring_s > 2 * board_s);           // two of six pairs through host memory
  CHECK(time_of(query) > ring_s * 1.5);  // all of them
}

TEST_CASE("a replay hears of it too", "[unit]") {
  Json query{{"kind", "replay"},
             {"platform", "hgx-h200"},
             {"trace", "data_parallel"},
             {"options", {{"ranks", 4}, {"steps", 1}}}};
  const double board_s = ask(query)["exposed_communication_s"].get<double>();
  query["library_topology"] = told("h200-pairs.xml");
  query["p2p_level"] = "NVL";
  CHECK(ask(query)["exposed_communication_s"].get<double>() > 1.5 * board_s);
}

}  // namespace linkcast::test::told_topology_test
