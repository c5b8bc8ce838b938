// What importers of topologies refuse: one line that names file, line and place. Each row changes a good input.
#include <fstream>

#include "tests/unit/import_topology.hpp"

namespace linkcast::test::import_refusal_test {

namespace {

struct Wrong {
  std::vector<std::pair<std::string, std::string>> changes;  ///< of the file
  std::string error;                                         ///< FILE stands for its path
  Options options = {};
  std::vector<std::string> more = {};  ///< files behind it; the error may begin with one of them
};

std::string refusal(const std::string& format, const std::string& file, const Wrong& row) {
  const Changed changed(file, row.changes);
  std::vector<std::string> files = {changed.path()};
  files.insert(files.end(), row.more.begin(), row.more.end());
  try {
    import_json(format, files, row.options);
  } catch (const InputError& error) {
    std::string what = error.what();
    const std::vector<std::pair<std::string, std::string>> shorter = {{changed.path(), "FILE"}, {input(""), ""}};
    for (const auto& [path, name] : shorter)
      for (auto at = what.find(path); at != std::string::npos; at = what.find(path))
        what.replace(at, path.size(), name);
    return what;
  }
  return "not refused";
}

void check_rows(const std::string& format, const std::string& file, const std::vector<Wrong>& rows) {
  for (const Wrong& row : rows) CHECK(refusal(format, file, row) == row.error);
}

const std::vector<Wrong> kNccl = {
    {{{"</system>", ""}}, "FILE line 36: not XML: Start-end tags mismatch"},
    {{{"<system version=\"1\">", "<system version=\"3\">"}},
     "FILE line 3:/system/@version: '3' is neither 1 nor RCCL's 2"},
    {{{"system", "topology"}}, "FILE line 3:/topology: not a topology file of NCCL: its root is system"},
    {{{"numaid=\"8\"", "numaid=\"0\""}},
     "FILE line 20:/system/cpu[2]/@numaid: two CPUs with the same node: a dump of several hosts is not read"},
    {{{"numaid=\"8\" ", ""}}, "FILE line 20:/system/cpu[2]/@numaid: missing attribute"},
    {{{"numaid=\"8\"", "numaid=\"8\" numaid=\"9\""}}, "FILE line 20:/system/cpu[2]/@numaid: is given twice"},
    {{{"numaid=\"8\"", "numaid=\"-2\""}},
     "FILE line 20:/system/cpu[2]/@numaid: '-2' is no whole number of at least -1"},
    {{{"ppc64le", "sparc"}},
     "FILE line 4:/system/cpu[1]/@arch: 'sparc' is not known: x86_64, ppc64, ppc64le, arm64, aarch64"},
    {{{"dev=\"2\"", "dev=\"1\""}}, "FILE line 23:/system/cpu[2]/pci/pci[1]/gpu/@dev: is listed twice"},
    {{{"dev=\"2\"", "dev=\"7\""}},
     "FILE line 29:/system/cpu[2]/pci/pci[2]/gpu/@dev: dev 2 is missing: option partial=yes numbers the GPUs that "
     "are there from 0"},
    {{{"sm=\"70\"", "sm=\"130\""}},
     "FILE line 7:/system/cpu[1]/pci/pci[1]/gpu/@sm: no NVLink is known for compute capability 130: option nvlink=1 "
     "to 5 says which it is"},
    {{{"\"0000:05:00.0\" count=\"3\"", "\"0000:07:00.0\" count=\"3\""}},
     "FILE line 8:/system/cpu[1]/pci/pci[1]/gpu/nvlink[1]/@target: no gpu with busid '0000:07:00.0': option "
     "partial=yes leaves such links out"},
    {{{"\"0000:05:00.0\" count=\"3\"", "\"0000:04:00.0\" count=\"3\""}},
     "FILE line 8:/system/cpu[1]/pci/pci[1]/gpu/nvlink[1]/@target: a GPU has no link to itself"},
    {{{"\"0000:05:00.0\" count=\"3\"", "\"0000:05:00.0\" count=\"0\""}},
     "FILE line 8:/system/cpu[1]/pci/pci[1]/gpu/nvlink[1]/@count: '0' is no whole number of at least 1"},
    {{{"count=\"3\"", "count=\"9\""}},
     "FILE line 7:/system/cpu[1]/pci/pci[1]/gpu: more NVLinks than the 6 that GPUs of sm 70 have"},
    {{{"0x068001", "0x0b4000"}},
     "FILE line 9:/system/cpu[1]/pci/pci[1]/gpu/nvlink[2]/@tclass: '0x0b4000' is not known: 0x03.... a GPU, 0x068000 "
     "an NVSwitch, 0x068001 a CPU"},
    {{{"link_width=\"8\"", "link_width=\"64\""}}, "FILE line 5:/system/cpu[1]/pci/@link_width: at most 32 lanes"},
    {{{"8.0 GT/s PCIe", "9 GT/s"}},
     "FILE line 5:/system/cpu[1]/pci/@link_speed: '9 GT/s' is no speed of PCI Express, e.g. '16.0 GT/s PCIe', or "
     "Unknown"},
    {{{"<nvlink", "<link"}},
     "FILE line 8:/system/cpu[1]/pci/pci[1]/gpu/link[1]: unknown element: a gpu holds nvlink, xgmi and c2c"},
    {{{"0x030200\" link_speed", "0x020000\" link_speed"}},
     "FILE line 7:/system/cpu[1]/pci/pci[1]/gpu: unknown element: a pci of class 0x03.... and 0x12.... holds gpu, "
     "0x0604.. pci and pcilink, others nic; this is 0x020000"}};

const std::vector<Wrong> kDgx1 = {
    {{{"CPU Affinity", "CPUs"}},
     "FILE line 2: unknown entry '0-19,40-59': X, NV#, PIX, PXB, PHB, NODE and SYS are known",
     {{"gpu", "V100-SXM2"}}},
    {{{"\tGPU5\t", "\tGPU6\t"}},
     "FILE line 1: 'GPU6': GPUs stand first and count from 0 without gaps",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU3\tNV2", "GPU4\tNV2"}}, "FILE line 5: the row of 'GPU3' is expected here", {{"gpu", "V100-SXM2"}}},
    {{{"GPU1\tNV1", "GPU1\tNVX"}},
     "FILE line 3: 'NVX': NV is followed by the number of links, 1 to 999",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU1\tNV1", "GPU1\tPIB"}},
     "FILE line 3: unknown entry 'PIB': X, NV#, PIX, PXB, PHB, NODE and SYS are known",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU1\tNV1", "GPU1\tNV2"}}, "FILE line 3: GPU1 to GPU0 is NV2, back it is NV1", {{"gpu", "V100-SXM2"}}},
    {{{"GPU1\tNV1", "GPU1\t X "}},
     "FILE line 3: 'GPU1': X stands where row and column are the same, and only there",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU0\t X ", "GPU0\tNV1"}},
     "FILE line 2: 'GPU0': X stands where row and column are the same, and only there",
     {{"gpu", "V100-SXM2"}}},
    {{{"NIC3\tSYS\tSYS\tSYS\tSYS\tPHB", "NIC3\tSYS"}},
     "FILE line 13: 'NIC3' has 8 entries, not 12",
     {{"gpu", "V100-SXM2"}}},
    {{{"0-19,40-59\t0\t\tN/A", "0-19,40-59\t0\t0\tN/A"}},
     "FILE line 2: 'GPU0' has 4 affinities, the first line names 3",
     {{"gpu", "V100-SXM2"}}},
    {{{"20-39,60-79\t1", "20-39,60-79\t0"}},
     "FILE line 6: GPU4 to GPU1 is SYS, but NUMA affinities and other entries put both into one node",
     {{"gpu", "V100-SXM2"}}},
    {{{"\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\t0\t\tN/A\nGPU2", "\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\t3\t\tN/A\nGPU2"}},
     "FILE line 3: GPU1 has NUMA affinity 3, but its entries put it into node 0",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU0\t X \tNV1", "GPU0\t X \tSYS"}, {"GPU1\tNV1", "GPU1\tSYS"}},
     "FILE line 3: GPU1 to GPU0 is NODE (or SYS inside a node), but other entries put both within PIX",
     {{"gpu", "V100-SXM2"}}},
    {{{"NIC1\tPHB\tPHB", "NIC1\tNV2\tPHB"},
      {"GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tPHB",
       "GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tNV2"}},
     "FILE line 11: NIC1 to GPU0: NVLink joins GPUs only",
     {{"gpu", "V100-SXM2"}}},
    {{{"\tNV2", "\tNV3"}},
     "FILE: gpu0 shows 8 NVLinks to others, but has at most 6, and no NVSwitch fits",
     {{"gpu", "V100-SXM2"}}},
    {{}, "FILE: gpu0 shows 6 NVLinks to others, but has at most 4, and no NVSwitch fits", {{"gpu", "P100"}}},
    {{},
     "option nvswitch: the pairs of gpu0 to gpu7 differ in FILE: no NVSwitch joins them",
     {{"gpu", "V100"}, {"nvswitch", "yes"}}},
    {{}, "nvlink-h200.txt: lists 4 GPUs, FILE has 8", {}, {"nvlink-h200.txt"}}};

const std::vector<Wrong> kPcie = {
    {{{"GPU1    PIX      X      PXB ", "GPU1    PIX      X      PIX "},
      {"GPU2    PXB     PXB      X  ", "GPU2    PXB     PIX      X  "}},
     "FILE line 4: GPU2 to GPU0 is PXB, but other entries put both within PIX",
     {{"gpu", "P100-PCIE"}}},
    {{{"X      SOC     NODE ", "X      PHB     NODE "},
      {"mlx5_0  PXB     PXB     PIX     PHB     SOC  ", "mlx5_0  PXB     PXB     PIX     PHB     PHB  "}},
     "FILE line 6: GPU4 to GPU0 is SYS, but other entries put both within PHB",
     {{"gpu", "P100-PCIE"}}}};

const std::vector<Wrong> kH200 = {
    {{{"\tGPU2\tGPU3", ""},
      {"\tNV18\tNV18\tNV18", "\tNV18"},
      {"\t X \tNV18\tNV18", "\t X "},
      {"GPU2\tNV18\tNV18\t X \tNV18\t0-63\t0\t\tN/A\n", ""},
      {"GPU3\tNV18\t X \t0-63\t0\t\tN/A\n", ""}},
     "FILE: NV18 of gpu0 to gpu1 can be straight cables or an NVSwitch: add option nvswitch=yes or nvswitch=no",
     {{"gpu", "H200"}}},
    {{},
     "FILE: gpu0 shows 54 NVLinks to others, but has at most 18: add option nvswitch=yes if an NVSwitch joins them",
     {{"gpu", "H200"}, {"nvswitch", "no"}}},
    {{},
     "FILE: does not say which GPUs these are: add option gpu=MODEL, e.g. gpu=H100, or a file with the output of "
     "nvidia-smi -L"},
    {{},
     "FILE: gpu0 is 'H900', a model not known here: add option sm=NN, its compute capability x 10",
     {{"gpu", "H900"}}},
    {{}, "FILE: gpu0 has NVLinks of unknown generation: add option nvlink=N", {{"gpu", "H900"}, {"sm", "130"}}},
    {{},
     "option nvlink: no NVLink of generation 9 is known: 1 to 5",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "9"}}},
    {{},
     "FILE: PCIe generation and width are not known: add option pcie=4x16, or whatever they are",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "5"}}},
    {{},
     "option pcie: '7x16' is not GENERATIONxLANES, e.g. 4x16",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "5"}, {"pcie", "7x16"}}},
    {{}, "option sm: 'H200' has 90", {{"gpu", "H200"}, {"sm", "80"}}},
    {{}, "option nvlink: 'H200' has NVLink 4", {{"gpu", "H200"}, {"nvlink", "3"}}},
    {{}, "FILE: gpu0 has NVLinks, but 'L40S' has none", {{"gpu", "L40S"}}},
    {{}, "option gpu: the files name the GPUs: 'NVIDIA H200'", {{"gpu", "H100"}}, {"nvlink-h200.txt"}},
    {{}, "topo-h200.txt: no GPU: not the output of nvidia-smi -L or nvidia-smi nvlink -s", {}, {"topo-h200.txt"}}};

const std::vector<Wrong> kHwloc = {
    {{{"version=\"2.0\"", "version=\"4.0\""}}, "FILE line 4:/topology/@version: '4.0' is not 1, 2.x or 3.x"},
    {{{"topology", "system"}}, "FILE line 4:/system: not XML of hwloc: its root is topology"},
    {{{"subtype=\"CUDA\"", ""}, {"subtype=\"NVML\"", ""}, {"[10de:", "[1af4:"}},
     "FILE line 4:/topology: no GPU: neither an OSDev of subtype CUDA or NVML, nor a PCI device that is one"},
    {{{"name=\"cuda1\"", "name=\"cuda7\""}},
     "FILE line 47:/topology/object/object[2]/object[2]/object[1]/object/object[1]/object: number 2 where 1 is "
     "expected: GPUs count from 0 without gaps, each once",
     {{"numbers", "cuda"}}},
    {{{"name=\"cuda1\"", "name=\"gpu1\""}},
     "FILE line 24:/topology/object/object[1]/object[2]/object[1]/object/object[2]/object/object[1]/@name: 'gpu1' is "
     "not cuda<number> or nvml<number>"},
    {{{"name=\"nvml1\" subtype=\"NVML\"", "name=\"cuda9\" subtype=\"CUDA\""}},
     "FILE line 25:/topology/object/object[1]/object[2]/object[1]/object/object[2]/object/object[2]/@name: a second "
     "CUDA device on one PCI device"},
    {{{"subtype=\"NVML\"", ""}},
     "FILE line 4:/topology: some GPUs have no OSDev of subtype NVML",
     {{"numbers", "nvml"}}},
    {{{"name=\"cuda0\"", "name=\"cuda4\""}, {"name=\"cuda1\"", "name=\"cuda0\""}, {"name=\"cuda4\"", "name=\"cuda1\""}},
     "FILE line 4:/topology: CUDA and NVML number the GPUs differently: option numbers=cuda or nvml says whose to "
     "take"},
    {{{"name=\"cuda0\"", "name=\"cuda4\""}, {"name=\"cuda1\"", "name=\"cuda0\""}, {"name=\"cuda4\"", "name=\"cuda1\""}},
     "option numbers: nvidia-smi numbers GPUs as NVML does, so with its output only numbers=nvml can be",
     {{"numbers", "cuda"}},
     {"topo-abci-v100.txt"}},
    {{{"bridge_type=\"1-1\"", "bridge_type=\"2-1\""}},
     "FILE line 12:/topology/object/object[1]/object[2]/object[1]/@bridge_type: '2-1' is not known: 0-1 from host to "
     "PCI, 1-1 from PCI to PCI"},
    {{{"15.753846", "12.5"}},
     "FILE line 15:/topology/object/object[1]/object[2]/object[1]/object/object[1]/object/@pci_link_speed: is no rate "
     "of PCI Express 1 to 3"},
    {{{"15.753846", "fast"}},
     "FILE line 12:/topology/object/object[1]/object[2]/object[1]/@pci_link_speed: 'fast' is no rate in GB/s"},
    {{{"15.753846", "0.0"}},
     "FILE line 29:/topology/object/object[1]/object[2]/object[1]/object/object[3]/object/@pci_link_speed: is not "
     "known: add option pcie=4x16, or whatever it is"},
    {{{"os_index=\"1\" gp_index=\"4\"", "os_index=\"0\" gp_index=\"4\""}},
     "FILE line 39:/topology/object/object[2]/@os_index: two Packages or NUMA nodes have the same number"},
    {{{"Tesla V100-SXM2-16GB", "Tesla X1000"}},
     "FILE: gpu0 is 'Tesla X1000', a model not known here: add option sm=NN, its compute capability x 10"},
    {{}, "topo-abci-v100.txt: a second output of nvidia-smi topo -m", {}, {"topo-h200.txt", "topo-abci-v100.txt"}},
    {{}, "topo-v100-dgx1.txt: has 8 GPUs, FILE has 4", {}, {"topo-v100-dgx1.txt"}},
    {{{"Tesla V100-SXM2-16GB", "NVIDIA H200"}},
     "nvlink-h200.txt: says how many NVLinks there are, not where they lead: add a file with the output of nvidia-smi "
     "topo -m",
     {},
     {"nvlink-h200.txt"}}};

}  // namespace

TEST_CASE("a topology needs a name, known options and the right number of files", "[unit][import][bad_input]") {
  const auto error_of = [](const Options& options, const std::string& machine, std::size_t files) {
    try {
      import_json("nccl-xml", std::vector<std::string>(files, "nccl-c2c.xml"), options, machine);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  CHECK(error_of({}, "", 1) == "machine: is needed, it names the topology");
  for (const std::string name : {"My-Box", "box-", "-box", "a--b", "a_b", "a/b"})
    CHECK(error_of({}, name, 1) ==
          "machine: '" + name + "' is no name for a topology: words of a-z and 0-9 with hyphens between them");
  CHECK(error_of({{"speed", "9"}}, "box", 1) ==
        "option speed: unknown option; known to this format: gpu, nvlink, nvswitch, partial, pcie, pcie_peer");
  CHECK(error_of({}, "box", 2) == "file: 2 files are given, this format reads one");
  CHECK(error_of({{"partial", "maybe"}}, "box", 1) == "option partial: 'maybe' is not allowed: one of no, yes");
  CHECK(error_of({{"pcie_peer", "some"}}, "box", 1) ==
        "option pcie_peer: 'some' is not allowed: one of all, none, same_socket");
  CHECK(error_of({{"nvlink", "two"}}, "box", 1) == "option nvlink: 'two' is no whole number above 0");
  CHECK(error_of({{"nvlink", ""}}, "box", 1) == "option nvlink: has no value");
  CHECK(error_of({{"nvlink", "2"}}, "box", 1) == "option nvlink: GPUs of sm 90 have NVLink 4");
  const Run twice = run_program("import nccl-xml x --machine x --option a=b --option a=c");
  CHECK(twice.err == "error: --option a: is given twice\n");
  CHECK(run_program("import nccl-xml x --option =c").err ==
        "error: --option: '=c' is not key=value, see 'linkcast help import'\n");
  CHECK(run_program("import nccl-xml absent.xml --machine x").err ==
        "error: absent.xml: no such file, or not readable\n");
}

TEST_CASE("what is not UTF-8 is refused", "[unit][import][bad_input]") {
  // source: RFC 3629: a lone continuation, overlong, cut short, a surrogate, above U+10FFFF
  for (const std::string bytes : {"\x80", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\xaf"}) {
    const Changed file("nccl-c2c.xml", {{"aarch64", bytes}});
    CHECK(refusal("nccl-xml", file.path(), {{}, "", {}, {}}) == "FILE line 4: not UTF-8");
    CHECK(refusal("topo-m", "topo-h200.txt", {{}, "", {{"gpu", bytes}}, {}}) == "option gpu: is not UTF-8");
  }
  const Changed good("nccl-v100-dgx1.xml", {{"mlx5_0", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"}});
  const Topology t = import_file("nccl-xml", {good.path()});
  CHECK(t.devices[*t.find("nic0")].model == "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80, 100000 Mb/s");
}

TEST_CASE("wrong XML of NCCL is refused", "[unit][import][bad_input]") {
  check_rows("nccl-xml", "nccl-power.xml", kNccl);
}

TEST_CASE("XML nested without end is refused", "[unit][import][bad_input]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "deep.xml").string();
  for (const auto& [format, root] :
       {std::pair<std::string, std::string>("nccl-xml", "system"), {"hwloc-xml", "topology"}}) {
    std::string text = "<" + root + " version=\"1\">", end = "</" + root + ">";
    for (int i = 0; i < 200; ++i) {
      text += "<pci>";
      end = "</pci>" + end;
    }
    std::ofstream(path) << text + end;
    const Run run = run_program("import " + format + " '" + path + "' --machine x");
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(": nested deeper than 100 elements") != std::string::npos);
    CHECK(lines_of(run.err) == 1);
  }
}

TEST_CASE("tables that topo -m does not print, or that no machine has, are refused", "[unit][import][bad_input]") {
  check_rows("topo-m", "topo-v100-dgx1.txt", kDgx1);
  check_rows("topo-m", "topo-pcie.txt", kPcie);
}

TEST_CASE("GPUs that are not known, or known twice, are refused", "[unit][import][bad_input]") {
  check_rows("topo-m", "topo-h200.txt", kH200);
  const Changed slow("nvlink-h200.txt", {{"26.562", "19.531"}}), gap("nvlink-h200.txt", {{"GPU 2:", "GPU 3:"}}),
      other("nvlink-h200.txt", {{"NVIDIA H200", "NVIDIA A100"}}), names("nvlink-h200.txt", {{"NVIDIA H200", "H200"}}),
      inactive("nvlink-h200.txt", {{"26.562 GB/s", "<inactive>"}});
  check_rows(
      "topo-m", "topo-h200.txt",
      {{{}, slow.path() + ": gpu0: 19.531 GB/s is no rate of NVLink 4, 25 GB/s", {}, {slow.path()}},
       {{}, other.path() + ": gpu0: 26.562 GB/s is no rate of NVLink 3, 25 GB/s", {}, {other.path()}},
       {{}, gap.path() + " line 39: GPU 2 is expected here, not 3", {}, {gap.path()}},
       {{}, names.path() + ": gpu0 is 'H200', elsewhere 'NVIDIA H200'", {}, {"nvlink-h200.txt", names.path()}},
       {{}, "FILE: gpu0 shows 54 NVLinks to others, but has at most 0, and no NVSwitch fits", {}, {inactive.path()}}});
}

TEST_CASE("wrong XML of hwloc is refused", "[unit][import][bad_input]") {
  check_rows("hwloc-xml", "hwloc-abci-v100.xml", kHwloc);
}

TEST_CASE("a discovery without GPUs is no topology", "[unit][import][bad_input]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "d.json").string();
  std::string text = text_of_file(input("../pass_discovery.json"));
  text.replace(text.find("\"points\""), std::string::npos,
               "\"points\": [{\"status\": \"waived\", \"reason\": \"no GPU\"}]}");
  std::ofstream(path) << text;
  CHECK(run_program("check '" + path + "'").code == 0);
  CHECK(run_program("import discovery '" + path + "' --machine x").err ==
        "error: " + path + ":/points: no gpu: everything was waived\n");
}

}  // namespace linkcast::test::import_refusal_test
