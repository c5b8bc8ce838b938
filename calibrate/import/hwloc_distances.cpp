#include "calibrate/import/hwloc_distances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"

namespace linkcast::topology_import {
namespace {

constexpr double kRounding = 0.02;  // of rates that hwloc prints. source: ours

/// Words of all elements of a name below a node; of "OSDev:17" the number.
std::vector<std::string> values_below(const XmlNode& node, const std::string& name) {
  std::vector<std::string> all;
  for (const XmlNode& part : node.children(name))
    for (const std::string& word : words_of(part.content())) all.push_back(word.substr(word.find(':') + 1));
  return all;
}

class MatrixOfDevices {
 public:
  MatrixOfDevices(const XmlNode& node, const std::vector<std::vector<std::string>>& gpus)
      : node_(node), gpus_(gpus), indices_(values_below(node, "indexes")) {
    constexpr std::size_t kMostDevices = 256;  // far more than a machine has. source: ours
    const auto values = values_below(node, "u64values");
    if (indices_.empty() || indices_.size() > kMostDevices || values.size() != indices_.size() * indices_.size())
      node.fail(fmt::format("has {} values for {} devices", values.size(), indices_.size()));
    for (const std::string& value : values) {
      const auto number = whole_number(value);
      if (!number) node.fail("'" + value.substr(0, 40) + "' is no whole number of MB/s");
      MBps_.push_back(*number);
    }
  }

  HwlocLinks read() const {
    const std::size_t count = gpus_.size();
    HwlocLinks found{node_, std::vector(count, std::vector<double>(count, 0)), false};
    std::vector<double> to_switches(count, 0);
    for (std::size_t i = 0; i < indices_.size(); ++i)
      for (std::size_t j = 0; j < indices_.size(); ++j) {
        const auto a = gpu_of(indices_[i]), b = gpu_of(indices_[j]);
        const double rate = MBps_[i * indices_.size() + j];
        if (i == j || !a) continue;
        if (b)
          found.MBps[*a][*b] = rate;
        else
          to_switches[*a] += rate;
      }
    found.switched = std::any_of(to_switches.begin(), to_switches.end(), [](double rate) { return rate > 0; });
    for (std::size_t a = 0; a < count && found.switched; ++a)
      for (std::size_t b = 0; b < count; ++b)
        if (a != b) found.MBps[a][b] = std::min(to_switches[a], to_switches[b]);
    return found;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> gpu_of(const std::string& index) const {
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu)
      if (std::find(gpus_[gpu].begin(), gpus_[gpu].end(), index) != gpus_[gpu].end()) return gpu;
    return std::nullopt;
  }
  const XmlNode& node_;
  const std::vector<std::vector<std::string>>& gpus_;
  std::vector<std::string> indices_;
  std::vector<double> MBps_;
};

/// The matrix of this name; nothing where the file has none.
std::optional<HwlocLinks> matrix_named(const XmlNode& root, const std::vector<std::vector<std::string>>& gpus,
                                       const std::string& name) {
  static const std::set<std::string> tables = {"distances2", "distances2hetero"};
  for (const XmlNode& node : root.children())
    if (tables.count(node.name()) > 0 && node.find("name") == name) return MatrixOfDevices(node, gpus).read();
  return std::nullopt;
}

}  // namespace

LinkMatrix HwlocLinks::links(const std::vector<GpuFacts>& gpus) const {
  LinkMatrix links(gpus.size(), std::vector<int>(gpus.size(), 0));
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = 0; b < gpus.size(); ++b) {
      if (MBps[a][b] <= 0) continue;
      const double one_MBps = gpus[a].nvlink->rate.si / 1e6;
      const double count = MBps[a][b] / one_MBps;
      if (std::round(count) < 1 || std::abs(count - std::round(count)) > kRounding * count)
        node.fail(fmt::format("{} MB/s of gpu{} to gpu{} is no multiple of a link's {}", static_cast<long>(MBps[a][b]),
                              a, b, static_cast<long>(one_MBps)));
      links[a][b] = static_cast<int>(std::round(count));
    }
  return links;
}

void HwlocLinks::add_xgmi(TopologyWriter& writer, const std::vector<GpuFacts>& gpus) const {
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      if (MBps[a][b] != MBps[b][a])
        node.fail(fmt::format("{} MB/s of gpu{} to gpu{}, back it is {}", MBps[a][b], a, b, MBps[b][a]));
      if (MBps[a][b] <= 0) continue;
      const GpuLinkType type = infinity_fabric_of(gpus[a].sm, gpus[a].model);
      const double rate = MBps[a][b] * 1e6, whole = std::round(rate / type.rate.si);  // source: hwloc's are MB/s
      const bool multiple = whole >= 1 && std::abs(rate / type.rate.si - whole) < kRounding * whole;
      const int count = multiple ? static_cast<int>(whole) : 1;
      writer.cable(fmt::format("gpu{}", a), fmt::format("gpu{}", b), type.kind, count, {rate / count},
                   multiple ? "hwloc XGMIBandwidth; number of links by the nominal rate of one"
                            : "hwloc XGMIBandwidth; assumed: one link");
    }
}

std::optional<HwlocLinks> hwloc_links(const XmlNode& root, const std::vector<std::vector<std::string>>& gpus,
                                      bool amd) {
  auto found = matrix_named(root, gpus, amd ? "XGMIBandwidth" : "NVLinkBandwidth");
  if (!found) return std::nullopt;
  if (const auto hops = amd ? matrix_named(root, gpus, "XGMIHops") : std::nullopt)
    for (std::size_t a = 0; a < gpus.size(); ++a)
      for (std::size_t b = 0; b < gpus.size(); ++b)
        if (hops->MBps[a][b] > 1) found->MBps[a][b] = 0;
  for (const auto& row : found->MBps)
    if (std::any_of(row.begin(), row.end(), [](double rate) { return rate > 0; })) return found;
  return std::nullopt;
}

}  // namespace linkcast::topology_import
