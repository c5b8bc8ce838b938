// `rocm-smi --showtopo` of ROCm 3 to 7 and `amd-smi topology` -> topology/1: which GPUs XGMI joins, and their NUMA
// nodes. What these print of models, bus ids and bandwidths (rocm-smi --showproductname, --showbus, --shownodesbw,
// amd-smi static) is read too, in the same file or in further ones. Their JSON and CSV become that text first.
// Limits: PCIe switches and adapters are in none of them: PCIe leads straight to the CPU, assumed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/log_text.hpp"
#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/peer_access.hpp"
#include "calibrate/import/rocm_csv.hpp"
#include "calibrate/import/rocm_json.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

namespace linkcast::topology_import {
namespace {

constexpr std::size_t kMostRocmGpus = 256;  // far more than a machine has. source: ours
using Cells = std::vector<std::vector<std::string>>;

/// Facts that the files print of the GPUs, in number order.
struct RocmTopo {
  std::string command;
  Cells weights, hops, types, bandwidths, access;  ///< one of each pair; empty: not printed
  std::map<int, int> numa;                         ///< by GPU number
  std::map<int, std::string> models, bus_ids;
  [[nodiscard]] std::size_t gpus() const { return types.size(); }
};

/// Letters and digits of a title without what surrounds it: "=== Hops between two GPUs ===" is HOPS BETWEEN TWO GPUS.
std::string title_words(const std::string& line) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto first = std::find_if(line.begin(), line.end(), inside);
  const auto last = std::find_if(line.rbegin(), line.rend(), inside).base();
  std::string title = first < last ? std::string(first, last) : "";
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

/// The lines of rocm-smi and amd-smi that say something of one GPU.
struct GpuLines {
  Regex numa{R"((?i)\s*(?:GPU|card)\s*\[?\s*(\d+)\s*\]?\s*:\s*(?:\(Topology\)\s*)?Numa Node:\s*(-?\d+)\s*)"};
  Regex looks_numa{R"((?i)\s*(?:GPU|card).*\bNuma Node\b.*)"};
  Regex series{R"((?i)\s*GPU\s*\[?(\d+)\]?\s*:\s*(?:Card Series|Device Name):\s*(\S.*?)\s*)"};
  Regex device{R"((?i)\s*GPU\s*\[?(\d+)\]?\s*:\s*Card Model:\s*(0x[0-9a-f]{4})\s*)"};
  Regex bus{R"((?i)\s*GPU\s*\[?(\d+)\]?\s*:\s*PCI Bus:\s*([0-9a-f:.]+)\s*)"};
  Regex block{R"(GPU: (\d+)\s*)"};  // of amd-smi static and list; what follows speaks of it
  Regex block_node{R"(\s+NODE: (-?\d+)\s*)"};
  Regex block_name{R"(\s+MARKET_NAME: (\S.*?)\s*)"};
  Regex block_bus{R"(\s+BDF: ([0-9a-fA-F:.]+)\s*)"};
};

class RocmReader {
 public:
  explicit RocmReader(RocmTopo& topo) : topo_(topo) {}

  void read(const std::string& path) {
    path_ = path;
    const std::string text = read_text(path);
    std::string printed = rocm_text_of_json(path, text);
    if (printed.empty()) printed = rocm_text_of_csv(path, plain_log_lines(path, text));
    lines_ = plain_log_lines(path, printed.empty() ? text : printed);
    block_ = -1;
    for (at_ = 0; at_ < lines_.size(); ++at_)
      if (!read_table()) read_gpu_line();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(path_, static_cast<int>(at_) + 1, what); }
  bool read_table();
  [[nodiscard]] bool is_head(const std::vector<std::string>& names) const;
  void read_gpu_line();
  void set_numa(const std::string& gpu, const std::string& node);
  void set_bus(int gpu, const std::string& text);

  RocmTopo& topo_;
  std::string path_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  int block_ = -1;  ///< GPU that a block of amd-smi speaks of
  const GpuLines patterns_;
};

/// GPU0 GPU1 ..., or the bus ids of amd-smi.
bool RocmReader::is_head(const std::vector<std::string>& names) const {
  static const Regex name(R"(GPU\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])");
  return !names.empty() &&
         std::all_of(names.begin(), names.end(), [](const auto& one) { return bool{name.whole(one)}; });
}

/// A title that a table follows; a sentence that names one is none. Leaves the last row current.
bool RocmReader::read_table() {
  static const std::map<std::string, std::pair<Cells RocmTopo::*, const char*>> kTables = {
      {"WEIGHT BETWEEN TWO GPUS", {&RocmTopo::weights, "rocm-smi --showtopo"}},
      {"HOPS BETWEEN TWO GPUS", {&RocmTopo::hops, "rocm-smi --showtopo"}},
      {"LINK TYPE BETWEEN TWO GPUS", {&RocmTopo::types, "rocm-smi --showtopo"}},
      {"LINK ACCESSIBILITY BETWEEN TWO GPUS", {&RocmTopo::access, "rocm-smi --showtopo"}},
      {"BANDWIDTH", {&RocmTopo::bandwidths, "rocm-smi --showtopo"}},
      {"WEIGHT TABLE", {&RocmTopo::weights, "amd-smi topology"}},
      {"HOPS TABLE", {&RocmTopo::hops, "amd-smi topology"}},
      {"LINK TYPE TABLE", {&RocmTopo::types, "amd-smi topology"}},
      {"ACCESS TABLE", {&RocmTopo::access, "amd-smi topology"}},
      {"NUMA BW TABLE", {&RocmTopo::bandwidths, "amd-smi topology"}}};
  const auto known = kTables.find(title_words(lines_[at_]));
  if (known == kTables.end()) return false;
  std::size_t head = at_ + 1;
  while (head < lines_.size() && words_of(lines_[head]).empty()) ++head;
  const auto names = head < lines_.size() ? words_of(lines_[head]) : std::vector<std::string>{};
  if (!is_head(names)) return false;
  at_ = head;
  if (names.size() > kMostRocmGpus) fail(fmt::format("more than {} GPUs", kMostRocmGpus));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int gpu = static_cast<int>(i);
    if (names[i].starts_with("GPU") && names[i] != fmt::format("GPU{}", i))
      fail(fmt::format("'{}' stands where GPU{} is due: GPUs count from 0 without gaps", names[i], i));
    if (names[i].starts_with("GPU")) continue;
    set_bus(gpu, names[i]);
  }
  Cells cells;
  while (cells.size() < names.size()) {
    if (++at_ >= lines_.size()) throw InputError(path_ + ": ends inside a table");
    auto words = words_of(lines_[at_]);
    if (words.empty()) continue;
    if (words.size() != names.size() + 1 || words.front() != names[cells.size()])
      fail(fmt::format("the row of {} with {} entries is due", names[cells.size()], names.size()));
    words.erase(words.begin());
    cells.push_back(std::move(words));
  }
  Cells& table = topo_.*(known->second.first);
  if (!table.empty() && table != cells) fail("a second table of the same title, and it differs: give one machine's");
  table = std::move(cells);
  topo_.command = known->second.second;
  return true;
}

void RocmReader::set_bus(int gpu, const std::string& text) {
  const std::string bus = pci_bus_id(text);
  if (bus.empty()) return;  // N/A
  const auto [at, is_new] = topo_.bus_ids.emplace(gpu, bus);
  if (!is_new && at->second != bus) fail(fmt::format("GPU {} is at {} here and at {} above", gpu, bus, at->second));
}

void RocmReader::set_numa(const std::string& gpu, const std::string& node) {
  const auto number = whole_number(gpu);
  if (!number || *number >= static_cast<int>(kMostRocmGpus)) fail("GPU " + gpu + " is more than a machine has");
  const int numa = node.front() == '-' ? -1 : whole_number(node).value_or(-1);
  const auto [at, is_new] = topo_.numa.emplace(*number, numa);
  if (!is_new && at->second != numa)
    fail(fmt::format("GPU {} is on NUMA node {} here and on {} above", gpu, numa, at->second));
}

void RocmReader::read_gpu_line() {
  const std::string& line = lines_[at_];
  Match match;
  if ((match = patterns_.numa.whole(line))) return set_numa(match[1], match[2]);
  if (line.find("(Topology)") != std::string::npos && patterns_.looks_numa.whole(line))
    fail("not understood: 'GPU[0] : (Topology) Numa Node: 0' is how rocm-smi says a NUMA node");
  const auto number = [&](const std::string& text) { return whole_number(text).value_or(-1); };
  if ((match = patterns_.series.whole(line)) && match[2] != "N/A")
    topo_.models[number(match[1])] = match[2];
  else if ((match = patterns_.device.whole(line)) && !find_gpu_model(topo_.models[number(match[1])]) &&
           !amd_model_of_pci(match[2]).empty())
    topo_.models[number(match[1])] = amd_model_of_pci(match[2]);
  else if ((match = patterns_.bus.whole(line)))
    set_bus(number(match[1]), match[2]);
  else if ((match = patterns_.block.whole(line)))
    block_ = number(match[1]);
  else if (block_ >= 0 && (match = patterns_.block_node.whole(line)))
    set_numa(std::to_string(block_), match[1]);
  else if (block_ >= 0 && (match = patterns_.block_name.whole(line)))
    topo_.models[block_] = match[1];
  else if (block_ >= 0 && (match = patterns_.block_bus.whole(line)))
    set_bus(block_, match[1]);
}

/// @throws InputError  no table of link types; parts that speak of different numbers of GPUs
RocmTopo read_rocm(const std::vector<std::string>& files) {
  RocmTopo topo;
  RocmReader reader(topo);
  for (const std::string& file : files) reader.read(file);
  if (topo.types.empty())
    throw InputError(files.front() +
                     ": no table 'Link Type between two GPUs' of rocm-smi --showtopo, nor 'LINK TYPE TABLE' of amd-smi "
                     "topology");
  for (const Cells* table : {&topo.weights, &topo.hops, &topo.bandwidths, &topo.access})
    if (!table->empty() && table->size() != topo.gpus())
      throw InputError(
          fmt::format("{}: its tables are of {} and of {} GPUs", files.front(), table->size(), topo.gpus()));
  const auto expect_all = [&](const auto& facts, const char* what) {
    if (facts.empty()) return;
    const int first = facts.begin()->first, last = std::prev(facts.end())->first;
    if (first != 0 || last + 1 != static_cast<int>(topo.gpus()) || facts.size() != topo.gpus())
      throw InputError(fmt::format("{}: {} of {} GPUs (GPU {} to {}), and its tables are of {}", files.front(), what,
                                   facts.size(), first, last, topo.gpus()));
  };
  expect_all(topo.numa, "NUMA nodes");
  expect_all(topo.models, "names");
  expect_all(topo.bus_ids, "bus ids");
  return topo;
}

/// "50000-200000" MB/s: one link, and all of a pair together. Nothing where it is N/A; zeros where no link is.
std::optional<std::pair<int, int>> bandwidth_in(const std::string& cell, const std::string& file) {
  static const Regex range(R"((\d{1,8})-(\d{1,8}))");
  const Match match = range.whole(cell);
  if (!match && cell != "N/A") throw InputError(file + ": '" + cell + "' is no bandwidth, e.g. 50000-50000, or N/A");
  if (!match) return std::nullopt;
  return std::pair(*whole_number(match[1]), *whole_number(match[2]));
}

class RocmTopology {
 public:
  static std::set<std::string> keys() { return {"gpu", "sm", "pcie", "cpu", "pcie_peer"}; }
  explicit RocmTopology(const ImportRequest& given)
      : request_(given, keys(), 4), file_(given.files.front()), topo_(read_rocm(given.files)) {
    GpuQuestion question{file_, std::vector<std::string>(topo_.gpus()), {}, true};
    for (const auto& [gpu, model] : topo_.models) question.models[static_cast<std::size_t>(gpu)] = model;
    gpus_ = resolve_gpus(request_, std::move(question), {});
    for (const auto& [gpu, bus] : topo_.bus_ids) gpus_[static_cast<std::size_t>(gpu)].bus_id = bus;
    check_types();
  }
  Json run();

 private:
  void check_types() const;
  [[nodiscard]] int numa_of(std::size_t gpu) const {
    const auto at = topo_.numa.find(static_cast<int>(gpu));
    return at == topo_.numa.end() ? 0 : std::max(0, at->second);
  }
  [[nodiscard]] bool is_xgmi(std::size_t a, std::size_t b) const { return a != b && topo_.types[a][b] == "XGMI"; }
  [[nodiscard]] bool joined(std::size_t a, std::size_t b) const;
  void add_xgmi();
  [[nodiscard]] std::string notes() const;
  [[nodiscard]] std::optional<PeerAccess> peers() const;

  TopologyRequest request_;
  std::string file_;
  RocmTopo topo_;
  std::vector<GpuFacts> gpus_;
  TopologyWriter writer_;
  mutable bool far_ = false;  ///< some pair is farther than one hop by weight alone
};

void RocmTopology::check_types() const {
  static const std::set<std::string> kSelf = {"0", "SELF", "X", "N/A"},
                                     kOther = {"XGMI", "PCIE", "PCIe", "N/A", "UNKNOWN"};
  for (std::size_t a = 0; a < gpus_.size(); ++a)
    for (std::size_t b = 0; b < gpus_.size(); ++b) {
      const std::string &one = topo_.types[a][b], &back = topo_.types[b][a];
      if ((a == b ? kSelf : kOther).count(one) == 0)
        throw InputError(
            fmt::format("{}: link type of GPU{} to GPU{}: '{}' is neither XGMI nor PCIE", file_, a, b, one));
      if (one != back) throw InputError(fmt::format("{}: GPU{} to GPU{} is {}, back it is {}", file_, a, b, one, back));
    }
}

/// Two hops are no link. rocm-smi says one hop of all pairs in some versions, where the weight differs.
bool RocmTopology::joined(std::size_t a, std::size_t b) const {
  constexpr int kTwoHops = 30;  // source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.c: 15 for each hop of XGMI
  if (!is_xgmi(a, b) || (!topo_.hops.empty() && topo_.hops[a][b] != "1")) return false;
  if (!topo_.bandwidths.empty())
    if (const auto range = bandwidth_in(topo_.bandwidths[a][b], file_)) return range->second > 0;
  const bool far = !topo_.weights.empty() && whole_number(topo_.weights[a][b]).value_or(0) >= kTwoHops;
  far_ = far_ || far;
  return !far;
}

void RocmTopology::add_xgmi() {
  for (std::size_t a = 0; a < gpus_.size(); ++a)
    for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
      if (!joined(a, b)) continue;
      const GpuLinkType type = infinity_fabric_of(gpus_[a].sm, gpus_[a].model);
      const bool package = has_two_dies(gpus_[a].model) && a % 2 == 0 && b == a + 1;
      int count = package ? kLinksBetweenDies : type.a_pair;
      BytesPerSecond rate = type.rate;
      std::string source = fmt::format("assumed: {} links a pair{}, nominal rate from the data sheet, one direction",
                                       count, package ? ", the two dies of one package" : "");
      const auto range = topo_.bandwidths.empty() ? std::nullopt : bandwidth_in(topo_.bandwidths[a][b], file_);
      if (range && range->first > 0 && range->second % range->first == 0) {
        count = range->second / range->first;
        rate.si = range->first * 1e6;  // source: MB/s, as the legend of both tools says
        source = "rate of one link and number of links from the table of bandwidths";
      }
      writer_.cable(fmt::format("gpu{}", a), fmt::format("gpu{}", b), type.kind, count, rate,
                    topo_.command + ": XGMI; " + source);
    }
}

/// Access over PCIe alone: XGMI gives it in any case.
std::optional<PeerAccess> RocmTopology::peers() const {
  static const std::set<std::string> kYes = {"ENABLED", "True", "1"};
  std::vector<PeerPair> pairs;
  for (std::size_t a = 0; a < topo_.access.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!is_xgmi(a, b)) pairs.push_back({numa_of(a) == numa_of(b), kYes.count(topo_.access[a][b]) > 0});
  return peer_access_of(pairs, topo_.command);
}

std::string RocmTopology::notes() const {
  std::string text;
  if (topo_.numa.empty()) text += "; assumed: one CPU, " + topo_.command + " names no NUMA nodes";
  if (std::any_of(topo_.numa.begin(), topo_.numa.end(), [](const auto& one) { return one.second < 0; }))
    text += "; assumed: NUMA node -1 is the first";
  if (far_) text += "; assumed: XGMI pairs of weight 30 and more are two hops, and have no link of their own";
  return text;
}

Json RocmTopology::run() {
  add_gpus(writer_, gpus_);
  std::set<int> nodes;
  for (std::size_t i = 0; i < gpus_.size(); ++i) nodes.insert(numa_of(i));
  std::vector<CpuPart> cpus;
  for (const int node : nodes)
    cpus.push_back(
        {fmt::format("cpu{}", node), "", request_.choice("cpu", {"intel", "amd", "ibm", "arm"}).value_or(""), "", {}});
  add_cpus(writer_, cpus);
  add_xgmi();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!gpus_[i].pcie) throw InputError(file_ + ": PCIe generation and width are not known: add option pcie=5x16");
    const auto model = find_gpu_model(gpus_[i].model);
    const bool package = model && model->words == "MI300A";
    writer_.cable(fmt::format("gpu{}", i), fmt::format("cpu{}", numa_of(i)), gpus_[i].pcie->kind(), 1,
                  gpus_[i].pcie->rate(),
                  std::string(package ? "assumed: PCIe stands for the path inside the package of GPU and CPU; "
                                      : "assumed: straight to the CPU of its NUMA node; ") +
                      gpus_[i].pcie_source);
  }
  join_cpus(writer_, cpus);
  const auto found = peers();
  return writer_.json(request_.name(), title_of(gpus_),
                      topo_.command + notes() + "; " + request_.pcie_peer_source(found), request_.pcie_peer(found));
}

class RocmTopoImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return described_options(RocmTopology::keys()); }
  [[nodiscard]] Json run(const ImportRequest& given) const override { return RocmTopology(given).run(); }
};

const bool rocm_topo_registered = importers().add({"rocm-topo", "rocm-smi --showtopo or amd-smi topology -> topology/1",
                                                   "AMD, rocm_smi_lib: rocm-smi --showtopo; amdsmi: amd-smi topology"},
                                                  [] { return std::make_unique<RocmTopoImporter>(); });

}  // namespace
}  // namespace linkcast::topology_import
