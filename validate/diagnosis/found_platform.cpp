#include "validate/diagnosis/found_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/base/parse.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/machine/machine_files.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::diagnosis {
namespace {

constexpr double kPortLanes = 16;  // source: PCI-SIG, PCI Express Base Specification: of a GPU's port

// How near a machine's GPU is to the log's.
enum class Likeness { kOther, kAlike, kModel, kName };

/// "A100" of "A100 SXM4 80GB", "4090" of "RTX 4090": the first word with a figure.
std::string number_of(std::string_view words) {
  for (const std::string& word : split(std::string(words), ' '))
    if (word.find_first_of("0123456789") != std::string::npos) return word;
  return std::string(words);
}

/// Letters and digits alone, in upper case.
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += static_cast<char>(std::toupper(c));
  return letters;
}

Likeness likeness(const std::string& log, const std::string& machine) {
  if (letters_of(log) == letters_of(machine)) return Likeness::kName;
  const auto a = find_gpu_model(log), b = find_gpu_model(machine);
  if (!a || !b) return Likeness::kOther;
  if (a->words == b->words) return Likeness::kModel;
  const bool alike = number_of(a->words) == number_of(b->words) && a->nvlinks == b->nvlinks &&
                     a->nvswitch == b->nvswitch && a->pcie_generation == b->pcie_generation;
  return alike ? Likeness::kAlike : Likeness::kOther;
}

/// GPUs of one node, by devices and collectives.
int gpus_of(const DiagnosedLog& log) {
  int gpus = 0;
  for (const auto& [number, bus] : log.buses) gpus = std::max(gpus, number + 1);
  for (const MeasuredCollective& c : log.measurement.collectives)
    for (const int gpu : c.gpus) gpus = std::max(gpus, gpu + 1);
  for (const MeasuredPoint& p : log.measurement.points)
    for (const std::string& end : {p.source, p.target})
      if (end.starts_with("gpu"))
        if (const auto read = read_gpu_text(end)) gpus = std::max(gpus, read->first + 1);
  return gpus;
}

int nodes_of(const DiagnosedLog& log) {
  int nodes = 1;
  for (const MeasuredCollective& c : log.measurement.collectives) nodes = std::max(nodes, c.nodes);
  return nodes;
}

/// The fastest that one GPU of one node sent to another; 0: no point says it.
double fastest_Bps(const Measurement& log) {
  double fastest = 0;
  for (const MeasuredPoint& p : log.points)
    if (p.transport == Carrier::kPeer && !p.bidirectional && !p.between_nodes)
      fastest = std::max(fastest, p.size_B / median(p.time_s));
  for (const MeasuredCollective& c : log.collectives)
    if (c.nodes == 1 && c.gpus.size() > 1)  // at the least what all_gather takes in
      fastest = std::max(fastest, c.size_B * (1 - 1 / static_cast<double>(c.gpus.size())) / median(c.time_s));
  return fastest;
}

bool has_links(const Topology& wiring) {
  return std::any_of(wiring.cables.begin(), wiring.cables.end(),
                     [](const Cable& cable) { return is_of_family(cable.kind, CableFamily::kAccelerator); });
}

std::string model_of(const Topology& wiring) {
  for (const Device& device : wiring.devices)
    if (device.kind == DeviceKind::kGpu) return device.model;
  return "";
}

/// NVLink or PCIe, where cards have both: pairs alone show that there is none.
void keep_by_rate(catalogue::Catalogue& catalogue, const DiagnosedLog& log, std::vector<std::string>& fits) {
  const auto model = find_gpu_model(log.gpus.front());
  const CableKind* port = model ? cable_kind_of(CableFamily::kPcie, model->pcie_generation) : nullptr;
  const double fastest = fastest_Bps(log.measurement);
  if (port == nullptr || !(fastest > 0)) return;
  const bool faster = fastest > kPortLanes * port->rate_Bps, pairs = !log.measurement.points.empty();
  if (!faster && !pairs) return;
  std::vector<std::string> kept;
  for (const std::string& id : fits)
    if (has_links(catalogue.machine(id)->platform().wiring()) == faster) kept.push_back(id);
  if (!kept.empty()) fits = std::move(kept);
}

/// The links of its GPUs, one line each.
std::set<std::string> links_of(const Topology& wiring) {
  std::map<std::string, int> counts;
  for (const Cable& cable : wiring.cables) {
    if (!is_of_family(cable.kind, CableFamily::kAccelerator)) continue;
    for (const auto& [end, other] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      const Device &gpu = wiring.devices[static_cast<std::size_t>(end)],
                   &far = wiring.devices[static_cast<std::size_t>(other)];
      const bool through = far.kind == DeviceKind::kNvswitch;
      if (gpu.kind == DeviceKind::kGpu)
        counts[fmt::format("{} {} {}", gpu.id, cable.kind, through ? "nvswitch" : far.id)] += cable.count;
    }
  }
  std::set<std::string> links;
  for (const auto& [link, count] : counts) links.insert(fmt::format("{} x {}", link, count));
  return links;
}

/// Whether machines differ only in what a log does not show: collectives of one node over links that all have.
bool same_links(catalogue::Catalogue& catalogue, const Measurement& log, const std::vector<std::string>& ids) {
  if (ids.empty() || !log.points.empty() ||
      std::any_of(log.collectives.begin(), log.collectives.end(), [](const auto& c) { return c.nodes > 1; }))
    return false;
  const auto links = [&](const std::string& id) { return links_of(catalogue.machine(id)->platform().wiring()); };
  const std::set<std::string> first = links(ids.front());
  return !first.empty() && std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return links(id) == first; });
}

std::string fits_text(const std::string& path, const FoundPlatforms& found) {
  if (found.said.empty()) return path + ": names no GPU: set platform to the machine that it was run on";
  if (found.fits.empty())
    return path + ": is of " + found.said + ", which no shipped machine has: set platform to a file of this machine";
  return path + ": is of " + found.said + ": set platform to " + joined(found.fits, " or ");
}

}  // namespace

FoundPlatforms platforms_of(catalogue::Catalogue& catalogue, const DiagnosedLog& log) {
  FoundPlatforms found;
  if (catalogue.has_platform(log.measurement.topology))
    return {{log.measurement.topology}, "topology " + log.measurement.topology};
  if (log.gpus.empty()) return found;
  const int gpus = gpus_of(log), nodes = nodes_of(log);
  found.said = (gpus > 0 ? fmt::format("{} x ", gpus) : "") + joined(log.gpus, " and ") +
               (nodes > 1 ? fmt::format(" on {} nodes", nodes) : "");
  Likeness best = Likeness::kAlike;
  for (const std::string& id : catalogue.platforms()) {
    const Topology& wiring = catalogue.machine(id)->platform().wiring();
    const Likeness like = likeness(log.gpus.front(), model_of(wiring));
    if (log.gpus.size() > 1 || like < best || catalogue.machine(id)->platform().gpu_count() < gpus ||
        (nodes > 1 && !wiring.fabric.is_object()))
      continue;
    if (like > best) found.fits.clear();
    best = like;
    found.fits.push_back(id);
  }
  found.alike = best == Likeness::kAlike && !found.fits.empty();
  const std::vector<std::string> all = found.fits;
  const catalogue::MachineFiles files(catalogue.data_dir());
  files.drop_variants(found.fits);
  std::copy_if(all.begin(), all.end(), std::back_inserter(found.variants), [&](const std::string& id) {
    const auto file = files.shipped(id);
    return std::find(found.fits.begin(), found.fits.end(), id) == found.fits.end() && !(file && file->is_what_if());
  });
  keep_by_rate(catalogue, log, found.fits);
  std::stable_partition(found.fits.begin(), found.fits.end(),
                        [&](const std::string& id) { return catalogue.machine(id)->platform().gpu_count() == gpus; });
  found.alike_links = same_links(catalogue, log.measurement, found.fits);
  return found;
}

std::string network_text(const Platform& platform) {
  const Topology& wiring = platform.wiring();
  if (!wiring.fabric.is_object()) return "";
  const Json port = wiring.fabric.value("links", Json::object()).value("host", Json::object());
  const auto nics = std::count_if(wiring.devices.begin(), wiring.devices.end(),
                                  [](const Device& device) { return device.kind == DeviceKind::kNic; });
  const std::string bandwidth = port.value("bandwidth", "");
  if (bandwidth.empty() || nics == 0) return "";
  return fmt::format("{} x {} {} a node", nics, port.value("cable", ""), bandwidth);
}

UndecidedPlatform::UndecidedPlatform(std::string path, FoundPlatforms found)
    : InputError(fits_text(path, found)), path_(std::move(path)), found_(std::move(found)) {}

}  // namespace linkcast::diagnosis
