#include "validate/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace linkcast::validate {
namespace {

constexpr auto kNotFound = -1;

int gpu_number(const std::string& id) { return std::stoi(id.substr(std::string("gpu").size())); }

/// @throws InputError  no kind of device has this name
DeviceKind device_kind(const std::string& name) {
  for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kCpu, DeviceKind::kPcieSwitch, DeviceKind::kNvswitch,
                                DeviceKind::kNic, DeviceKind::kSwitch})
    if (to_text(kind) == name) return kind;
  throw InputError("'" + name + "' is no kind of device");
}

/// One cycle whatever its start and direction.
std::vector<int> canonical_ring(std::vector<int> ring) {
  const auto start_at_smallest = [](std::vector<int>& r) {
    std::rotate(r.begin(), std::min_element(r.begin(), r.end()), r.end());
  };
  std::vector<int> reversed(ring.rbegin(), ring.rend());
  start_at_smallest(ring);
  start_at_smallest(reversed);
  return std::min(ring, reversed);
}

}  // namespace

Wiring::Wiring(const Json& shown) {
  std::map<std::string, int> index;
  std::map<int, int> by_number;
  try {
    for (const Json& device : shown.at("devices")) {
      const int number = static_cast<int>(kinds_.size());
      const auto id = device.at("id").get<std::string>();
      index[id] = number;
      kinds_.push_back(device_kind(device.at("kind").get<std::string>()));
      groups_.push_back(device.value("group", ""));
      if (kinds_.back() == DeviceKind::kGpu) by_number[gpu_number(id)] = number;
    }
    for (const Json& cable : shown.at("cables"))
      cables_.push_back({index.at(cable.at("a").get<std::string>()), index.at(cable.at("b").get<std::string>()),
                         cable.at("count").get<int>(), cable.at("kind").get<std::string>(),
                         cable.at("bandwidth_Bps").get<double>(),
                         is_accelerator_cable(cable.at("kind").get<std::string>()),
                         is_pcie_cable(cable.at("kind").get<std::string>())});
  } catch (const std::exception& error) {
    throw InputError(std::string("result of show: ") + error.what());
  }
  for (const auto& [number, device] : by_number) gpus_.push_back(device);
  find_hosts();
}

int Wiring::links(int gpu_a, int gpu_b) const {
  const auto ends = std::minmax(gpus_.at(static_cast<std::size_t>(gpu_a)), gpus_.at(static_cast<std::size_t>(gpu_b)));
  int total = 0;
  for (const Cable& cable : cables_)
    if (cable.accelerator && std::minmax(cable.a, cable.b) == ends) total += cable.count;
  return total;
}

std::vector<int> Wiring::relays(int gpu_a, int gpu_b) const {
  std::vector<int> found;
  for (int via = 0; via < gpus(); ++via)
    if (via != gpu_a && via != gpu_b && links(gpu_a, via) > 0 && links(via, gpu_b) > 0) found.push_back(via);
  return found;
}

bool Wiring::may_pass(int device, Net net) const {
  if (net == Net::kPcie) return kind(device) == DeviceKind::kPcieSwitch;
  return kind(device) == DeviceKind::kNvswitch || kind(device) == DeviceKind::kGpu;
}

std::vector<int> Wiring::path(int from, int to, Net net) const {
  std::vector<int> before(kinds_.size(), kNotFound), queue = {from};
  before[static_cast<std::size_t>(from)] = from;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const int at = queue[head];
    if (at != from && !may_pass(at, net)) continue;
    for (const Cable& cable : cables_) {
      const bool usable = net == Net::kPcie ? cable.pcie : cable.accelerator;
      if (!usable || (cable.a != at && cable.b != at)) continue;
      const int next = cable.a == at ? cable.b : cable.a;
      if (before[static_cast<std::size_t>(next)] != kNotFound) continue;
      before[static_cast<std::size_t>(next)] = at;
      queue.push_back(next);
    }
  }
  if (before[static_cast<std::size_t>(to)] == kNotFound) return {};
  std::vector<int> devices = {to};
  while (devices.back() != from) devices.push_back(before[static_cast<std::size_t>(devices.back())]);
  return {devices.rbegin(), devices.rend()};
}

void Wiring::find_hosts() {
  for (const int gpu : gpus_) {
    std::vector<int> shortest;
    for (std::size_t cpu = 0; cpu < kinds_.size(); ++cpu) {
      if (kinds_[cpu] != DeviceKind::kCpu) continue;
      const auto route = path(gpu, static_cast<int>(cpu), Net::kPcie);
      if (!route.empty() && (shortest.empty() || route.size() < shortest.size())) shortest = route;
    }
    cpu_.push_back(shortest.empty() ? kNotFound : shortest.back());
    pcie_switches_.emplace_back();
    if (!shortest.empty()) pcie_switches_.back().assign(shortest.begin() + 1, shortest.end() - 1);
  }
}

int Wiring::switches_on(const std::vector<int>& route) const {
  return static_cast<int>(
      std::count_if(route.begin(), route.end(), [&](int device) { return kind(device) == DeviceKind::kNvswitch; }));
}

bool Wiring::in_class(PairClass pair_class, int a, int b) const {
  const auto first = static_cast<std::size_t>(a), second = static_cast<std::size_t>(b);
  const auto switches = [&] { return switches_on(path(gpus_[first], gpus_[second], Net::kAccelerator)); };
  const auto &of_a = pcie_switches_[first], &of_b = pcie_switches_[second];
  const bool shared =
      std::any_of(of_a.begin(), of_a.end(), [&](int s) { return std::count(of_b.begin(), of_b.end(), s) > 0; });
  const bool next_to_both = shared && of_a.front() == of_b.front(), one_socket = cpu_[first] == cpu_[second];
  switch (pair_class) {
    case PairClass::kAll:
      return true;
    case PairClass::kNvlink:
      return links(a, b) > 0;
    case PairClass::kNvlink1:
      return links(a, b) == 1;
    case PairClass::kNvlink2:
      return links(a, b) == 2;
    case PairClass::kNoNvlink:
      return links(a, b) == 0;
    case PairClass::kNvswitch1:
      return switches() == 1;
    case PairClass::kNvswitch2:
      return switches() == 2;
    case PairClass::kPcieLevel1:
      return next_to_both;
    case PairClass::kPcieLevel2:
      return shared && !next_to_both;
    case PairClass::kSharedPcieSwitch:
      return shared;
    case PairClass::kNoSharedPcieSwitch:
      return !shared;
    case PairClass::kSameSocket:
      return !shared && one_socket;
    case PairClass::kCrossSocket:
      return !one_socket;
  }
  throw InvariantError("a class of pairs without a rule");
}

std::vector<GpuPair> Wiring::pairs(Spelled<PairClass> pair_class, const std::vector<int>& among) const {
  std::vector<GpuPair> found;
  const auto chosen = [&](int gpu) { return among.empty() || std::count(among.begin(), among.end(), gpu) > 0; };
  for (int a = 0; a < gpus(); ++a)
    for (int b = 0; b < gpus(); ++b)
      if (a != b && chosen(a) && chosen(b) && in_class(pair_class.value(), a, b)) found.emplace_back(a, b);
  return found;
}

int Wiring::count_of(int device, std::optional<DeviceKind> other_kind) const {
  int total = 0;
  for (const Cable& cable : cables_) {
    if (!cable.accelerator || (cable.a != device && cable.b != device)) continue;
    const int other = cable.a == device ? cable.b : cable.a;
    if (!other_kind || kind(other) == *other_kind) total += cable.count;
  }
  return total;
}

double Wiring::direct_bandwidth(int gpu_a, int gpu_b) const {
  const auto ends = std::minmax(gpus_.at(static_cast<std::size_t>(gpu_a)), gpus_.at(static_cast<std::size_t>(gpu_b)));
  double total = 0;
  for (const Cable& cable : cables_)
    if (cable.accelerator && std::minmax(cable.a, cable.b) == ends) total += cable.count * cable.bandwidth_Bps;
  return total;
}

double Wiring::widest(int gpu_a, int gpu_b) const {
  std::vector<double> best(gpus_.size(), 0);
  best[static_cast<std::size_t>(gpu_a)] = std::numeric_limits<double>::infinity();
  for (int round = 1; round < gpus(); ++round)  // a route has at most one link fewer than there are GPUs
    for (int from = 0; from < gpus(); ++from)
      for (int to = 0; to < gpus(); ++to) {
        const double over = std::min(best[static_cast<std::size_t>(from)], direct_bandwidth(from, to));
        best[static_cast<std::size_t>(to)] = std::max(best[static_cast<std::size_t>(to)], over);
      }
  return best[static_cast<std::size_t>(gpu_b)];
}

std::vector<double> Wiring::per_pair(const Structure& structure) const {
  std::vector<double> out;
  for (const auto& [a, b] : pairs(PairClass::kAll, structure.among)) {
    if (a > b) continue;
    const auto route = path(gpus_[static_cast<std::size_t>(a)], gpus_[static_cast<std::size_t>(b)], Net::kAccelerator);
    if (structure.measure == Measure::kPairLinks)
      out.push_back(links(a, b));
    else if (structure.measure == Measure::kPairWidest)
      out.push_back(widest(a, b));
    else if (route.empty())
      throw InputError(fmt::format("gpu{} and gpu{} are not joined", a, b));
    else if (structure.measure == Measure::kPairHops)
      out.push_back(static_cast<double>(route.size() - 1));
    else
      out.push_back(switches_on(route));
  }
  return out;
}

std::vector<double> Wiring::cycle_sizes(int wanted) const {
  std::vector<double> sizes;
  std::set<int> seen;
  for (int start = 0; start < gpus(); ++start) {
    if (seen.count(start)) continue;
    std::vector<int> members = {start};
    bool ring = true;
    seen.insert(start);
    for (std::size_t head = 0; head < members.size(); ++head) {
      int degree = 0;
      for (int other = 0; other < gpus(); ++other) {
        if (other == members[head] || links(members[head], other) != wanted) continue;
        ++degree;
        if (seen.insert(other).second) members.push_back(other);
      }
      ring = ring && degree == 2;
    }
    sizes.push_back(ring ? static_cast<double>(members.size()) : 0);
  }
  return sizes;
}

std::vector<double> Wiring::group_bandwidths() const {
  std::map<std::pair<std::string, std::string>, double> between;
  for (const Cable& cable : cables_) {
    const auto ends =
        std::minmax(groups_[static_cast<std::size_t>(cable.a)], groups_[static_cast<std::size_t>(cable.b)]);
    if (!cable.accelerator || ends.first.empty() || ends.first == ends.second) continue;
    between[ends] += 2 * cable.count * cable.bandwidth_Bps;
  }
  std::vector<double> out;
  for (const auto& [ends, bandwidth] : between) out.push_back(bandwidth);
  return out;
}

std::vector<double> Wiring::per_gpu(double (Wiring::*number)(std::size_t gpu) const) const {
  std::vector<double> out;
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) out.push_back((this->*number)(gpu));
  return out;
}

double Wiring::gpu_switches(std::size_t gpu) const {
  std::set<int> next;
  for (const Cable& cable : cables_)
    for (const auto& [from, to] : {GpuPair{cable.a, cable.b}, GpuPair{cable.b, cable.a}})
      if (from == gpus_[gpu] && kind(to) == DeviceKind::kNvswitch) next.insert(to);
  return static_cast<double>(next.size());
}

std::vector<double> Wiring::per_switch(DeviceKind other_kind) const {
  std::vector<double> out;
  for (std::size_t device = 0; device < kinds_.size(); ++device)
    if (kinds_[device] == DeviceKind::kNvswitch) out.push_back(count_of(static_cast<int>(device), other_kind));
  return out;
}

std::vector<double> Wiring::measure(const Structure& structure) const {
  std::vector<double> rates;
  switch (structure.measure.value()) {
    case Measure::kPairLinks:
    case Measure::kPairWidest:
    case Measure::kPairHops:
    case Measure::kPairSwitches:
      return per_pair(structure);
    case Measure::kCycleSizes:
      return cycle_sizes(*structure.links);
    case Measure::kGroupBandwidth:
      return group_bandwidths();
    case Measure::kSwitchGpuPorts:
      return per_switch(DeviceKind::kGpu);
    case Measure::kSwitchSwitchPorts:
      return per_switch(DeviceKind::kNvswitch);
    case Measure::kGpuLinks:
      return per_gpu(&Wiring::gpu_links);
    case Measure::kPeerLinks:
      return per_gpu(&Wiring::peer_links);
    case Measure::kGpuSwitches:
      return per_gpu(&Wiring::gpu_switches);
    case Measure::kPcieLevels:
      return per_gpu(&Wiring::pcie_levels);
    case Measure::kCableBandwidth:
      for (const Cable& cable : cables_)
        if (cable.kind == structure.cable) rates.push_back(cable.bandwidth_Bps);
      return rates;
    case Measure::kRingMinLinks:
    case Measure::kRingMaxLinks:
      break;
  }
  throw InvariantError("a measure of rings, which the wiring does not know");
}

std::vector<double> Wiring::ring_links(const Json& channels, bool fewest) const {
  std::set<std::vector<int>> rings;
  for (const Json& channel : channels) rings.insert(canonical_ring(channel.get<std::vector<int>>()));
  std::vector<double> out;
  for (const std::vector<int>& ring : rings) {
    std::vector<int> hops;
    for (std::size_t i = 0; i < ring.size(); ++i) hops.push_back(links(ring[i], ring[(i + 1) % ring.size()]));
    out.push_back(fewest ? *std::min_element(hops.begin(), hops.end()) : *std::max_element(hops.begin(), hops.end()));
  }
  return out;
}

}  // namespace linkcast::validate
