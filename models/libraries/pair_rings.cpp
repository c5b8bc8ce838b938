#include "models/libraries/pair_rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace linkcast {
namespace {

// Figures of merit of a pair. source: models/libraries/SOURCES.md (NCCL 2.3.7)
constexpr int kValuePerNvlink = 16;
constexpr int kValuePerNvswitchLink = 256;
constexpr int kValuePix = 4;
constexpr int kValuePxb = 3;
constexpr int kValuePhb = 2;

int switch_links(const Topology& topology, int gpu) {
  int links = 0;
  for (const Cable& cable : topology.cables) {
    if (cable.a != gpu && cable.b != gpu) continue;
    const auto other = static_cast<std::size_t>(cable.a == gpu ? cable.b : cable.a);
    if (topology.devices[other].kind == DeviceKind::kNvswitch) links += cable.count;
  }
  return links;
}

/// How many devices of a kind a route passes between its ends.
int passed(const Platform& platform, const Route& route, DeviceKind kind) {
  const auto is_kind = [&](int link) {
    const int device = platform.links()[static_cast<std::size_t>(link)].to;
    return platform.topology().devices[static_cast<std::size_t>(device)].kind == kind;
  };
  return static_cast<int>(std::count_if(route.links.begin(), route.links.end() - 1, is_kind));
}

PairTransport pcie_pair(int cpus, int switches) {
  if (cpus > 0) return {PairKind::kPcie, PathClass::kPhb, 0, kValuePhb};
  if (switches > 1) return {PairKind::kPcie, PathClass::kPxb, 0, kValuePxb};
  return {PairKind::kPcie, PathClass::kPix, 0, kValuePix};
}

PairTransport transport(const Platform& platform, int a, int b) {
  const Topology& topology = platform.topology();
  const bool same_socket = platform.socket_of(a) == platform.socket_of(b);
  const PairTransport host{PairKind::kHostMemory, same_socket ? PathClass::kPhb : PathClass::kSys, 0, 0};
  const auto& route = platform.peer_route(a, b);
  if (!route || route->links.empty()) return host;
  if (const int links = topology.direct_links(a, b))
    return {PairKind::kNvlink, PathClass::kNvl, links, kValuePerNvlink * links};
  if (passed(platform, *route, DeviceKind::kNvswitch) > 0) {
    const int links = std::min(switch_links(topology, a), switch_links(topology, b));
    return {PairKind::kNvswitch, PathClass::kNvl, links, kValuePerNvswitchLink * links};
  }
  const int cpus = passed(platform, *route, DeviceKind::kCpu);
  if (cpus > 1 || !same_socket) return host;  // never across sockets
  return pcie_pair(cpus, passed(platform, *route, DeviceKind::kPcieSwitch));
}

}  // namespace

const std::string& to_text(PathClass path_class) {
  static const std::array<std::string, 5> kNames = {"NVL", "PIX", "PXB", "PHB", "SYS"};  // in the order of PathClass
  return kNames.at(static_cast<std::size_t>(path_class));
}

PairTable::PairTable(const Platform& platform, const std::vector<int>& gpus)
    : members_(static_cast<int>(gpus.size())), pairs_(gpus.size() * gpus.size()) {
  for (int a = 0; a < members_; ++a)
    for (int b = a + 1; b < members_; ++b)
      pairs_[index(a, b)] = pairs_[index(b, a)] = transport(platform, platform.gpu(gpus[static_cast<std::size_t>(a)]),
                                                            platform.gpu(gpus[static_cast<std::size_t>(b)]));
}

bool PairTable::all(PairKind kind) const {
  for (int a = 0; a < members_; ++a)
    for (int b = a + 1; b < members_; ++b)
      if (at(a, b).kind != kind) return false;
  return true;
}

std::vector<std::vector<int>> PairTable::domains() const {
  std::vector<std::vector<int>> found;
  std::vector<char> taken(static_cast<std::size_t>(members_), 0);
  for (int first = 0; first < members_; ++first) {
    if (taken[static_cast<std::size_t>(first)]) continue;
    taken[static_cast<std::size_t>(first)] = 1;
    std::vector<int> domain{first};
    for (std::size_t next = 0; next < domain.size(); ++next)
      for (int other = 0; other < members_; ++other) {
        if (taken[static_cast<std::size_t>(other)] || at(domain[next], other).value == 0) continue;
        taken[static_cast<std::size_t>(other)] = 1;
        domain.push_back(other);
      }
    std::sort(domain.begin(), domain.end());
    found.push_back(std::move(domain));
  }
  return found;
}

Channel pair_channel(const PairTable& pairs, const std::vector<int>& gpus, const std::vector<int>& ring, double links) {
  Channel made;
  made.links = links;
  for (const int member : ring) made.order.push_back(gpus[static_cast<std::size_t>(member)]);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::size_t next = (i + 1) % ring.size();
    const bool host = pairs.at(ring[i], ring[next]).kind == PairKind::kHostMemory;
    made.hops.push_back({made.order[i], made.order[next], host ? HopKind::kHostMemory : HopKind::kPeer});
  }
  return made;
}

PathClass worst_class(const PairTable& pairs, const std::vector<std::vector<int>>& rings) {
  PathClass worst = PathClass::kNvl;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      worst = std::max(worst, pairs.at(ring[i], ring[(i + 1) % ring.size()]).path_class);
  return worst;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string host_hops(const PairTable& pairs, const std::vector<int>& ring, const std::vector<int>& gpus) {
  std::vector<std::string> hops;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int from = ring[i], to = ring[(i + 1) % ring.size()];
    if (pairs.at(from, to).kind == PairKind::kHostMemory)
      hops.push_back(fmt::format("{}->{}", gpus[static_cast<std::size_t>(from)], gpus[static_cast<std::size_t>(to)]));
  }
  if (hops.empty()) return "every hop by peer access";
  return (hops.size() == 1 ? "hop " : "hops ") + listed(hops) + " through host memory";
}

}  // namespace linkcast
