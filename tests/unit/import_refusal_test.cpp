// What importers of topologies refuse: one line that names file, line and place. Each row changes a good input.
#include <fstream>

#include "tests/unit/import_topology.hpp"

using namespace linkcast;
using namespace linkcast::test;

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

const std::vector<Wrong> kDgx1 = {
    {{{"CPU Affinity", "CPUs"}},
     "FILE: not the output of nvidia-smi topo -m: the first line names GPU0 ... CPU Affinity",
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
    {{{"\nLegend:", "Fabric: ok\nLegend:"}},
     "FILE line 14: neither a row of the table nor the legend: 'Fabric: ok'",
     {{"gpu", "V100-SXM2"}}},
    {{{"0-19,40-59\t0\t\tN/A", "0-19,40-59\tN/A"}},
     "FILE line 2: 'GPU0' has 2 affinities, the first line names 3",
     {{"gpu", "V100-SXM2"}}},
    {{{"20-39,60-79\t1", "20-39,60-79\t0"}},
     "FILE line 6: GPU4 to GPU1 is SYS, but NUMA affinities and other entries put both into one node",
     {{"gpu", "V100-SXM2"}}},
    {{{"\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\t0\t\tN/A\nGPU2", "\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\t3\t\tN/A\nGPU2"}},
     "FILE line 3: GPU1 has NUMA affinity 3, but its entries put it into node 0",
     {{"gpu", "V100-SXM2"}}},
    {{{"GPU0\t X \tNV1", "GPU0\t X \tSYS"}, {"GPU1\tNV1", "GPU1\tSYS"}},
     "FILE line 3: GPU1 to GPU0 is SYS, but other entries put both within PIX",
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
     "--option nvswitch: the pairs of gpu0 to gpu7 differ in FILE: no NVSwitch joins them",
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
     "FILE: NV18 of gpu0 to gpu1 can be straight cables or an NVSwitch: add --option nvswitch=yes or nvswitch=no",
     {{"gpu", "H200"}}},
    {{},
     "FILE: gpu0 shows 54 NVLinks to others, but has at most 18: add --option nvswitch=yes if an NVSwitch joins them",
     {{"gpu", "H200"}, {"nvswitch", "no"}}},
    {{},
     "FILE: does not say which GPUs these are: add --option gpu=MODEL, e.g. gpu=H100, or a file with the output of "
     "nvidia-smi -L"},
    {{},
     "FILE: gpu0 is 'H900', a model not known here: add --option sm=NN, its compute capability x 10",
     {{"gpu", "H900"}}},
    {{}, "FILE: gpu0 has NVLinks of unknown generation: add --option nvlink=N", {{"gpu", "H900"}, {"sm", "130"}}},
    {{},
     "--option nvlink: no NVLink of generation 9 is known: 1 to 5",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "9"}}},
    {{},
     "FILE: PCIe generation and width are not known: add --option pcie=4x16, or whatever they are",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "5"}}},
    {{},
     "--option pcie: '7x16' is not GENERATIONxLANES, e.g. 4x16",
     {{"gpu", "H900"}, {"sm", "130"}, {"nvlink", "5"}, {"pcie", "7x16"}}},
    {{}, "--option sm: 'H200' has 90", {{"gpu", "H200"}, {"sm", "80"}}},
    {{}, "--option nvlink: 'H200' has NVLink 4", {{"gpu", "H200"}, {"nvlink", "3"}}},
    {{}, "FILE: gpu0 has NVLinks, but 'L40S' has none", {{"gpu", "L40S"}}},
    {{}, "--option gpu: the files name the GPUs: 'NVIDIA H200'", {{"gpu", "H200"}}, {"nvlink-h200.txt"}},
    {{},
     "topo-h200.txt line 1: no line of nvidia-smi -L or nvidia-smi nvlink -s: '\tGPU0\tGPU1\tGPU2\tGPU3\tCPU "
     "Affinity\tNUMA Affinity\tGPU NUMA ID'",
     {},
     {"topo-h200.txt"}}};

}  // namespace

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
