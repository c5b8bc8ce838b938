// `nvidia-smi topo -m` -> topology/1: NVLinks, PCIe switches, NUMA nodes and adapters that reproduce its table.
// Limits: the table shows NVLink or PCIe for a pair, not both; what NVLink hides is assumed straight to the CPU, unless
// an adapter near both GPUs shows it. Host bridges of one NUMA node (PHB, NODE) are one CPU device. Bridges behind PXB
// are two levels of switches, however many there are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/nvlink_wiring.hpp"
#include "calibrate/import/topo_matrix.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::topology_import {
namespace {

// The PCIe tree that `nvidia-smi topo -m` implies. PIX, PXB, PHB, NODE and SYS say how far up two devices meet, so the
// devices that meet at or below one of these levels are a cluster of it. Pairs with NVLink hide their PCIe path; it
// follows where a third device is near both.

/// One row of the matrix in the tree. Clusters of a level are numbered by their first member.
struct PciePlace {
  int pix = 0;             ///< devices with the same number hang on one PCIe switch
  int pxb = 0;             ///< ... meet in PCIe switches
  int cpu = 0;             ///< NUMA node
  bool seen = false;       ///< some entry of this row shows a PCIe path
  std::string cpu_source;  ///< how the NUMA node is known
};

/// Union-find whose root is the smallest member.
class Clusters {
 public:
  explicit Clusters(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  [[nodiscard]] std::size_t root(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t one = root(a), other = root(b);
    parent_[std::max(one, other)] = std::min(one, other);
  }
  [[nodiscard]] bool together(std::size_t a, std::size_t b) const { return root(a) == root(b); }

 private:
  std::vector<std::size_t> parent_;
};

bool is_pcie_path(PathClass path) { return path >= PathClass::kPix; }

class PlaceFinder {
 public:
  explicit PlaceFinder(const TopoMatrix& matrix) : matrix_(matrix), size_(matrix.rows.size()), nodes_(size_) {}
  std::vector<PciePlace> find();

 private:
  [[nodiscard]] PathClass path(std::size_t a, std::size_t b) const { return matrix_.rows[a].cells[b].path; }
  [[nodiscard]] Clusters up_to(PathClass level) const;
  void join_by_affinity();
  void join_the_rest();
  [[nodiscard]] bool may_share_node(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::vector<std::size_t> node_of(std::size_t member) const;
  [[nodiscard]] std::optional<int> numa_of(std::size_t cluster) const;
  void number_nodes(std::vector<PciePlace>& places) const;

  const TopoMatrix& matrix_;
  std::size_t size_;
  Clusters nodes_;                        // NUMA nodes
  std::vector<std::string> node_source_;  // a row
};

/// Clusters of a level; every entry must agree with them.
Clusters PlaceFinder::up_to(PathClass level) const {
  Clusters clusters(size_);
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (is_pcie_path(path(a, b)) && path(a, b) <= level) clusters.join(a, b);
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (is_pcie_path(path(a, b)) && path(a, b) > level && clusters.together(a, b))
        fail_at(matrix_.file, matrix_.rows[a].line,
                matrix_.rows[a].name + " to " + matrix_.rows[b].name + " is " + to_text(path(a, b)) +
                    (matrix_.sys_inside_node && path(a, b) == PathClass::kNode ? " (or SYS inside a node)" : "") +
                    ", but other entries put both within " + to_text(level));
  return clusters;
}

std::optional<int> PlaceFinder::numa_of(std::size_t cluster) const {
  for (std::size_t i = 0; i < size_; ++i)
    if (nodes_.root(i) == cluster && matrix_.rows[i].numa) return matrix_.rows[i].numa;
  return std::nullopt;
}

/// Devices with the same NUMA node, or the same cores where no node is named, share a node.
void PlaceFinder::join_by_affinity() {
  for (std::size_t a = 0; a < size_; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const MatrixRow &one = matrix_.rows[a], &other = matrix_.rows[b];
      const bool same_cores = !one.cpu_affinity.empty() && one.cpu_affinity == other.cpu_affinity;
      if (one.numa ? one.numa == other.numa : !other.numa && same_cores && may_share_node(a, b)) nodes_.join(a, b);
    }
  for (std::size_t a = 0; a < size_; ++a) {
    const MatrixRow& row = matrix_.rows[a];
    for (std::size_t b = 0; b < a; ++b)
      if (path(a, b) == PathClass::kSys && nodes_.together(a, b))
        fail_at(matrix_.file, row.line,
                row.name + " to " + matrix_.rows[b].name +
                    " is SYS, but NUMA affinities and other entries put both into one node");
    if (const auto numa = numa_of(nodes_.root(a)); row.numa && numa != row.numa)
      fail_at(matrix_.file, row.line,
              fmt::format("{} has NUMA affinity {}, but its entries put it into node {}", row.name, *row.numa, *numa));
  }
}

std::vector<std::size_t> PlaceFinder::node_of(std::size_t member) const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < size_; ++i)
    if (nodes_.together(i, member)) members.push_back(i);
  return members;
}

/// No entry between the nodes of a and b is SYS, and they are not different nodes by number or cores.
bool PlaceFinder::may_share_node(std::size_t a, std::size_t b) const {
  const auto of_b = node_of(b);
  for (const std::size_t i : node_of(a))
    for (const std::size_t j : of_b) {
      const MatrixRow &one = matrix_.rows[i], &other = matrix_.rows[j];
      const bool other_node = one.numa && other.numa && one.numa != other.numa;
      const bool other_cores =
          !one.cpu_affinity.empty() && !other.cpu_affinity.empty() && one.cpu_affinity != other.cpu_affinity;
      if (path(i, j) == PathClass::kSys || other_node || other_cores) return false;
    }
  return true;
}

/// A device without an entry goes to the first node that no entry forbids.
void PlaceFinder::join_the_rest() {
  for (std::size_t a = 0; a < size_; ++a) {
    if (nodes_.root(a) != a || numa_of(a)) continue;
    for (std::size_t b = 0; b < size_; ++b) {
      const bool is_node = nodes_.root(b) == b && b != a && (b < a || numa_of(b));
      if (!is_node || !may_share_node(a, b)) continue;
      for (const std::size_t i : node_of(a)) node_source_[i] = "; assumed: this NUMA node, the text does not say";
      nodes_.join(a, b);
      break;
    }
  }
}

/// Named nodes keep their number, the others get the smallest that are free.
void PlaceFinder::number_nodes(std::vector<PciePlace>& places) const {
  std::set<int> used;
  for (std::size_t i = 0; i < size_; ++i)
    if (const auto numa = numa_of(nodes_.root(i))) used.insert(*numa);
  for (std::size_t i = 0; i < size_; ++i) {
    if (nodes_.root(i) != i) {
      places[i].cpu = places[nodes_.root(i)].cpu;
    } else if (const auto numa = numa_of(i)) {
      places[i].cpu = *numa;
    } else {
      int free = 0;
      while (used.count(free)) ++free;
      used.insert(free);
      places[i].cpu = free;
    }
    const bool named = numa_of(nodes_.root(i)).has_value();
    places[i].cpu_source = node_source_[i];
    if (!named && node_source_[i].empty()) places[i].cpu_source = "; assumed: number of the NUMA node";
  }
}

std::vector<PciePlace> PlaceFinder::find() {
  const Clusters pix = up_to(PathClass::kPix), pxb = up_to(PathClass::kPxb);
  static_cast<void>(up_to(PathClass::kPhb));  // checked; host bridges of one NUMA node are one device
  nodes_ = up_to(PathClass::kNode);
  node_source_.resize(size_);
  join_by_affinity();
  join_the_rest();
  std::vector<PciePlace> places(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    places[i].pix = static_cast<int>(pix.root(i));
    places[i].pxb = static_cast<int>(pxb.root(i));
    for (std::size_t j = 0; j < size_; ++j) places[i].seen = places[i].seen || is_pcie_path(path(i, j));
  }
  number_nodes(places);
  return places;
}

/// @throws InputError  with line: entries that no tree fulfils, also together with the NUMA affinities
std::vector<PciePlace> pcie_places(const TopoMatrix& matrix) { return PlaceFinder(matrix).find(); }

const std::string kCommand = "nvidia-smi topo -m";
// NVLink between two Graces, one direction. source: assumed, as in topologies/alps.json
constexpr double kGraceToGrace_Bps = 100e9;

class TopoM {
 public:
  static std::set<std::string> keys() {
    std::set<std::string> all = {"nvswitch", "cpu", "pcie_peer"};
    all.insert(kGpuOptions.begin(), kGpuOptions.end());
    return all;
  }
  explicit TopoM(const ImportRequest& request)
      : request_(request, keys(), 4), matrix_(read_topo_matrix(request.files.front())) {
    for (SmiList& list : read_smi_lists(request.files.front(), false))  // pasted behind the table
      if (static_cast<int>(list.gpus.size()) == matrix_.gpus) lists_.push_back(std::move(list));
    for (std::size_t i = 1; i < request.files.size(); ++i) {
      const std::string& file = request.files[i];
      if (!is_peer_table(read_text(file))) {
        const auto lists = some_smi_lists(file);
        lists_.insert(lists_.end(), lists.begin(), lists.end());
        continue;
      }
      const auto more = read_peer_tables(file, matrix_.gpus);
      matrix_.peers.insert(matrix_.peers.end(), more.begin(), more.end());
    }
    links_ = nvlinks_of(matrix_);
    GpuQuestion question{matrix_.file, std::vector<std::string>(static_cast<std::size_t>(matrix_.gpus)), {}, false};
    for (const auto& row : links_)
      question.nvlinks.push_back(std::any_of(row.begin(), row.end(), [](int links) { return links > 0; }));
    gpus_ = resolve_gpus(request_, std::move(question), lists_);
    for (const GpuFacts& gpu : gpus_)
      if (!gpu.pcie)
        throw InputError(matrix_.file +
                         ": PCIe generation and width are not known: add option pcie=4x16, or whatever "
                         "they are");
    places_ = pcie_places(matrix_);
  }

  Json run() {
    add_gpus(writer_, gpus_);
    const auto cpus = cpu_parts();
    add_cpus(writer_, cpus);
    name_switches();
    for (std::size_t i = gpus_.size(); i < places_.size(); ++i) writer_.device(id_of(i), "nic", matrix_.rows[i].model);
    add_nvlinks(writer_, links_, gpus_, {matrix_.file, kCommand, request_.yes_or_no("nvswitch")});
    add_ports();
    add_uplinks();
    join_cpus(writer_, cpus);
    return writer_.json(request_.name(), title_of(gpus_),
                        kCommand + sources_of(lists_) + table_notes() + "; " + request_.pcie_peer_source(peers()),
                        request_.pcie_peer(peers()));
  }

 private:
  [[nodiscard]] std::string id_of(std::size_t row) const {
    return row < gpus_.size() ? fmt::format("gpu{}", row) : fmt::format("nic{}", row - gpus_.size());
  }
  [[nodiscard]] std::string cpu_of(std::size_t row) const { return fmt::format("cpu{}", places_[row].cpu); }
  [[nodiscard]] std::vector<CpuPart> cpu_parts() const;
  /// Access that tables of topo -p2p behind that of topo -m show.
  [[nodiscard]] std::optional<PeerAccess> peers() const;
  /// NVLinks of boards with CPUs of POWER lead to the CPU as far as none leads to a GPU; 0 for others.
  [[nodiscard]] int links_to_cpu(std::size_t gpu) const;
  [[nodiscard]] bool is_power() const;
  /// Figures that the table leaves open as a whole.
  [[nodiscard]] std::string table_notes() const;
  void name_switches();
  void add_ports();
  void add_uplinks();
  /// Rate of a GPU; adapters get the GPUs' fastest.
  [[nodiscard]] PcieLink pcie_of(std::size_t row) const;
  [[nodiscard]] std::string pcie_source_of(std::size_t row) const {
    return row < gpus_.size() ? gpus_[row].pcie_source
           : request_.pcie()  ? "as option pcie says"
                              : "assumed: PCIe as of the GPUs";
  }
  /// The fastest port below a switch.
  [[nodiscard]] PcieLink widest(int PciePlace::*level, int cluster) const;
  /// A row of this cluster.
  [[nodiscard]] std::size_t member(int cluster) const { return static_cast<std::size_t>(cluster); }

  TopologyRequest request_;
  TopoMatrix matrix_;
  std::vector<SmiList> lists_;
  LinkMatrix links_;
  std::vector<GpuFacts> gpus_;
  std::vector<PciePlace> places_;
  TopologyWriter writer_;
  std::map<int, std::string> lower_, upper_;  // cluster of PIX, of PXB -> switch
};

std::optional<PeerAccess> TopoM::peers() const {
  std::vector<PeerPair> pairs;
  for (const PeerTable& table : matrix_.peers)
    for (std::size_t a = 0; a < table.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (links_[a][b] == 0) pairs.push_back({places_[a].cpu == places_[b].cpu, table[a][b] && table[b][a]});
  return peer_access_of(pairs, "nvidia-smi topo -p2p");
}

bool TopoM::is_power() const {
  if (const auto said = request_.choice("cpu", {"intel", "amd", "ibm", "arm"})) return *said == "ibm";
  // source: Linux on POWER9 numbers the NUMA nodes of two sockets 0 and 8 (IBM AC922)
  std::set<int> nodes;
  for (const MatrixRow& row : matrix_.rows)
    if (row.numa) nodes.insert(*row.numa);
  return nodes == std::set<int>{0, 8} && links_to_cpu(0) > 0;
}

int TopoM::links_to_cpu(std::size_t gpu) const {
  const GpuFacts& facts = gpus_[gpu];
  // source: NVIDIA, Tesla P100 and V100 (SXM2) are the GPUs whose NVLinks POWER8 and POWER9 have
  if (!facts.nvlink || facts.nvlink->generation > 2 || (facts.sm != 60 && facts.sm != 70)) return 0;
  int shown = 0;
  for (const int count : links_[gpu]) shown += count;
  const int all = facts.active_links.value_or(facts.nvlink->links);
  return shown > 0 ? std::max(0, all - shown) : 0;
}

std::vector<CpuPart> TopoM::cpu_parts() const {
  const std::string vendor = is_power() ? "ibm" : request_.choice("cpu", {"intel", "amd", "ibm", "arm"}).value_or("");
  std::set<int> numbers;
  for (const PciePlace& place : places_) numbers.insert(place.cpu);
  std::vector<CpuPart> cpus;
  const bool grace = vendor.empty() && std::all_of(gpus_.begin(), gpus_.end(), [](const GpuFacts& gpu) {
                       const auto model = find_gpu_model(gpu.model);
                       return model && model->chip_Bps > 0;
                     });
  for (const int number : numbers) {
    cpus.push_back({fmt::format("cpu{}", number), "", vendor, "", {}});
    if (!grace) continue;
    cpus.back().vendor = "arm";
    cpus.back().link_kind = "nvlink_cpu";
    cpus.back().link_rate = {kGraceToGrace_Bps};
  }
  return cpus;
}

std::string TopoM::table_notes() const {
  std::string notes;
  const bool counted = std::any_of(lists_.begin(), lists_.end(), [](const SmiList& list) { return list.has_links; });
  if (matrix_.pcie_only && !counted)
    notes += "; assumed: no NVLinks, though topo -mp leaves out those that there may be: topo -m shows them";
  const bool power = is_power();
  if (power && !request_.option("cpu")) notes += "; assumed: CPUs of POWER9, which alone numbers NUMA nodes 0 and 8";
  if (!power && !request_.option("cpu") && links_to_cpu(0) > 0)
    notes += fmt::format(
        "; assumed: {} NVLinks of gpu0, which lead to no GPU, lead nowhere: option cpu=ibm if they lead "
        "to a CPU of POWER",
        links_to_cpu(0));
  if (matrix_.sys_inside_node) notes += "; assumed: SYS inside one NUMA node leads over host bridges of one CPU";
  return notes;
}

/// PIX clusters of several devices are a switch; where several of them meet (PXB), a second level joins them.
void TopoM::name_switches() {
  std::map<int, int> size;
  std::map<int, std::set<int>> lowers;
  for (const PciePlace& place : places_) {
    ++size[place.pix];
    lowers[place.pxb].insert(place.pix);
  }
  int count = 0;
  for (const auto& [pix, devices] : size) {
    if (devices < 2 && lowers[places_[member(pix)].pxb].size() < 2) continue;
    lower_[pix] = fmt::format("plx{}", count++);
    writer_.device(lower_[pix], "pcie_switch");
  }
  for (const auto& [pxb, below] : lowers) {
    if (below.size() < 2) continue;
    upper_[pxb] = fmt::format("plx{}", count++);
    writer_.device(upper_[pxb], "pcie_switch");
  }
}

PcieLink TopoM::pcie_of(std::size_t row) const {
  if (row < gpus_.size()) return *gpus_[row].pcie;
  return std::max_element(gpus_.begin(), gpus_.end(),
                          [](const GpuFacts& a, const GpuFacts& b) { return a.pcie->rate() < b.pcie->rate(); })
      ->pcie.value();
}

PcieLink TopoM::widest(int PciePlace::*level, int cluster) const {
  std::optional<PcieLink> best;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].*level == cluster && (!best || pcie_of(i).rate() > best->rate())) best = pcie_of(i);
  return best.value();
}

void TopoM::add_ports() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const PciePlace& place = places_[i];
    const PcieLink link = pcie_of(i);
    const auto lower = lower_.find(place.pix);
    std::string to, source;
    const auto model = i < gpus_.size() ? find_gpu_model(gpus_[i].model) : std::nullopt;
    if (model && model->chip_Bps > 0 && lower == lower_.end()) {
      writer_.cable(id_of(i), cpu_of(i), "c2c", 1, {model->chip_Bps},
                    "assumed: NVLink-C2C as in the data sheet of " + std::string(model->words) + ", which " + kCommand +
                        " does not show" + place.cpu_source);
      continue;
    }
    if (i < gpus_.size() && is_power() && links_to_cpu(i) > 0) {
      writer_.cable(id_of(i), cpu_of(i), gpus_[i].nvlink->kind(), links_to_cpu(i), gpus_[i].nvlink->rate,
                    "assumed: the NVLinks of " + gpus_[i].model + " that lead to no GPU lead to its CPU of POWER" +
                        place.cpu_source);
      continue;
    }
    if (lower == lower_.end()) {
      to = cpu_of(i);
      source = (place.seen ? kCommand + ": no PIX or PXB; assumed: straight to the CPU"
                           : "assumed: straight to the CPU, NVLink hides the PCIe path") +
               place.cpu_source;
    } else {
      to = lower->second;
      const auto alike =
          std::count_if(places_.begin(), places_.end(), [&](const auto& p) { return p.pix == place.pix; });
      source = alike > 1 ? kCommand + ": PIX" : kCommand + ": PXB; assumed: a switch of its own below the common one";
    }
    writer_.cable(id_of(i), to, link.kind(), 1, link.rate(), source + "; " + pcie_source_of(i));
  }
}

void TopoM::add_uplinks() {
  const std::string width = "; assumed: uplink as wide as the widest port below";
  for (const auto& [pix, id] : lower_) {
    const PciePlace& place = places_[member(pix)];
    const PcieLink link = widest(&PciePlace::pix, pix);
    const auto upper = upper_.find(place.pxb);
    const bool to_cpu = upper == upper_.end();
    writer_.cable(
        id, to_cpu ? cpu_of(member(pix)) : upper->second, link.kind(), 1, link.rate(),
        (to_cpu ? kCommand + ": no PXB" + place.cpu_source : kCommand + ": PXB; assumed: two levels") + width);
  }
  for (const auto& [pxb, id] : upper_) {
    const PcieLink link = widest(&PciePlace::pxb, pxb);
    writer_.cable(id, cpu_of(member(pxb)), link.kind(), 1, link.rate(),
                  kCommand + ": PXB" + places_[member(pxb)].cpu_source + width);
  }
}

class TopoMImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return described_options(TopoM::keys()); }
  [[nodiscard]] Json run(const ImportRequest& request) const override { return TopoM(request).run(); }
};

const bool topo_m_registered =
    importers().add({"topo-m", "nvidia-smi topo -m (and -L, nvlink -s) -> topology/1",
                     "NVIDIA System Management Interface documentation, nvidia-smi topo -m legend"},
                    [] { return std::make_unique<TopoMImporter>(); });

}  // namespace

}  // namespace linkcast::topology_import
