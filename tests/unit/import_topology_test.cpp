// Importers of topologies: made-up and recorded files of other tools become the wiring that papers and shipped
// topologies give, and reproduce the table they were read from. What is wrong is in import_refusal_test.cpp.
#include "tests/unit/import_topology.hpp"

#include <map>

#include "sim/machine/library.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::test::import_topology_test {

TEST_CASE("NCCL's files give the wiring of the shipped topologies", "[unit][import]") {
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "dgx2", "hgx-h200"}) {
    INFO(name);
    const Topology imported = import_file("nccl-xml", {"nccl-" + name + ".xml"}), shipped = shipped_topology(name);
    REQUIRE(imported.gpus().size() == shipped.gpus().size());
    for (std::size_t a = 0; a < imported.gpus().size(); ++a) {
      CHECK(imported.devices[gpu(imported, a)].sm == shipped.devices[gpu(shipped, a)].sm);
      CHECK(links_to_nvswitches(imported, a) == links_to_nvswitches(shipped, a));
      for (std::size_t b = 0; b < a; ++b) {
        INFO(a << " " << b);
        CHECK(imported.direct_links(gpu(imported, a), gpu(imported, b)) ==
              shipped.direct_links(gpu(shipped, a), gpu(shipped, b)));
        CHECK(pcie_path(imported, gpu_id(a), gpu_id(b)) == pcie_path(shipped, gpu_id(a), gpu_id(b)));
      }
    }
    CHECK(kinds_and_rates(imported, is_accelerator_cable) == kinds_and_rates(shipped, is_accelerator_cable));
    CHECK(kinds_and_rates(imported, is_socket_cable).count("qpi") ==
          kinds_and_rates(shipped, is_socket_cable).count("qpi"));
  }
}

TEST_CASE("rings on what NCCL's files give are those of the shipped topologies", "[unit][import]") {
  // 5 GPUs cross the link between the CPUs, whose width follows from the CPU's model number.
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "dgx2"})
    for (const std::string version : {"nccl-2.7", "nccl-2.12", "nccl-2.30"}) {
      INFO(name << " " << version);
      Topology imported = import_file("nccl-xml", {"nccl-" + name + ".xml"}), shipped = shipped_topology(name);
      Calibration none_imported, none_shipped;
      none_imported.topology = imported.name;
      none_shipped.topology = shipped.name;
      const std::vector<int> gpus{0, 1, 2, 3, 4};
      const RingLibrary& library = ring_library(version);
      const Communicator one = library.build(Platform(imported, none_imported), gpus);
      const Communicator other = library.build(Platform(shipped, none_shipped), gpus);
      CHECK(one.channels.size() == other.channels.size());
      CHECK(one.library_channel_bandwidth.si == other.library_channel_bandwidth.si);
      CHECK(one.path_class == other.path_class);
    }
}

TEST_CASE("adapters of NCCL's files hang where those of the shipped topologies do", "[unit][import]") {
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "dgx2"}) {
    const Topology imported = import_file("nccl-xml", {"nccl-" + name + ".xml"}), shipped = shipped_topology(name);
    for (int nic = 0; shipped.find("nic" + std::to_string(nic)); ++nic)
      for (std::size_t a = 0; a < imported.gpus().size(); ++a) {
        INFO(name << " nic" << nic << " gpu" << a);
        const std::string id = "nic" + std::to_string(nic);
        REQUIRE(imported.find(id));
        CHECK(pcie_path(imported, gpu_id(a), id) == pcie_path(shipped, gpu_id(a), id));
      }
  }
}

TEST_CASE("topo -m does not show the C2C of a Grace: its GPU hangs on it by the data sheet", "[unit][import]") {
  const std::string table =
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV6\tNODE\t0-71\t0\nGPU1\tNV6\t X \tSYS\t72-143\t1\n"
      "NIC0\tNODE\tSYS\t X \n";
  const ScratchFolder scratch;
  const std::string path = (scratch / "topo.txt").string();
  std::ofstream(path) << table;
  const Topology grace = import_file("topo-m", {path}, {{"gpu", "NVIDIA GH200 120GB"}, {"nvswitch", "no"}});
  CHECK(text_of_cable(grace, "gpu0", "cpu0", "c2c") == "1 x 450 GB/s");
  CHECK(text_of_cable(grace, "gpu1", "cpu1", "c2c") == "1 x 450 GB/s");
  CHECK(cable(grace, "nic0", "cpu0").kind == "pcie5");
  const Topology two = import_file("topo-m", {path}, {{"gpu", "NVIDIA GB200"}, {"nvswitch", "no"}});
  CHECK(text_of_cable(two, "gpu0", "cpu0", "c2c") == "1 x 225 GB/s");
}

TEST_CASE("topo -m: links that a GPU has lost are found, behind NVSwitches and straight", "[unit][import]") {
  const auto table = [](const std::string& broken, const std::string& whole) {
    const auto link = [&](int a, int b) { return a == b ? " X " : a == 3 || b == 3 ? broken : whole; };
    std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n";
    for (int a = 0; a < 4; ++a) {
      text += "GPU" + std::to_string(a);
      for (int b = 0; b < 4; ++b) text += "\t" + link(a, b);
      text += "\t0-63\n";
    }
    return text;
  };
  const ScratchFolder scratch;
  const std::string path = (scratch / "topo.txt").string();
  const auto imported = [&](const std::string& text, const Options& options) {
    std::ofstream(path) << text;
    return import_file("topo-m", {path}, options);
  };
  const Topology on_switch = imported(table("NV17", "NV18"), {{"gpu", "NVIDIA H200"}});
  CHECK(cable(on_switch, "gpu0", "nvs0").count == 18);
  CHECK(cable(on_switch, "gpu3", "nvs0").count == 17);
  CHECK(cable(on_switch, "gpu3", "nvs0").source.find("finding: gpu3 shows 17 NVLinks where others show 18") !=
        std::string::npos);
  CHECK(cable(on_switch, "gpu0", "nvs0").source.find("finding") == std::string::npos);
  const Topology straight = imported(table("NV3", "NV4"), {{"gpu", "NVIDIA A100-SXM4-40GB"}});
  CHECK(cable(straight, "gpu0", "gpu3").source.find("finding: gpu3 shows 9 NVLinks where others show 11") !=
        std::string::npos);
  CHECK(cable(straight, "gpu0", "gpu1").source.find("finding") == std::string::npos);
}

TEST_CASE("NVLinks to CPUs and C2C are cables to the GPU's own CPU", "[unit][import]") {
  const Topology power = import_file("nccl-xml", {"nccl-power.xml"});
  CHECK(text_of_cable(power, "gpu1", "cpu0", "nvlink2") == "3 x 25 GB/s");
  CHECK(text_of_cable(power, "gpu2", "cpu8", "nvlink2") == "3 x 25 GB/s");
  CHECK(text_of_cable(power, "gpu0", "gpu1", "nvlink2") == "3 x 25 GB/s");
  // source: PCI Express 3.0: 8 GT/s x 2 lanes x 128/130 / 8
  CHECK(text_of_cable(power, "gpu0", "plx0", "pcie3") == "1 x 1.969 GB/s");
  CHECK(power.devices[*power.find("cpu8")].vendor == "ibm");
  CHECK(text_of_cable(power, "cpu0", "cpu8", "xbus") == "1 x 64 GB/s");
  const Topology grace = import_file("nccl-xml", {"nccl-c2c.xml"});
  CHECK(text_of_cable(grace, "gpu1", "cpu1", "c2c") == "10 x 44.71 GB/s");
  CHECK(text_of_cable(grace, "gpu0", "gpu1", "nvlink4") == "18 x 25 GB/s");
  CHECK(cable(grace, "cpu0", "cpu1").source.rfind("assumed: ", 0) == 0);
}

TEST_CASE("links whose speed NCCL does not know are assumed or taken from the option", "[unit][import]") {
  const Changed file("nccl-c2c.xml", {{"32.0 GT/s PCIe", "Unknown"}});
  const Topology assumed = import_file("nccl-xml", {file.path()});
  CHECK(text_of_cable(assumed, "gpu0", "cpu0", "pcie3") == "1 x 15.75 GB/s");
  CHECK(cable(assumed, "gpu0", "cpu0", "pcie3").source.rfind("assumed: PCIe 3 x16, as NCCL does", 0) == 0);
  const Topology told = import_file("nccl-xml", {file.path()}, {{"pcie", "5x8"}, {"pcie_peer", "same_socket"}});
  CHECK(text_of_cable(told, "gpu0", "cpu0", "pcie5") == "1 x 31.51 GB/s");
  CHECK(told.pcie_peer == PciePeer::kSameSocket);
  CHECK(assumed.pcie_peer == PciePeer::kNone);
  CHECK(assumed.source.find("assumed: no peer access over PCIe (option pcie_peer says otherwise)") !=
        std::string::npos);
}

TEST_CASE("a dump of some GPUs is read if that is said", "[unit][import]") {
  const Changed file("nccl-power.xml",
                     {{"<gpu dev=\"1\"", "<gpu dev=\"5\""},
                      {"0000:05:00.0\" count", "0000:77:00.0\" count"},
                      {"          <nvlink target=\"0000:04:00.0\" count=\"3\" tclass=\"0x030200\"/>\n", ""}});
  const Topology t = import_file("nccl-xml", {file.path()}, {{"partial", "yes"}});
  CHECK(t.gpus().size() == 4);
  CHECK(t.direct_links(gpu(t, 0), gpu(t, 3)) == 0);
  CHECK(t.direct_links(gpu(t, 1), gpu(t, 2)) == 3);
  CHECK(t.source.find("dev 5 is called gpu3") != std::string::npos);
  CHECK(t.source.find("NVLinks of gpu0 to 0000:77:00.0") != std::string::npos);
}

TEST_CASE("links between PCIe switches and adapters without a PCI device", "[unit][import]") {
  const Changed file("nccl-v100-dgx1.xml",
                     {{"<pci busid=\"0000:11:00.0\"", "<pcilink target=\"0000:18:00.0\"/><pci busid=\"0000:11:00.0\""},
                      {"<pci busid=\"0000:19:00.0\"", "<pcilink target=\"0000:10:00.0\"/><pci busid=\"0000:19:00.0\""},
                      {"modelid=\"79\">", "modelid=\"79\"><nic><net name=\"eth0\" dev=\"9\" speed=\"10000\"/></nic>"}});
  const Topology t = import_file("nccl-xml", {file.path()});
  CHECK(text_of_cable(t, "plx0", "plx1", "pcie3") == "1 x 15.75 GB/s");
  CHECK(cable(t, "plx0", "plx1").source.find("assumed: as wide as the switch's uplink") != std::string::npos);
  CHECK(t.source.find("eth0, no PCI device") != std::string::npos);
  CHECK_FALSE(t.find("nic4"));
}

TEST_CASE("a topology made from topo -m reproduces its table", "[unit][import]") {
  struct Row {
    std::vector<std::string> files;
    std::map<std::string, std::string> options;
  };
  const std::vector<Row> rows = {{{"topo-v100-dgx1.txt"}, {{"gpu", "V100-SXM2"}, {"cpu", "intel"}}},
                                 {{"topo-abci-v100.txt"}, {{"gpu", "Tesla V100-SXM2-16GB"}}},
                                 {{"topo-h200.txt", "nvlink-h200.txt"}, {}},
                                 {{"topo-pcie.txt", "list-pcie.txt"}, {}}};
  for (const Row& row : rows) {
    INFO(row.files.front());
    const Topology t = import_file("topo-m", row.files, row.options);
    for (const TableEntry& entry : table_of(row.files.front())) {
      INFO(entry.row << " " << entry.column);
      const std::string a = device_of(entry.row), b = device_of(entry.column);
      if (entry.text.rfind("NV", 0) == 0) {
        CHECK("NV" + std::to_string(nvlinks_between(t, a, b)) == entry.text);
        continue;
      }
      CHECK(pcie_path(t, a, b) == (entry.text == "SOC" ? "SYS" : entry.text == "NODE" ? "PHB" : entry.text));
      CHECK(nvlinks_between(t, a, b) == 0);
    }
  }
}

TEST_CASE("topo -m of a V100 DGX-1 gives the shipped wiring", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-v100-dgx1.txt"}, {{"gpu", "V100-SXM2"}, {"cpu", "intel"}});
  const Topology shipped = shipped_topology("v100-dgx1");
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      CHECK(t.direct_links(gpu(t, a), gpu(t, b)) == shipped.direct_links(gpu(shipped, a), gpu(shipped, b)));
      CHECK(pcie_path(t, gpu_id(a), gpu_id(b)) == pcie_path(shipped, gpu_id(a), gpu_id(b)));  // NVLink hid it
    }
  CHECK(t.devices[*t.find("nic3")].model == "mlx5_3");
  CHECK(t.devices[*t.find("cpu1")].vendor == "intel");
  CHECK(cable(t, "gpu0", "plx0").source.find("; assumed: PCIe 3 x16") != std::string::npos);
}

TEST_CASE("H200 behind NVSwitches are told from straight cables", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-h200.txt", "nvlink-h200.txt"});
  CHECK(t.devices[gpu(t, 0)].model == "NVIDIA H200");
  CHECK(t.devices[gpu(t, 0)].sm == 90);
  CHECK(links_to_nvswitches(t, 3) == 18);
  CHECK(text_of_cable(t, "gpu3", "nvs0", "nvlink4") == "18 x 25 GB/s");
  CHECK(cable(t, "gpu3", "cpu0").source.rfind("assumed: straight to the CPU, NVLink hides", 0) == 0);
  // Nobody names the GPUs: compute capability and PCIe are told.
  const Topology told = import_file("topo-m", {"topo-h200.txt"}, {{"sm", "90"}, {"pcie", "5x16"}});
  CHECK(links_to_nvswitches(told, 3) == 18);
  CHECK(cable(told, "gpu3", "nvs0").source.find("generation of the compute capability") != std::string::npos);
  const Changed pair("topo-h200.txt", {{"\tGPU2\tGPU3", ""},
                                       {"\tNV18\tNV18\tNV18", "\tNV18"},
                                       {"\t X \tNV18\tNV18", "\t X "},
                                       {"GPU2\tNV18\tNV18\t X \tNV18\t0-63\t0\t\tN/A\n", ""},
                                       {"GPU3\tNV18\t X \t0-63\t0\t\tN/A\n", ""}});
  const Topology straight = import_file("topo-m", {pair.path()}, {{"gpu", "H200"}, {"nvswitch", "no"}});
  CHECK(text_of_cable(straight, "gpu0", "gpu1", "nvlink4") == "18 x 25 GB/s");
  CHECK(links_to_nvswitches(import_file("topo-m", {pair.path()}, {{"gpu", "H200"}, {"nvswitch", "yes"}}), 1) == 18);
}

TEST_CASE("every set of GPUs that NVLinks join is looked at for itself", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "two.txt").string();
  std::ofstream(path) << "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tCPU Affinity\tNUMA Affinity\n"
                         "GPU0\t X \tNV6\tNV6\tSYS\tSYS\tN/A\n"
                         "GPU1\tNV6\t X \tNV6\tSYS\tSYS\tN/A\n"
                         "GPU2\tNV6\tNV6\t X \tSYS\tSYS\tN/A\n"
                         "GPU3\tSYS\tSYS\tSYS\t X \tNV3\tN/A\n"
                         "GPU4\tSYS\tSYS\tSYS\tNV3\t X \tN/A\n";
  const Topology t = import_file("topo-m", {path}, {{"gpu", "Tesla V100-SXM3-32GB"}});
  CHECK(links_to_nvswitches(t, 2) == 6);
  CHECK(links_to_nvswitches(t, 3) == 0);
  CHECK(text_of_cable(t, "gpu3", "gpu4", "nvlink2") == "3 x 25 GB/s");  // fewer than the six of an NVSwitch
  // No affinity: NVLink hides whether GPUs 0 to 2 share a node, SYS says that the others do not.
  CHECK(pcie_path(t, "gpu0", "gpu2") == "PHB");
  CHECK(pcie_path(t, "gpu3", "gpu4") == "PHB");
  CHECK(cable(t, "gpu4", "cpu1").source.find("assumed: this NUMA node") != std::string::npos);
  CHECK(cable(t, "cpu0", "cpu1").source.rfind("assumed: ", 0) == 0);
}

TEST_CASE("hwloc gives sockets and PCIe, topo -m the NVLinks: the shipped ABCI node", "[unit][import]") {
  const Topology t = import_file("hwloc-xml", {"hwloc-abci-v100.xml", "topo-abci-v100.txt"});
  const Topology shipped = shipped_topology("abci-v100");
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      CHECK(t.direct_links(gpu(t, a), gpu(t, b)) == shipped.direct_links(gpu(shipped, a), gpu(shipped, b)));
      CHECK(pcie_path(t, gpu_id(a), gpu_id(b)) == pcie_path(shipped, gpu_id(a), gpu_id(b)));
    }
    for (const std::string nic : {"nic0", "nic1"})
      CHECK(pcie_path(t, gpu_id(a), nic) == pcie_path(shipped, gpu_id(a), nic));
  }
  CHECK_FALSE(t.find("nic2"));  // Ethernet is left out
  CHECK(t.devices[*t.find("cpu1")].vendor == "intel");
  CHECK(text_of_cable(t, "gpu0", "plx0", "pcie3") == "1 x 15.75 GB/s");
  const Topology alone = import_file("hwloc-xml", {"hwloc-abci-v100.xml"});
  CHECK(alone.direct_links(gpu(alone, 0), gpu(alone, 1)) == 0);
  CHECK(alone.source.find("assumed: no NVLinks") != std::string::npos);
}

TEST_CASE("hwloc: a GPU with fewer links to the NVSwitch has fewer, whatever the others have", "[unit][import]") {
  // MB/s of the NVML devices and of a switch, 25000 a link: six links of the first three, four of the last
  std::string values;
  const std::vector<int> links = {6, 6, 6, 4};
  for (std::size_t a = 0; a <= links.size(); ++a)
    for (std::size_t b = 0; b <= links.size(); ++b)
      values += std::to_string((a == links.size()) == (b == links.size()) ? 0 : 25000 * links[std::min(a, b)]) + " ";
  const Changed machine("hwloc-abci-v100.xml",
                        {{"</topology>",
                          "<distances2hetero nbobjs=\"5\" kind=\"9\" name=\"NVLinkBandwidth\"><indexes length=\"9\">"
                          "OSDev:50 OSDev:51 OSDev:52 OSDev:53 PCIDev:99</indexes><u64values length=\"9\">" +
                              values + "</u64values></distances2hetero></topology>"}});
  const Topology t = import_file("hwloc-xml", {machine.path()});
  for (std::size_t i = 0; i < links.size(); ++i) CHECK(links_to_nvswitches(t, i) == links[i]);
}

TEST_CASE("what hwloc does not say is assumed, or told by an option", "[unit][import]") {
  const Changed machine(
      "hwloc-abci-v100.xml",
      {{"15.753846", "0.000000"}, {"<object type=\"Package\" os_index", "<object type=\"Group\" os_index"}});
  const Topology t = import_file("hwloc-xml", {machine.path()}, {{"pcie", "3x8"}});
  CHECK(text_of_cable(t, "gpu0", "plx0", "pcie3") == "1 x 7.877 GB/s");
  CHECK(text_of_cable(t, "plx1", "cpu0", "pcie3") == "1 x 7.877 GB/s");
  CHECK(cable(t, "gpu3", "plx1").source.find("assumed: first socket") != std::string::npos);
  CHECK_FALSE(t.find("cpu1"));
  // A GPU that idles at 2.5 GT/s: 2.5 x 16 lanes x 8/10 / 8
  const Changed idle("hwloc-abci-v100.xml",
                     {{"[10de:1212] a1\" pci_link_speed=\"15.753846\"", "\" pci_link_speed=\"4.000000\""}});
  const Topology slow = import_file("hwloc-xml", {idle.path()});
  CHECK(text_of_cable(slow, "gpu0", "plx0", "pcie1") == "1 x 4 GB/s");
  CHECK(cable(slow, "gpu0", "plx0").source.find("pci_link_speed when lstopo ran") != std::string::npos);
  CHECK(text_of_cable(import_file("hwloc-xml", {idle.path()}, {{"pcie", "3x16"}}), "gpu0", "plx0", "pcie3") ==
        "1 x 15.75 GB/s");
}

TEST_CASE("a discovery gives the topology that linkcast-bench writes", "[unit][import]") {
  const Topology t = import_file("discovery", {"../pass_discovery.json"});
  CHECK(t.direct_links(gpu(t, 0), gpu(t, 1)) == 2);
  CHECK(text_of_cable(t, "gpu0", "gpu1", "nvlink1") == "2 x 20 GB/s");
  CHECK(pcie_path(t, "gpu0", "gpu1") == "PIX");
  CHECK(cable(t, "plx0", "cpu1").source == "assumed: uplink as wide as the GPU's link");
  CHECK(t.devices[*t.find("cpu0")].vendor == "intel");
}

TEST_CASE("NVSwitches whose bus ids the driver hides are assumed to be one group", "[unit][import]") {
  // Recorded on 4 H200 by linkcast-bench: every link of every GPU ends at ffff:ff:ff.0.
  const Changed file("../pass_discovery.json",
                     {{"\"gpu\", \"remote_pci\": \"0000:01:00.0\"", "\"switch\", \"remote_pci\": \"ffff:ff:ff.0\""},
                      {"\"gpu\", \"remote_pci\": \"0000:02:00.0\"", "\"switch\", \"remote_pci\": \"ffff:ff:ff.0\""}});
  const Topology t = import_file("discovery", {file.path()});
  CHECK(links_to_nvswitches(t, 0) == 2);
  CHECK_FALSE(t.find("nvswitch1"));
  CHECK(cable(t, "gpu0", "nvswitch0").source.find("assumed: all end in one NVSwitch group") != std::string::npos);
}

TEST_CASE("imported topologies pass linkcast check", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string folder = "tests/input/import/", out = (scratch / "t.json").string();
  for (const std::string& command : std::vector<std::string>{
           "nccl-xml " + folder + "nccl-dgx2.xml", "nccl-xml " + folder + "nccl-power.xml",
           "topo-m " + folder + "topo-h200.txt --option gpu=H200 --option cpu=intel",
           "topo-m " + folder + "topo-pcie.txt " + folder + "list-pcie.txt",
           "hwloc-xml --option pcie_peer=none " + folder + "hwloc-abci-v100.xml " + folder + "topo-abci-v100.txt",
           "discovery tests/input/pass_discovery.json"}) {
    INFO(command);
    const Run run = run_program("import " + command + " --machine some-box --out '" + out + "'");
    CHECK(run.err.find("error") == std::string::npos);
    REQUIRE(run.code == 0);
    CHECK(run_program("check '" + out + "'").out == out + ": ok, topology/1\n");
    CHECK(read_topology(out).name == "some-box");
  }
}

}  // namespace linkcast::test::import_topology_test
