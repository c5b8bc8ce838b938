#include "models/libraries/ring_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

/// The ring, entered at `head`; it leaves the node instead of closing.
struct Entered {
  Channel ring;
  std::optional<Hop> closing{};
};
Entered entered_at(Channel ring, int head) {
  const auto first = std::find(ring.order.begin(), ring.order.end(), head) - ring.order.begin();
  std::rotate(ring.order.begin(), ring.order.begin() + first, ring.order.end());
  if (!ring.hops.empty()) {
    std::rotate(ring.hops.begin(), ring.hops.begin() + first, ring.hops.end());
    const Hop closing = ring.hops.back();
    ring.hops.pop_back();
    return {std::move(ring), closing};
  }
  return {std::move(ring)};
}

}  // namespace

void check_nodes(const Cluster& cluster, const std::vector<int>& gpus, int nodes) {
  if (gpus.empty()) throw InputError("gpus: at least one a node");
  if (nodes < 2 || nodes > cluster.nodes())
    throw InputError("nodes: the fabric of " + cluster.node().topology().name + " joins 2 to " +
                     std::to_string(cluster.nodes()));
}

NicWay nic_way(const Cluster& cluster, int nic) { return {nic, {}, !cluster.node().topology().gpudirect_rdma}; }

std::map<int, int> nic_heads(const Cluster& cluster, const std::vector<int>& gpus) {
  std::map<int, int> first;
  for (const int gpu : gpus) first.try_emplace(cluster.nic_of(gpu), gpu);
  return first;
}

std::vector<Channel> headed_rings(const Cluster& cluster, const std::vector<Channel>& found,
                                  const std::map<int, int>& entries, const HeadedRings& how) {
  std::vector<Channel> rings;
  std::vector<int> uses(found.size(), 0);
  std::set<int> seconds;
  const auto add = [&](int nic, int head) {
    std::size_t best = 0;
    const auto cost = [&](std::size_t i) {
      const Channel ring = entered_at(found[i], head).ring;
      const int second = cluster.nic_of(ring.order[ring.order.size() > 1 ? 1 : 0]);
      return std::make_pair(seconds.count(second) > 0 || (second == nic && entries.size() > 1), uses[i]);
    };
    for (std::size_t i = 1; i < found.size(); ++i)
      if (cost(i) < cost(best)) best = i;
    ++uses[best];
    auto [ring, closing] = entered_at(found[best], head);
    ring.blocks = 2;  // channels are duplicated in the end, as on one node
    ring.in = nic_way(cluster, nic);
    ring.out = nic_way(cluster, cluster.nic_of(ring.order.back()));
    if (how.by_entry && closing && closing->kind == HopKind::kPeer) {
      ring.out = ring.in;
      ring.out.handover = closing;
    }
    seconds.insert(cluster.nic_of(ring.order[ring.order.size() > 1 ? 1 : 0]));
    rings.push_back(std::move(ring));
  };
  for (int turn = 0; turn < how.of_each; ++turn) {
    seconds.clear();
    for (const auto& [nic, head] : entries) add(nic, head);
  }
  return rings;
}

BytesPerSecond nic_bandwidth(const Cluster& cluster, int nic) {
  std::vector<int> way;
  cluster.fabric().minimal_way(cluster.endpoint(0, nic), cluster.endpoint(1, nic), 0, way);
  const FabricLink port = cluster.fabric().link(way.front());
  const FabricLinkClass& host = cluster.fabric().classes()[static_cast<std::size_t>(port.link_class)];
  const auto& reported = cluster.node().topology().reported_rates;
  const auto known = reported.find(host.name);
  return known != reported.end() ? known->second : host.bandwidth;
}

namespace {

// Sets of up to 4 members are searched again with every link counted twice.
// source: models/libraries/SOURCES.md, "Oversubscription, only for <= 4 GPUs"
constexpr int kHalfLinkMembers = 4;

class Search {
 public:
  Search(const LinkMatrix& links, int max_rings, long max_steps)
      : free_(links),
        members_(links.members()),
        limit_(std::min(max_rings, ring_bound(links))),
        max_steps_(max_steps),
        visited_(static_cast<std::size_t>(members_)) {}

  RingPacking run() {
    if (limit_ > 0) start_ring();
    best_.complete = best_.steps <= max_steps_;
    best_.steps = std::min(best_.steps, max_steps_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool done() const { return static_cast<int>(best_.rings.size()) == limit_ || best_.steps > max_steps_; }

  void start_ring() {
    std::vector<int> outer = std::move(ring_);
    std::vector<char> outer_visited = std::move(visited_);
    ring_.assign(1, 0);
    visited_.assign(static_cast<std::size_t>(members_), 0);
    visited_[0] = 1;
    extend(!found_.empty());
    ring_ = std::move(outer);
    visited_ = std::move(outer_visited);
  }

  /// @param as_before  the ring so far equals the start of the ring before it, which it must not fall below
  void extend(bool as_before) {
    const std::size_t place = ring_.size();
    const int from = ring_.back();
    if (static_cast<int>(place) == members_) return close(from);
    const int least = as_before ? found_.back()[place] : 0;
    for (int to = least; to < members_; ++to) {
      if (visited_[static_cast<std::size_t>(to)] || free_.at(from, to) == 0) continue;
      if (++best_.steps > max_steps_) return;
      --free_.at(from, to);
      visited_[static_cast<std::size_t>(to)] = 1;
      ring_.push_back(to);
      extend(as_before && to == least);
      ring_.pop_back();
      visited_[static_cast<std::size_t>(to)] = 0;
      ++free_.at(from, to);
      if (done()) return;
    }
  }

  void close(int last) {
    if (free_.at(last, 0) == 0) return;
    --free_.at(last, 0);
    found_.push_back(ring_);
    if (found_.size() > best_.rings.size()) best_.rings = found_;
    const int possible = static_cast<int>(found_.size()) + ring_bound(free_);
    if (!done() && possible > static_cast<int>(best_.rings.size())) start_ring();
    found_.pop_back();
    ++free_.at(last, 0);
  }

  LinkMatrix free_;
  int members_;
  int limit_;
  long max_steps_;
  std::vector<char> visited_;
  std::vector<int> ring_;
  std::vector<std::vector<int>> found_;
  RingPacking best_;
};

}  // namespace

int ring_bound(const LinkMatrix& links) {
  int bound = std::numeric_limits<int>::max();
  for (int member = 0; member < links.members(); ++member) {
    int out = 0, in = 0;
    for (int other = 0; other < links.members(); ++other) {
      if (other == member) continue;
      out += links.at(member, other);
      in += links.at(other, member);
    }
    bound = std::min({bound, out, in});
  }
  return bound;
}

RingPacking pack_rings(const LinkMatrix& links, int max_rings, long max_steps) {
  return Search(links, max_rings, max_steps).run();
}

RingPacking pack_rings_or_half_links(const LinkMatrix& links, int max_rings, long max_steps) {
  RingPacking plain = pack_rings(links, max_rings, max_steps);
  const int members = links.members();
  const int needed = 2 * static_cast<int>(plain.rings.size());
  if (members > kHalfLinkMembers || std::min(max_rings, 2 * ring_bound(links)) <= needed) return plain;
  LinkMatrix twice(members);
  for (int from = 0; from < members; ++from)
    for (int to = 0; to < members; ++to) twice.at(from, to) = 2 * links.at(from, to);
  RingPacking half = pack_rings(twice, max_rings, max_steps);
  const long steps = plain.steps + half.steps;
  const bool complete = plain.complete && half.complete;
  RingPacking taken = static_cast<int>(half.rings.size()) > needed ? std::move(half) : std::move(plain);
  if (static_cast<int>(taken.rings.size()) > needed) taken.links_per_ring = 1.0 / 2;
  taken.steps = steps;
  taken.complete = complete;
  return taken;
}

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
