#include "sim/machine/relatives.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "sim/machine/structure.hpp"

namespace linkcast::lending {
namespace {

/// Copies whose parameters this machine found itself.
int own_copies(const Calibration& calibration) {
  return static_cast<int>(
      std::count_if(calibration.parameters.begin(), calibration.parameters.end(), [](const auto& item) {
        const auto of = ParameterName(item.first).of();
        return own(item.second) && (of == ParameterOf::kTransport || of == ParameterOf::kCable);
      }));
}

int gpu_distance(const Structure& here, const Structure& there) {
  constexpr int other_model = 1, other_release = 1;  // each a step farther than the one before
  if (here.gpu == there.gpu && here.sm == there.sm) return 0;
  return here.sm == there.sm ? other_model : other_release + other_model + generations_between(here, there);
}

std::string join_text(const Structure& s) {
  if (s.join == Join::kNone) return "GPUs on PCIe alone";
  return s.join_name + (s.join == Join::kSwitch ? " through a switch" : " from GPU to GPU");
}

std::string host_text(const Structure& s) {
  if (!s.host.empty()) return "CPU on " + s.host;
  return s.pcie_generation > 0 ? "PCIe " + std::to_string(s.pcie_generation) : "no PCIe";
}

std::string compared(const std::string& here, const std::string& there) {
  return here == there ? there + " as here" : there + ", here " + here;
}

std::string alike(const Structure& here, const Structure& there) {
  const std::string gpu = here.gpu == there.gpu ? "same GPU " + there.gpu
                          : here.sm == there.sm ? there.gpu + ", the same compute capability"
                                                : there.gpu + ", the nearest release of GPUs";
  return gpu + "; " + compared(join_text(here), join_text(there)) + "; " + compared(host_text(here), host_text(there));
}

}  // namespace

std::vector<Relative> relatives_of(const Topology& topology, const std::vector<Lender>& machines) {
  using Distance = std::tuple<int, bool, bool, int, int, int, std::string>;
  const Structure here = structure_of(topology);
  std::vector<std::pair<Distance, Relative>> found;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Structure there = structure_of(machines[i].topology);
    const int copies = own_copies(machines[i].calibration);
    if (there.maker != here.maker || copies == 0) continue;
    found.emplace_back(
        Distance{gpu_distance(here, there), here.join != there.join, here.host != there.host,
                 std::abs(here.join_generation - there.join_generation),
                 std::abs(here.pcie_generation - there.pcie_generation), -copies, machines[i].calibration.name},
        Relative{i, alike(here, there)});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Relative> relatives;
  for (auto& [distance, relative] : found) relatives.push_back(std::move(relative));
  return relatives;
}

}  // namespace linkcast::lending
