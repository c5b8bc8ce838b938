// Tables of nvidia-smi as people paste them, and names of GPUs as people spell them.
#include <map>

#include "sim/machine/routing.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/node_groups.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::their_topologies_test {

TEST_CASE("GPU names are told apart however they are spelled", "[unit][import]") {
  const auto words = [](const std::string& name) {
    const auto model = find_gpu_model(name);
    return model ? std::string(model->words) : std::string("unknown");
  };
  for (const std::string name : {"RTX4090", "RTX 4090", "NVIDIA GeForce RTX 4090", "rtx-4090"})
    CHECK(words(name) == "RTX 4090");
  CHECK(words("NVIDIA H100 80GB HBM3") == "H100");
  CHECK(words("H100-SXM5-80GB") == "H100");
  CHECK(words("NVIDIA H100 PCIe") == "H100 PCIE");
  CHECK(words("NVIDIA H100 NVL") == "H100 NVL");
  CHECK(words("NVIDIA GH200 96GB (H100)") == "GH200");
  CHECK(words("NVIDIA RTX 6000 Ada Generation") == "RTX 6000 Ada");
  CHECK(words("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "RTX PRO 6000");
  CHECK(words("NVIDIA RTX A5000") == "A5000");
  CHECK(words("NVIDIA A10G") == "A10G");
  CHECK(words("NVIDIA L20") == "L20");
  CHECK(words("NVIDIA GB10") == "GB10");
  CHECK(words("AMD Instinct MI325X") == "MI325X");
  // source: the list of models that people ask about, each as it is typed
  for (const auto& [typed, model] : std::map<std::string, std::string>{{"RTX3090", "RTX 3090"},
                                                                       {"GeForceRTX5090", "RTX 5090"},
                                                                       {"RTXA6000", "A6000"},
                                                                       {"RTX6000Ada", "RTX 6000 Ada"},
                                                                       {"RTXPRO6000", "RTX PRO 6000"},
                                                                       {"rtx a5000", "A5000"},
                                                                       {"NVIDIA-A10", "A10"},
                                                                       {"NVIDIA L4", "L4"},
                                                                       {"l40s", "L40S"},
                                                                       {"Tesla T4", "T4"},
                                                                       {"NVIDIA A30", "A30"},
                                                                       {"A100-PCIE-40GB", "A100 PCIE"},
                                                                       {"A100-PCIE-80GB", "A100 PCIE 80GB"},
                                                                       {"NVIDIA A100 80GB PCIe", "A100 80GB PCIE"},
                                                                       {"A100-SXM4-80GB", "A100 SXM4 80GB"},
                                                                       {"A100SXM4", "A100"},
                                                                       {"NVIDIA A100-SXM4-40GB", "A100"},
                                                                       {"H100SXM5", "H100"},
                                                                       {"H100PCIe", "H100 PCIE"},
                                                                       {"H100NVL", "H100 NVL"},
                                                                       {"NVIDIA H20", "H20"},
                                                                       {"NVIDIA H800", "H800"},
                                                                       {"nvidia h200 nvl", "H200 NVL"},
                                                                       {"GH200 480GB", "GH200"},
                                                                       {"NVIDIA B200", "B200"},
                                                                       {"B300 SXM6", "B300"},
                                                                       {"NVIDIA GB200", "GB200"},
                                                                       {"GB300", "GB300"},
                                                                       {"AMD Instinct MI100", "MI100"},
                                                                       {"MI210", "MI210"},
                                                                       {"AMD Instinct MI250X", "MI250X"},
                                                                       {"mi300x", "MI300X"},
                                                                       {"MI355X", "MI355X"}})
    CHECK(words(typed) == model);
  CHECK(words("Radeon VII") == "unknown");
}

TEST_CASE("topo -m with errors of links, or a list of one GPU, behind it", "[unit][import]") {
  const std::string uuid = " (UUID: GPU-00000000-0000-0000-0000-000000000000)\n";
  const Topology plain = import_file("topo-m", {"topo-h200.txt"}, {{"gpu", "NVIDIA H200"}});
  for (const std::string& behind :
       {"GPU 0: NVIDIA H200" + uuid + "\t Link 0: Replay Errors: 0\n", "GPU 2: NVIDIA H200" + uuid}) {
    const Changed file("topo-h200.txt", {{"Legend:", behind + "Legend:"}});
    CHECK(import_file("topo-m", {file.path()}, {{"gpu", "NVIDIA H200"}}).cables.size() == plain.cables.size());
  }
}

TEST_CASE("topo -m behind a prompt, with glued names, without affinities", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-glued.txt"}, {{"gpu", "H100-SXM5-80GB"}});
  REQUIRE(t.gpus().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(cable(t, gpu_id(i), "nvs0").count == 18);
  CHECK(cable(t, "nic0", "plx0").kind == "pcie5");
  CHECK(cable(t, "gpu0", "plx0").kind == "pcie5");
}

TEST_CASE("topo -m of a virtual machine: SYS inside one NUMA node", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-virtual.txt"}, {{"gpu", "RTX4090"}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(cable(t, gpu_id(i), "cpu0").kind == "pcie4");
  CHECK_FALSE(t.find("cpu1"));
  CHECK(t.source.find("assumed: SYS inside one NUMA node") != std::string::npos);
}

TEST_CASE("topo -mp shows no NVLinks, which is said, unless nvlink -s counts them", "[unit][import]") {
  CHECK(import_file("topo-m", {"topo-mp.txt"}, {{"gpu", "A100"}}).source.find("topo -mp leaves out") !=
        std::string::npos);
  const Topology counted = import_file("topo-m", {"topo-mp.txt", "nvlink-inactive.txt"});
  CHECK(counted.source.find("topo -mp") == std::string::npos);
  CHECK(counted.devices[gpu(counted, 1)].model == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("topo -p2p is another table", "[unit][import]") {
  std::string error;
  try {
    import_json("topo-m", {"topo-p2p.txt"}, {{"gpu", "L4"}});
  } catch (const InputError& e) {
    error = e.what();
  }
  CHECK(error.find("topo-p2p.txt line 3: 'CNS': a table of nvidia-smi topo -p2p says who may access whom") !=
        std::string::npos);
}

TEST_CASE("topo -p2p behind topo -m says who has peer access over PCIe", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-p2p-behind.txt"}, {{"gpu", "RTX 4090"}});
  REQUIRE(t.gpus().size() == 3);
  CHECK(t.pcie_peer == PciePeer::kSameSocket);  // OK of gpu0 and gpu1 on node 0, CNS to gpu2 on node 1
  CHECK(cable(t, "gpu2", "cpu1").kind == "pcie4");
  const auto peers = [](const std::vector<std::pair<std::string, std::string>>& changes, const Options& more = {}) {
    const Changed file("topo-p2p-behind.txt", changes);
    Options options = {{"gpu", "RTX 4090"}};
    options.insert(more.begin(), more.end());
    return import_file("topo-m", {file.path()}, options).pcie_peer;
  };
  CHECK(peers({{"CNS", "OK"}}) == PciePeer::kAll);
  CHECK(peers({{"\tOK", "\tNS"}}) == PciePeer::kNone);
  CHECK(peers({{"-p2p r", "-p2p n"}}) == PciePeer::kNone);  // of NVLinks
  CHECK(peers({{"-p2p r", "-p2p r"}}, {{"pcie_peer", "all"}}) == PciePeer::kAll);
  const Changed twice("topo-p2p-behind.txt", {{"-p2p r\n \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS",
                                               "-m\n \tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\t0-15\t0"}});
  CHECK(linkcast::test::error_of([&] {
          return import_json("topo-m", {twice.path()}, {{"gpu", "RTX 4090"}});
        }).find("a second table, in which 'GPU0' differs from line 3") != std::string::npos);
  for (const char* other : {"-m\n \tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n", "-m\n \tGPU0\nGPU0\t X \n"}) {
    const Changed smaller("topo-p2p-behind.txt", {{"-p2p r\n", other}});
    CHECK(linkcast::test::error_of([&] {
            return import_json("topo-m", {smaller.path()}, {{"gpu", "RTX 4090"}});
          }).find("a second table, of other devices: give the table of one machine") != std::string::npos);
  }
}

TEST_CASE("peer access across sockets is a route over both CPUs", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-p2p-behind.txt"}, {{"gpu", "RTX 4090"}, {"pcie_peer", "all"}});
  const Topology inside = import_file("topo-m", {"topo-p2p-behind.txt"}, {{"gpu", "RTX 4090"}});
  const auto routed = [](const Topology& topology, std::size_t to) {
    const RoutingRule rule = pcie_peer_rule(topology.pcie_peer);
    std::vector<Link> links;
    for (std::size_t i = 0; i < topology.cables.size(); ++i) {
      links.push_back({static_cast<int>(i), topology.cables[i].a, topology.cables[i].b});
      links.push_back({static_cast<int>(i), topology.cables[i].b, topology.cables[i].a});
    }
    const auto route = RoutesFrom(RouteGraph(topology, links, rule), topology.gpus()[0]).to(topology.gpus()[to]);
    return route ? route->links.size() : 0;
  };
  CHECK(routed(t, 2) == 3);  // gpu0-cpu0, cpu0-cpu1, cpu1-gpu2
  CHECK(routed(inside, 1) == 2);
  CHECK(routed(inside, 2) == 0);
}

TEST_CASE("topo -m with the prefix that a launcher puts before each line", "[unit][import]") {
  for (const std::string prefix : {"node7: ", "[0] ", "> ", "[pod/job-0/main] ", "    "}) {
    INFO(prefix);
    std::string text = text_of_file(input("topo-p2p-behind.txt")), all;
    std::istringstream in(text.substr(text.find('\n') + 1));
    for (std::string line; std::getline(in, line);) all += prefix + line + "\n";
    const ScratchFolder scratch;
    const std::string path = (scratch / "topo.txt").string();
    std::ofstream(path) << all;
    CHECK(import_file("topo-m", {path}, {{"gpu", "RTX 4090"}}).gpus().size() == 3);
  }
}

TEST_CASE("topo -m of an AC922: NVLinks that lead to no GPU lead to the CPU of POWER", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-ac922.txt"}, {{"gpu", "Tesla V100-SXM2-16GB"}});
  for (std::size_t i = 0; i < 4; ++i)  // six of a V100, three to its neighbour. source: IBM AC922 with four GPUs
    CHECK(text_of_cable(t, gpu_id(i), i < 2 ? "cpu0" : "cpu8", "nvlink2") == "3 x 25 GB/s");
  CHECK(cable(t, "cpu0", "cpu8").kind == "xbus");
  CHECK(t.source.find("assumed: CPUs of POWER9") != std::string::npos);
  const Topology intel = import_file("topo-m", {"topo-ac922.txt"}, {{"gpu", "V100-SXM2"}, {"cpu", "intel"}});
  CHECK(cable(intel, "gpu0", "cpu0").kind == "pcie3");
}

TEST_CASE("NCCL's XML: adapters of class 0x0801, Broadcom's switches of two levels", "[unit][import]") {
  const Topology direct = import_file("nccl-xml", {"nccl-data-direct.xml"});
  REQUIRE(direct.gpus().size() == 2);
  CHECK(direct.find("nic0"));
  CHECK(cable(direct, "gpu0", "nvs0").count == 18);
  CHECK(text_of_cable(direct, "gpu1", "cpu0", "c2c") == "5 x 44.71 GB/s");
  const Topology one = import_file("nccl-xml", {"nccl-broadcom.xml"});
  CHECK(text_of_cable(one, "gpu0", "plx0", "pcie5") == "1 x 63.02 GB/s");
  CHECK(cable(one, "plx0", "cpu0").kind == "pcie5");
  CHECK(one.source.find("assumed: one Broadcom switch where PCI shows two levels of it") != std::string::npos);
  for (const Cable& c : one.cables) CHECK(c.kind != "pcie2");
  const Changed cascade("nccl-broadcom.xml", {{"subsystem_device=\"0x1003\"", "subsystem_device=\"0x0072\""}});
  CHECK(cable(import_file("nccl-xml", {cascade.path()}), "plx1", "plx0").kind == "pcie2");  // two chips
  const Changed other("nccl-broadcom.xml", {{"vendor=\"0x1000\"", "vendor=\"0x11f8\""}});
  CHECK(import_file("nccl-xml", {other.path()}).source.find("finding: plx1 hangs at plx0 by PCIe 2 x16, 8 GB/s") !=
        std::string::npos);
}

TEST_CASE("NCCL's XML: GPUs with sm and no NVLinks get them by gpu and nvswitch", "[unit][import]") {
  const std::string file = "nccl-no-nvlinks.xml";
  const auto error = [&](const Options& options) {
    return linkcast::test::error_of([&] { return import_json("nccl-xml", {file}, options); });
  };
  CHECK(import_file("nccl-xml", {file}).source.find("assumed: no NVLinks, the file names none") != std::string::npos);
  const Topology t = import_file("nccl-xml", {file}, {{"gpu", "H100"}, {"nvswitch", "yes"}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(text_of_cable(t, gpu_id(i), "nvs0", "nvlink4") == "18 x 25 GB/s");
  CHECK(t.source.find("assumed: the 18 NVLinks of each H100 lead to NVSwitches, as option nvswitch says") !=
        std::string::npos);
  CHECK_FALSE(import_file("nccl-xml", {file}, {{"gpu", "H100"}, {"nvswitch", "no"}}).find("nvs0"));
  CHECK(error({{"nvswitch", "yes"}}).find("needs option gpu=MODEL") != std::string::npos);
  CHECK(error({{"gpu", "H100 PCIe"}, {"nvswitch", "yes"}}).find("hangs on no NVSwitch") != std::string::npos);
  CHECK(linkcast::test::error_of([&] {
          return import_json("nccl-xml", {"nccl-broadcom.xml"}, {{"nvswitch", "yes"}});
        }).find("the file itself says where the links of its GPUs lead") != std::string::npos);
}

TEST_CASE("a cloud's NCCL_TOPO_FILE: GPUs by option, NVLinks of the model, text between elements", "[unit][import]") {
  const Topology t = import_file("nccl-xml", {"nccl-cloud.xml"}, {{"gpu", "H100"}});
  REQUIRE(t.gpus().size() == 2);
  CHECK(cable(t, "gpu1", "nvs0").count == 18);
  CHECK(cable(t, "gpu0", "plx0").kind == "pcie5");
  CHECK(cable(t, "nic1", "plx1").kind == "pcie3");  // as NCCL takes what is not said
  CHECK(t.source.find("assumed: the 18 NVLinks of each H100 lead to NVSwitches") != std::string::npos);
  const Topology bare = import_file("nccl-xml", {"nccl-cloud.xml"}, {{"gpu", "H100"}, {"nvswitch", "no"}});
  CHECK_FALSE(bare.find("nvs0"));
}

TEST_CASE("RCCL's version 2 has xgmi and GPUs of class 0x12", "[unit][import]") {
  const Topology t = import_file("nccl-xml", {"rccl-mi300x.xml"});
  CHECK(cable(t, "gpu0", "gpu1").kind == "infinity_fabric");
  CHECK(cable(t, "gpu0", "gpu1").bandwidth.si == 64e9);
}

TEST_CASE("NVLinks of unequal numbers in both directions are a finding", "[unit][import]") {
  const Topology whole = import_file("nccl-xml", {"nccl-power.xml"});
  std::string text = text_of_file(input("nccl-power.xml"));
  const std::size_t at = text.find("tclass=\"0x030200\"");
  const std::size_t count = text.rfind("count=\"3\"", at);
  REQUIRE(count != std::string::npos);
  text.replace(count, 9, "count=\"2\"");
  const ScratchFolder scratch;
  const std::string path = (scratch / "broken.xml").string();
  std::ofstream(path) << text;
  const Topology t = import_file("nccl-xml", {path});
  CHECK(t.source.find("finding: 2 links of gpu0 to gpu1, 3 back: taken as 2") != std::string::npos);
  CHECK(cable(t, "gpu0", "gpu1", "nvlink2").count == 2);
  CHECK(t.cables.size() == whole.cables.size());
}

TEST_CASE("hwloc 2 and 3 with NVLinkBandwidth, GPUs by PCI class", "[unit][import]") {
  const std::string sample = "hwloc-abci-v100.xml";
  // GPUs' OS devices have gp_index 40 to 43; each pair has 2 links of 25 GB/s
  std::string values;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) values += i == j ? "1000000 " : "50000 ";
  const std::string distances =
      "<distances2 type=\"OSDev\" nbobjs=\"4\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\"><indexes "
      "length=\"11\">40 41 42 43</indexes><u64values length=\"9\">" +
      values + "</u64values></distances2></topology>";
  for (const std::string version : {"2.0", "3.0"}) {
    const Changed with(sample, {{"</topology>", distances}, {"version=\"2.0\"", "version=\"" + version + "\""}});
    const Topology t = import_file("hwloc-xml", {with.path()});
    CHECK(cable(t, "gpu0", "gpu3").count == 2);
    CHECK(cable(t, "gpu0", "gpu3").kind == "nvlink2");
  }
  const Changed wrong(sample, {{"</topology>", distances}, {"50000 ", "40000 "}});
  CHECK(linkcast::test::error_of([&] {
          return import_json("hwloc-xml", {wrong.path()});
        }).find("40000 MB/s of gpu0 to gpu1 is no multiple of a link's 25000") != std::string::npos);
  const Changed short_one(sample, {{"</topology>", distances}, {"40 41 42 43", "40 41 42"}});
  CHECK(linkcast::test::error_of([&] {
          return import_json("hwloc-xml", {short_one.path()});
        }).find("16 values for 3 devices") != std::string::npos);
  const Changed unnamed(sample, {{"subtype=\"CUDA\"", ""}, {"subtype=\"NVML\"", ""}});
  const Topology t = import_file("hwloc-xml", {unnamed.path()});
  CHECK(t.gpus().size() == 4);
  CHECK(t.source.find("assumed: GPUs count in the order of bus ids") != std::string::npos);
}

TEST_CASE("InfraGraph: the model's NVLinks where an edge gives no rate, switches called nvlsw", "[unit][import]") {
  const Topology t = import_file("infragraph", {"infragraph-nvsw.json"});
  int links = 0;
  for (const Cable& c : t.cables)
    if (c.kind == "nvlink4" && (c.a == *t.find("gpu0") || c.b == *t.find("gpu0"))) links += c.count;
  CHECK(links == 18);
}

// One paste of both commands: two bridged 3090, a 4090 and an A4000 without NVLink.
TEST_CASE("topo -m of four GH200: CPUs are Graces", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-gh200.txt"});
  CHECK(cable(t, "gpu3", "cpu3").kind == "c2c");
  CHECK(cable(t, "cpu0", "cpu3").kind == "nvlink_cpu");
  CHECK(t.devices[static_cast<std::size_t>(*t.find("cpu0"))].vendor == "arm");
}

TEST_CASE("topo -m with the list behind it, GPUs of several models", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-mixed.txt"});
  CHECK(cable(t, "gpu0", "gpu1").count == 4);
  CHECK(cable(t, "gpu0", "gpu1").bandwidth.si == Approx(14.0625e9).epsilon(1e-4));  // source: RTX A6000 data sheet
  std::vector<int> sm;
  for (const int gpu : t.gpus()) sm.push_back(t.devices[static_cast<std::size_t>(gpu)].sm);
  CHECK(sm == std::vector<int>{86, 86, 89, 86});
  CHECK(t.devices[static_cast<std::size_t>(t.gpus()[2])].uuid == "GPU-11111111-1234-5678-9abc-def012345672");
  const Changed linked("topo-mixed.txt",
                       {{"GPU2\tPHB\tPHB", "GPU2\tNV4\tPHB"}, {"X \tNV4\tPHB\tPHB", "X \tNV4\tNV4\tPHB"}});
  CHECK(linkcast::test::error_of([&] {
          return import_json("topo-m", {linked.path()}, {});
        }).find("gpu2 has NVLinks, but 'NVIDIA GeForce RTX 4090' has none") != std::string::npos);
}

TEST_CASE("rocm-smi --showtopo", "[unit][import]") {
  const Topology t = import_file("rocm-topo", {"rocm-topo.txt"}, {{"gpu", "MI300X"}, {"cpu", "amd"}});
  CHECK(cable(t, "gpu0", "gpu1").kind == "infinity_fabric");
  CHECK(cable(t, "gpu0", "gpu1").count == 1);  // as every two GPUs of its board, whichever of them are shown
  CHECK(cable(t, "gpu1", "cpu1").kind == "pcie5");
  CHECK(linkcast::test::error_of([&] {
          return import_json("rocm-topo", {"topo-h200.txt"}, {{"gpu", "MI300X"}});
        }).find("no table 'Link Type between two GPUs'") != std::string::npos);
  const Changed cut("rocm-topo.txt", {{"GPU1   XGMI", "GPU2   XGMI"}});
  CHECK(linkcast::test::error_of([&] {
          return import_json("rocm-topo", {cut.path()}, {{"gpu", "MI300X"}});
        }).find("line 16: the row of GPU1 with 2 entries is due") != std::string::npos);
}

TEST_CASE("Slurm: what scontrol prints, blocks, topology.yaml", "[unit][import]") {
  const auto groups = [](const std::string& file, const Options& options = {}) {
    return read_node_groups(import_json("topology-conf", {file}, options), file).switches;
  };
  const auto printed = groups("scontrol-topology.txt");
  for (const char* prompt : {"[user@login ~]$ scontrol", "[root@login ~]# scontrol"}) {
    const Changed other("scontrol-topology.txt", {{"user@login:~$ scontrol", prompt}});
    CHECK(groups(other.path()).size() == printed.size());
  }
  CHECK(printed.at("core").switches == std::vector<std::string>{"s0", "s1"});
  CHECK(printed.at("core").nodes.empty());
  CHECK(printed.at("s1").nodes == std::vector<std::string>{"gpu03", "gpu04"});
  const auto blocks = groups("topology-block.conf");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks.at("b2").nodes.size() == 4);
  const auto fabric = groups("topology.yaml");  // the default of the cluster
  REQUIRE(fabric.size() == 3);
  CHECK(fabric.at("core").switches == std::vector<std::string>{"leaf1", "leaf2"});
  CHECK(fabric.at("leaf1").nodes == std::vector<std::string>{"gpu01", "gpu02"});
  CHECK(groups("topology.yaml", {{"topology", "nvl"}}).size() == 2);
  CHECK_THROWS_WITH(groups("topology.yaml", {{"topology", "x"}}),
                    "option topology: 'x' is not there: one of nvl, fabric");
  CHECK_THROWS_WITH(groups("topology-block.conf", {{"topology", "x"}}), "option topology: is of topology.yaml");
}

}  // namespace linkcast::test::their_topologies_test
