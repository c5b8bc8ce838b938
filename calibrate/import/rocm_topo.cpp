// `rocm-smi --showtopo` -> topology/1: which GPUs XGMI joins, and their NUMA nodes.
// Limits: it names no model, no number of links and no PCIe switch: option gpu says the first, of the others the
// model's known number is taken and PCIe straight to the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/nccl_xml.hpp"
#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

namespace linkcast::topology_import {
namespace {

const std::string kRocm = "rocm-smi --showtopo";
constexpr std::size_t kMostRocmGpus = 256;  // far more than a machine has. source: ours
using Cells = std::vector<std::vector<std::string>>;

/// The tables of one output, anywhere in a file.
struct RocmTopo {
  Cells hops, types;
  std::vector<int> numa;
};

class RocmReader {
 public:
  explicit RocmReader(const std::string& path) : path_(path), lines_(plain_lines(read_text(path))) {}

  RocmTopo read() {
    static const Regex numa(R"(\s*GPU\[(\d+)\]\s*: \(Topology\) Numa Node: (-?\d+)\s*)");
    RocmTopo topo;
    for (; at_ < lines_.size(); ++at_) {
      const std::string line = plain_log_line(lines_[at_]);
      if (line.find("Hops between two GPUs") != std::string::npos) topo.hops = table();
      if (line.find("Link Type between two GPUs") != std::string::npos) topo.types = table();
      if (at_ >= lines_.size()) break;
      const Match match = numa.whole(plain_log_line(lines_[at_]));
      if (!match) continue;
      if (whole_number(match[1]) != static_cast<int>(topo.numa.size()))
        fail(fmt::format("GPU {} stands where {} is due", match[1], topo.numa.size()));
      topo.numa.push_back(whole_number(match[2]).value_or(0));  // -1: one node
    }
    if (topo.types.empty()) throw InputError(path_ + ": no table 'Link Type between two GPUs' of " + kRocm);
    for (const std::size_t size : {topo.hops.size(), topo.numa.size()})
      if (size > 0 && size != topo.types.size())
        throw InputError(fmt::format("{}: its tables are of {} and of {} GPUs", path_, size, topo.types.size()));
    return topo;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(path_, static_cast<int>(at_) + 1, what); }

  /// Below a title: a head of GPU0 GPU1 ..., then a row a GPU. Leaves the last row current.
  Cells table() {
    for (++at_; at_ < lines_.size() && words_of(plain_log_line(lines_[at_])).empty();) ++at_;
    if (at_ >= lines_.size()) throw InputError(path_ + ": ends where a table is due");
    const std::size_t count = words_of(plain_log_line(lines_[at_])).size();
    if (count > kMostRocmGpus) fail(fmt::format("more than {} GPUs", kMostRocmGpus));
    Cells cells;
    while (cells.size() < count) {
      if (++at_ >= lines_.size()) throw InputError(path_ + ": ends inside a table");
      auto words = words_of(plain_log_line(lines_[at_]));
      if (words.size() != count + 1 || words.front() != fmt::format("GPU{}", cells.size()))
        fail(fmt::format("the row of GPU{} with {} entries is due", cells.size(), count));
      words.erase(words.begin());
      cells.push_back(std::move(words));
    }
    return cells;
  }

  std::string path_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

class RocmTopoImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return described_options(kKeys); }
  [[nodiscard]] Json run(const ImportRequest& given) const override {
    const TopologyRequest request(given, kKeys, 1);
    const std::string& file = given.files.front();
    const RocmTopo topo = RocmReader(file).read();
    const std::size_t count = topo.types.size();
    const auto gpus = resolve_gpus(request, {file, std::vector<std::string>(count), false}, {});
    TopologyWriter writer;
    add_gpus(writer, gpus);
    std::vector<CpuPart> cpus;
    std::set<int> nodes(topo.numa.begin(), topo.numa.end());
    if (nodes.empty()) nodes.insert(0);
    for (const int node : nodes)
      cpus.push_back(
          {fmt::format("cpu{}", node), "", request.choice("cpu", {"intel", "amd", "ibm", "arm"}).value_or(""), "", {}});
    add_cpus(writer, cpus);
    add_xgmi(writer, topo, gpus, file);
    for (std::size_t i = 0; i < count; ++i) {
      if (!gpus[i].pcie) throw InputError(file + ": PCIe generation and width are not known: add option pcie=5x16");
      writer.cable(fmt::format("gpu{}", i), fmt::format("cpu{}", topo.numa.empty() ? 0 : topo.numa[i]),
                   gpus[i].pcie->kind(), 1, gpus[i].pcie->rate(),
                   "assumed: straight to the CPU of its NUMA node; " + gpus[i].pcie_source);
    }
    join_cpus(writer, cpus);
    return writer.json(request.name(), title_of(gpus), kRocm + "; " + request.pcie_peer_source(), request.pcie_peer());
  }

 private:
  static void add_xgmi(TopologyWriter& writer, const RocmTopo& topo, const std::vector<GpuFacts>& gpus,
                       const std::string& file) {
    const auto joined = [&](std::size_t a, std::size_t b) {  // two hops are no link
      return a != b && topo.types[a][b] == "XGMI" && (topo.hops.empty() || topo.hops[a][b] == "1");
    };
    for (std::size_t a = 0; a < gpus.size(); ++a) {
      int peers = 0;
      for (std::size_t b = 0; b < gpus.size(); ++b) {
        if (topo.types[a][b] != topo.types[b][a])
          throw InputError(
              fmt::format("{}: GPU{} to GPU{} is {}, back it is {}", file, a, b, topo.types[a][b], topo.types[b][a]));
        if (joined(a, b)) ++peers;
      }
      const GpuLinkType type = infinity_fabric_of(gpus[a].sm);
      const int share = peers > 0 && type.links % peers == 0 ? std::max(1, type.links / peers) : 1;
      for (std::size_t b = a + 1; b < gpus.size(); ++b)
        if (joined(a, b))
          writer.cable(
              fmt::format("gpu{}", a), fmt::format("gpu{}", b), type.kind, share, type.rate,
              fmt::format("{}: XGMI; assumed: {} links a pair, nominal rate from the data sheet, one direction", kRocm,
                          share));
    }
  }
  const std::set<std::string> kKeys = {"gpu", "sm", "pcie", "nvlink", "cpu", "pcie_peer"};
};

const bool rocm_topo_registered =
    importers().add({"rocm-topo", "rocm-smi --showtopo -> topology/1", "AMD, rocm_smi_lib: rocm-smi --showtopo"},
                    [] { return std::make_unique<RocmTopoImporter>(); });

}  // namespace
}  // namespace linkcast::topology_import
