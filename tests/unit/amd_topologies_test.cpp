// GPUs of AMD: rocm-smi of ROCm 3 to 7, amd-smi, RCCL's XML, hwloc's; each spelling as people paste it.
#include <fmt/format.h>

#include "calibrate/import/amd_gpus.hpp"
#include "sim/machine/structure.hpp"
#include "sim/records/gpu_models.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::amd_topologies_test {
namespace {

std::string error_of_import(const std::string& format, const std::vector<std::string>& files, const Options& options) {
  return linkcast::test::error_of([&] { return import_json(format, files, options); });
}

bool has_cable(const Topology& t, const std::string& a, const std::string& b) {
  return std::any_of(t.cables.begin(), t.cables.end(),
                     [&](const Cable& c) { return std::minmax(c.a, c.b) == std::minmax(*t.find(a), *t.find(b)); });
}

}  // namespace

TEST_CASE("AMD's models by all names that tools print", "[unit][import]") {
  // source: rocm-smi --showproductname, amd-smi static, pci.ids
  for (const auto& [printed, words] :
       std::map<std::string, std::string>{{"AMD INSTINCT MI200 (MCM) OAM LC MBA", "MI200 MCM OAM"},
                                          {"Aldebaran/MI200 [Instinct MI250X/MI250]", "MI250X"},
                                          {"Aldebaran/MI200 [Instinct MI210]", "MI210"},
                                          {"Arcturus GL-XL [Instinct MI100]", "MI100"},
                                          {"Aqua Vanjaram [Instinct MI300A]", "MI300A"},
                                          {"AMD Instinct MI300X OAM", "MI300X"},
                                          {"AMD Instinct MI308X", "MI308X"},
                                          {"AMD Instinct MI350X", "MI350X"},
                                          {"AMD Radeon Instinct MI50", "MI50"}}) {
    const auto model = find_gpu_model(printed);
    REQUIRE(model);
    CHECK(model->words == words);
    CHECK(is_amd_model(*model));
  }
  for (const auto& [device, words] : std::map<std::string, std::string>{
           {"0x740f", "MI210"}, {"7408", "MI250X"}, {"0x74A1", "MI300X"}, {"74a0", "MI300A"}, {"75a3", "MI355X"}})
    CHECK(find_gpu_model(topology_import::amd_model_of_pci(device))->words == words);
  CHECK(topology_import::amd_model_of_pci("0x744c").empty());  // Radeon RX 7900 XTX
}

TEST_CASE("gfx numbers as HIP and RCCL write them", "[unit][import]") {
  using topology_import::sm_of_gfx;
  for (const std::string text : {"910", "gfx90a", "gfx90a:sramecc+:xnack-", "908", "gfx906"})
    CHECK(sm_of_gfx(text) == 90);
  CHECK(sm_of_gfx("gfx942") == 94);
  CHECK(sm_of_gfx("950") == 95);
  CHECK(sm_of_gfx("gfx1100") == 110);
  CHECK_FALSE(sm_of_gfx("90"));
  CHECK_FALSE(sm_of_gfx("gfx"));
}

TEST_CASE("rocm-smi: older spelling, prose behind the tables, CRLF, prefixes", "[unit][import]") {
  const Changed crlf("rocm-topo-old.txt", {{"\n", "\r\n"}}), indented("rocm-topo-old.txt", {{"\n", "\n    "}}),
      named("rocm-topo-old.txt", {{"\n", "\nnode7: "}, {"============================ ROCm", "node7: ==== ROCm"}});
  for (const std::string& file : {std::string("rocm-topo-old.txt"), std::string("rocm-topo-prose.txt"), crlf.path(),
                                  indented.path(), named.path()}) {
    INFO(file);
    const Topology t = import_file("rocm-topo", {file}, {{"gpu", "MI210"}});
    REQUIRE(t.gpus().size() == 2);
    CHECK(cable(t, "gpu0", "cpu1").kind == "pcie4");
    CHECK(cable(t, "gpu1", "cpu0").kind == "pcie4");
    CHECK(text_of_cable(t, "gpu0", "gpu1", "infinity_fabric") == "1 x 50 GB/s");
  }
}

TEST_CASE("rocm-smi and amd-smi: JSON gives what the text gives", "[unit][import]") {
  for (const std::string name : {"rocm-topo", "amd-smi-topology"}) {
    const auto read = [&](const std::string& end) {
      return import_json("rocm-topo", {name + end}, {{"gpu", "MI300X"}});
    };
    CHECK(read(".json") == read(".txt"));
    CHECK(read(".json")["cables"].size() > 3);
  }
  for (const auto& [file, kind, null] :
       {std::tuple("rocm-topo.json", "(Topology) Link type between DRM devices 0 and 1\": \"XGMI\"",
                   "(Topology) Link type between DRM devices 0 and 1\": null"),
        std::tuple("amd-smi-topology.json", "\"XGMI\"", "null")}) {
    const Changed lost(file, {{kind, null}});
    CHECK(error_of_import("rocm-topo", {lost.path()}, {{"gpu", "MI300X"}}).find("'null' is neither XGMI nor PCIE") !=
          std::string::npos);
  }
  const Changed cut("amd-smi-topology.json", {{"\"bdf\": \"0000:2f:00.0\", \"weight\"", "\"weight\""}});
  CHECK(error_of_import("rocm-topo", {cut.path()}, {{"gpu", "MI300X"}}).find("/0/links: holds a link without bdf") !=
        std::string::npos);
}

TEST_CASE("rocm-smi: no NUMA line is passed over silently", "[unit][import]") {
  const Changed wrong("rocm-topo-old.txt", {{"(Topology) Numa Node: 1", "(Topology) Numa Node: one"}});
  CHECK(error_of_import("rocm-topo", {wrong.path()}, {{"gpu", "MI210"}}).find("line 19: not understood") !=
        std::string::npos);
  const Changed half("rocm-topo-old.txt", {{"GPU 1          : (Topology) Numa Node: 0\n", ""}});
  CHECK(error_of_import("rocm-topo", {half.path()}, {{"gpu", "MI210"}}).find("NUMA nodes of 1 GPUs") !=
        std::string::npos);
  const Changed none("rocm-topo-old.txt", {{"Numa Node", "Node"}});
  CHECK(import_file("rocm-topo", {none.path()}, {{"gpu", "MI210"}}).source.find("assumed: one CPU") !=
        std::string::npos);
}

TEST_CASE("rocm-smi: weights give the hops where the hops are all 1, names stand in the file", "[unit][import]") {
  const Topology t = import_file("rocm-topo", {"rocm-topo-mi250x.txt"});
  CHECK(cable(t, "gpu0", "gpu1").count == 4);  // the two dies of one package
  CHECK(cable(t, "gpu0", "gpu2").count == 1);
  CHECK_FALSE(has_cable(t, "gpu0", "gpu3"));
  CHECK(t.source.find("weight 30 and more are two hops") != std::string::npos);
  CHECK(t.devices[gpu(t, 0)].model == "AMD INSTINCT MI200 (MCM) OAM LC MBA");
}

TEST_CASE("rocm-smi: what it is not", "[unit][import]") {
  CHECK(error_of_import("rocm-topo", {"rocm-topo-old.txt"}, {}).find("MI100, MI210, MI250X") != std::string::npos);
  CHECK(error_of_import("rocm-topo", {"rocm-topo-old.txt"}, {{"gpu", "H100"}}).find("its GPUs are of AMD") !=
        std::string::npos);
  CHECK(error_of_import("topo-m", {"topo-p2p-behind.txt"}, {{"gpu", "MI300X"}}).find("its GPUs are of NVIDIA") !=
        std::string::npos);
  const ScratchFolder scratch;
  const std::string json = (scratch / "topo.json").string();
  std::ofstream(json) << R"({"system": {"(Topology) Weight between DRM devices 0 and 1": "15"}})";
  CHECK(error_of_import("rocm-topo", {json}, {{"gpu", "MI210"}}).find("no table 'Link Type between two GPUs'") !=
        std::string::npos);
}

TEST_CASE("amd-smi topology: bus ids, rates of its table, further facts of amd-smi static", "[unit][import]") {
  const Topology t = import_file("rocm-topo", {"amd-smi-topology.txt"}, {{"gpu", "MI300X"}});
  REQUIRE(t.gpus().size() == 4);
  CHECK(t.devices[gpu(t, 0)].bus_id == "0000:11:00.0");
  CHECK(t.devices[gpu(t, 3)].bus_id == "0000:c6:00.0");
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = a + 1; b < 4; ++b)
      CHECK(text_of_cable(t, gpu_id(a), gpu_id(b), "infinity_fabric") == "1 x 50 GB/s");
  CHECK(t.source.find("assumed: one CPU") != std::string::npos);
  const ScratchFolder scratch;
  const std::string facts = (scratch / "static.txt").string();
  std::ofstream out(facts);
  for (int i = 0; i < 4; ++i)
    out << "GPU: " << i << "\n    ASIC:\n        MARKET_NAME: AMD Instinct MI325X\n    NUMA:\n        NODE: " << i / 2
        << "\n";
  out.close();
  const Topology named = import_file("rocm-topo", {"amd-smi-topology.txt", facts});
  CHECK(named.devices[gpu(named, 2)].model == "AMD Instinct MI325X");
  CHECK(has_cable(named, "gpu3", "cpu1"));
  const Changed four("amd-smi-topology.txt", {{"50000-50000", "50000-200000"}});
  CHECK(text_of_cable(import_file("rocm-topo", {four.path()}, {{"gpu", "MI300X"}}), "gpu0", "gpu1",
                      "infinity_fabric") == "4 x 50 GB/s");
}

TEST_CASE("RCCL's XML: gfx number and PCI device identify the GPU, sm is the number of compute units",
          "[unit][import]") {
  const Topology t = import_file("nccl-xml", {"rccl-mi210.xml"});
  CHECK(t.devices[gpu(t, 0)].sm == 90);
  CHECK(t.devices[gpu(t, 0)].model == "AMD Instinct MI210");
  CHECK(lending::maker_of(t) == "amd");
  CHECK_FALSE(has_cable(t, "gpu0", "gpu1"));
  CHECK(cable(t, "gpu1", "cpu1").kind == "pcie4");
  CHECK(error_of_import("nccl-xml", {"rccl-mi210.xml"}, {{"gpu", "H100"}}).find("is not what the file lists") !=
        std::string::npos);  // which has sm 90 as well
  const Changed units("rccl-mi210.xml", {{" gcn=\"910\"", ""}, {"device=\"0x740f\"", "device=\"0xffff\""}});
  CHECK(error_of_import("nccl-xml", {units.path()}, {}).find("is the number of compute units") != std::string::npos);
  CHECK(import_file("nccl-xml", {units.path()}, {{"gpu", "MI210"}}).gpus().size() == 2);
  const Changed other("rccl-mi210.xml", {{"gcn=\"910\"", "gcn=\"gfx942\""}});
  CHECK(error_of_import("nccl-xml", {other.path()}, {}).find("'gfx942' is no AMD Instinct MI210") != std::string::npos);
}

TEST_CASE("hwloc: two GCDs of MI250X by PCI device, xGMI by its matrix, a CPU a NUMA node", "[unit][import]") {
  for (const Options& options : {Options{}, Options{{"gpu", "MI250X"}}}) {
    const Topology t = import_file("hwloc-xml", {"hwloc-mi250x.xml"}, options);
    REQUIRE(t.gpus().size() == 2);
    CHECK(text_of_cable(t, "gpu0", "gpu1", "infinity_fabric") == "4 x 50 GB/s");  // 200000 MB/s
    CHECK(has_cable(t, "gpu0", "cpu0"));
    CHECK(has_cable(t, "gpu1", "cpu1"));
    CHECK(cable(t, "gpu0", "cpu0").kind == "pcie4");
  }
  for (const int hops : {1, 2}) {  // a rate over two hops is not that of a link
    const Changed file(
        "hwloc-mi250x.xml",
        {{"</topology>",
          fmt::format("<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"5\" name=\"XGMIHops\" indexing=\"gp\"><indexes "
                      "length=\"8\">100 101</indexes><u64values length=\"8\">0 {0} {0} 0</u64values></distances2>"
                      "</topology>",
                      hops)}});
    CHECK(has_cable(import_file("hwloc-xml", {file.path()}), "gpu0", "gpu1") == (hops == 1));
  }
  CHECK(error_of_import("hwloc-xml", {"hwloc-mi250x.xml"}, {{"gpu", "MI300X"}}).find("the files name the GPUs") !=
        std::string::npos);
}

}  // namespace linkcast::test::amd_topologies_test
