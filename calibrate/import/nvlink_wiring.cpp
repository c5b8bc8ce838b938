#include "calibrate/import/nvlink_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topology_import {
namespace {

std::string wired_gpu_id(std::size_t index) { return fmt::format("gpu{}", index); }

/// Sets of two and more GPUs that NVLinks join, in number order.
std::vector<std::vector<std::size_t>> islands_of(const LinkMatrix& links) {
  std::vector<std::vector<std::size_t>> islands;
  std::vector<bool> seen(links.size(), false);
  for (std::size_t start = 0; start < links.size(); ++start) {
    if (seen[start]) continue;
    std::vector<std::size_t> island = {start};
    seen[start] = true;
    for (std::size_t i = 0; i < island.size(); ++i)
      for (std::size_t other = 0; other < links.size(); ++other)
        if (!seen[other] && links[island[i]][other] > 0) {
          seen[other] = true;
          island.push_back(other);
        }
    std::sort(island.begin(), island.end());
    if (island.size() > 1) islands.push_back(std::move(island));
  }
  return islands;
}

class Island {
 public:
  Island(const LinkMatrix& links, const std::vector<GpuFacts>& gpus, const WiringQuestion& question,
         std::vector<std::size_t> members)
      : links_(links), gpus_(gpus), question_(question), members_(std::move(members)) {
    const NvlinkType& type = *gpus_[members_.front()].nvlink;
    for (const std::size_t gpu : members_)
      if (gpus_[gpu].nvlink->generation != type.generation)
        throw InputError(fmt::format("{}: {} and {} are joined, but have NVLink {} and {}", question_.file,
                                     wired_gpu_id(members_.front()), wired_gpu_id(gpu), type.generation,
                                     gpus_[gpu].nvlink->generation));
  }

  /// True: NVSwitch.
  [[nodiscard]] bool on_nvswitch() const;
  void add_straight(TopologyWriter& writer) const;
  void add_nvswitch(TopologyWriter& writer, int number) const;

 private:
  [[nodiscard]] int pair_links() const { return links_[members_[0]][members_[1]]; }
  [[nodiscard]] std::string names() const {
    return wired_gpu_id(members_.front()) + " to " + wired_gpu_id(members_.back());
  }
  [[nodiscard]] bool all_pairs_alike() const;
  /// Behind an NVSwitch a pair shows as many links as the one of both GPUs that has fewer.
  [[nodiscard]] bool pairs_of_nvswitch() const;
  /// The most links that a GPU shows to another.
  [[nodiscard]] int widest(std::size_t gpu) const { return *std::max_element(links_[gpu].begin(), links_[gpu].end()); }
  /// That a GPU shows fewer links than another of the island, where all are of one model; else empty.
  template <class Count>
  [[nodiscard]] std::string lost(std::size_t gpu, Count count) const;
  [[nodiscard]] int shown_links(std::size_t gpu) const {
    int sum = 0;
    for (const std::size_t other : members_) sum += links_[gpu][other];
    return sum;
  }
  /// The most links that leave a GPU.
  [[nodiscard]] int most_links(std::size_t gpu) const;
  [[nodiscard]] bool fits_straight() const {
    return std::all_of(members_.begin(), members_.end(),
                       [&](std::size_t gpu) { return shown_links(gpu) <= most_links(gpu); });
  }
  [[nodiscard]] bool fits_nvswitch() const;
  /// With straight cables a pair of few GPUs can use all links, too.
  [[nodiscard]] bool could_be_either() const;
  [[nodiscard]] std::string rate_source() const {
    const GpuFacts& gpu = gpus_[members_.front()];
    return fmt::format("NVLink {} {}, nominal rate from the datasheet, one direction", gpu.nvlink->generation,
                       gpu.nvlink_source);
  }

  const LinkMatrix& links_;
  const std::vector<GpuFacts>& gpus_;
  const WiringQuestion& question_;
  std::vector<std::size_t> members_;
};

bool Island::all_pairs_alike() const {
  for (const std::size_t a : members_)
    for (const std::size_t b : members_)
      if (a != b && links_[a][b] != pair_links()) return false;
  return true;
}

bool Island::pairs_of_nvswitch() const {
  for (const std::size_t a : members_)
    for (const std::size_t b : members_)
      if (a != b && links_[a][b] != std::min(widest(a), widest(b))) return false;
  return true;
}

template <class Count>
std::string Island::lost(std::size_t gpu, Count count) const {
  int most = 0;
  for (const std::size_t other : members_) {
    if (gpus_[other].model != gpus_[gpu].model) return "";
    most = std::max(most, count(other));
  }
  if (count(gpu) == most) return "";
  return fmt::format(
      "; finding: {} shows {} NVLinks where others show {}: some may be down, nvidia-smi nvlink -s lists them",
      wired_gpu_id(gpu), count(gpu), most);
}

int Island::most_links(std::size_t gpu) const {
  const GpuFacts& facts = gpus_[gpu];
  if (facts.active_links) return *facts.active_links;
  if (facts.nvlink->links > 0) return facts.nvlink->links;
  const auto type = nvlink_of(facts.sm);
  return type ? type->links : 18;  // of the largest GPU of any generation. source: NVIDIA H100 and B200 datasheets
}

bool Island::fits_nvswitch() const {
  return pairs_of_nvswitch() && std::all_of(members_.begin(), members_.end(), [&](std::size_t gpu) {
           const GpuFacts& facts = gpus_[gpu];
           const bool all_used = !facts.active_links || *facts.active_links == widest(gpu);
           // source: NVIDIA NVSwitch (2018) is of NVLink 2, no switch of NVLink 1 was made
           return facts.nvswitch && facts.nvlink->generation > 1 && all_used && widest(gpu) <= most_links(gpu);
         });
}

bool Island::could_be_either() const {
  if (!fits_straight() || !all_pairs_alike() || !fits_nvswitch()) return false;
  const GpuFacts& facts = gpus_[members_.front()];
  // Behind an NVSwitch a pair shows every link of the GPU: fewer than it has are straight cables.
  const bool count_known = facts.active_links || facts.nvlink->links > 0;
  return !count_known || pair_links() == most_links(members_.front());
}

bool Island::on_nvswitch() const {
  if (question_.nvswitch == true) {
    if (!pairs_of_nvswitch())
      throw InputError("option nvswitch: the pairs of " + names() + " differ in " + question_.file +
                       ": no NVSwitch joins them");
    return true;
  }
  if (question_.nvswitch != false && could_be_either())
    throw InputError(
        fmt::format("{}: NV{} of {} can be straight cables or an NVSwitch: add option nvswitch=yes or nvswitch=no",
                    question_.file, pair_links(), names()));
  if (fits_straight()) return false;
  if (question_.nvswitch != false && fits_nvswitch()) return true;
  const auto wrong = *std::find_if(members_.begin(), members_.end(),
                                   [&](std::size_t gpu) { return shown_links(gpu) > most_links(gpu); });
  throw InputError(fmt::format(
      "{}: {} shows {} NVLinks to others, but has at most {}{}", question_.file, wired_gpu_id(wrong),
      shown_links(wrong), most_links(wrong),
      question_.nvswitch == false ? ": add option nvswitch=yes if an NVSwitch joins them" : ", and no NVSwitch fits"));
}

void Island::add_straight(TopologyWriter& writer) const {
  const auto shown = [&](std::size_t gpu) { return shown_links(gpu); };
  for (const std::size_t a : members_)
    for (const std::size_t b : members_) {
      const int count = links_[a][b];
      if (b <= a || count == 0) continue;
      writer.cable(wired_gpu_id(a), wired_gpu_id(b), gpus_[a].nvlink->kind(), count, gpus_[a].nvlink->rate,
                   fmt::format("{}: NV{}; straight, {}; {}{}{}", question_.source, count,
                               question_.nvswitch ? "as option nvswitch says" : "for no NVSwitch fits", rate_source(),
                               lost(a, shown), lost(b, shown)));
    }
}

void Island::add_nvswitch(TopologyWriter& writer, int number) const {
  const std::string id = fmt::format("nvs{}", number);
  writer.device(id, "nvswitch", "", fmt::format("baseboard{}", number));
  for (const std::size_t gpu : members_)
    writer.cable(wired_gpu_id(gpu), id, gpus_[gpu].nvlink->kind(), widest(gpu), gpus_[gpu].nvlink->rate,
                 fmt::format("{}: NV{} to all others; NVSwitch, {}; assumed: one device stands for all switches; {}{}",
                             question_.source, widest(gpu),
                             question_.nvswitch ? "as option nvswitch says" : "for straight cables need more links",
                             rate_source(), lost(gpu, [&](std::size_t other) { return widest(other); })));
}

}  // namespace

LinkMatrix nvlinks_of(const TopoMatrix& matrix) {
  const auto count = static_cast<std::size_t>(matrix.gpus);
  LinkMatrix links(count, std::vector<int>(count, 0));
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) links[a][b] = matrix.rows[a].cells[b].links;
  return links;
}

bool has_links(const LinkMatrix& links) {
  return std::any_of(links.begin(), links.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](int count) { return count > 0; });
  });
}

void add_nvlinks(TopologyWriter& writer, const LinkMatrix& links, const std::vector<GpuFacts>& gpus,
                 const WiringQuestion& question) {
  int nvswitches = 0;
  for (auto& members : islands_of(links)) {
    const Island island(links, gpus, question, std::move(members));
    if (island.on_nvswitch())
      island.add_nvswitch(writer, nvswitches++);
    else
      island.add_straight(writer);
  }
}

}  // namespace linkcast::topology_import
