#include "sim/activities/cluster_channels.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/plugin/binary_tree.hpp"
#include "sim/units/index.hpp"

namespace linkcast::activities {
namespace {

/// Adds hops to the next activity of a problem, in bytes stored per byte of payload.
class ChannelPath {
 public:
  ChannelPath(ClusterProblem& problem, const ChannelLoad& load)
      : problem_(problem),
        node_(problem.cluster().node()),
        stored_(1 / load.payload_share),
        cap_Bps_(load.rate_cap_Bps),
        host_wait_(load.host_wait) {}

  /// What these hops take of a node, the same in every node.
  std::vector<Use> inside(const std::vector<Hop>& hops) {
    std::vector<int> links;
    for (const Hop& hop : hops) {
      const HopPath path = hop_path(node_, hop, host_wait_);
      cap_Bps_ = std::min(cap_Bps_, path.rate_cap / stored_);  // the path's cap is of stored bytes
      links.insert(links.end(), path.links.begin(), path.links.end());
    }
    std::vector<Use> uses = kernel_uses(node_, links);
    for (Use& use : uses) use.weight *= stored_;
    return uses;
  }
  /// What the part that one member reduces and stores takes of a node.
  std::vector<Use> multicast(const std::vector<int>& members, int head, double link_share) {
    Activity one_byte = multicast_activity(node_, members, head, {1, true, true, link_share});
    for (Use& use : one_byte.uses) use.weight *= one_byte.work_B * stored_;
    return std::move(one_byte.uses);
  }
  /// From one node to another. What another GPU sends in the place of the first one is handed to it first.
  /// @param part  of the bytes
  void between(ClusterGpu from, const NicWay& out, ClusterGpu to, const NicWay& in, double part = 1) {
    const Cluster& cluster = problem_.cluster();
    if (out.handover) {
      std::vector<Use> handed = inside({*out.handover});
      for (Use& use : handed) use.weight *= part;
      problem_.pass_constraints(from.node, handed);
    }
    const NetworkEnd sends = network_end(cluster, from, out), receives = network_end(cluster, to, in);
    const double weight = stored_ * part;
    problem_.pass_network(sends, receives, weight);
    problem_.pass_engines(cluster.endpoint(from.node, sends.nic), cluster.endpoint(to.node, receives.nic), weight);
  }

  int add(double bytes) {
    Activity flow;
    flow.work_B = bytes;
    flow.rate_cap_Bps = cap_Bps_;
    return problem_.add(std::move(flow));
  }

 private:
  ClusterProblem& problem_;
  ProblemBuilder node_;
  double stored_, cap_Bps_, host_wait_;
};

/// The part of ring number `ring` that a node runs.
const Channel& part_of(const Communicator& communicator, int ring, int node) {
  return communicator.channels[at(communicator.swaps_rings && node % 2 == 1 ? ring ^ 1 : ring)];
}

/// Who talks to whom on the hop from a node of a ring to the next one.
struct RingHop {
  ClusterGpu from, to;
  const NicWay &out, &in;
};
RingHop hop_after(const Communicator& communicator, int ring, int node) {
  const int next = (node + 1) % communicator.nodes;
  const Channel &here = part_of(communicator, ring, node), &there = part_of(communicator, ring, next);
  return {{node, here.order.back()}, {next, there.order.front()}, here.out, there.in};
}

/// A GPU of a tree and its way to the NIC.
struct TreeEnd {
  ClusterGpu gpu;
  const NicWay& way;
};
TreeEnd first_of(const Tree& chain, int node) { return {{node, chain.order.front()}, chain.first}; }

/// The GPU of the parent that a node talks to: of two children, the second one's is the next in the chain.
TreeEnd parent_end(const Communicator& communicator, const Tree& chain, const BinaryTree& tree, int child) {
  const int parent = tree.parent[static_cast<std::size_t>(child)];
  const auto& children = tree.children[static_cast<std::size_t>(parent)];
  const bool second = children.size() > 1 && children.back() == child && !communicator.plain_trees;
  if (second && chain.order.size() > 1) return {{parent, chain.order[1]}, chain.second};
  return first_of(chain, parent);
}

int endpoint(const Cluster& cluster, ClusterGpu gpu, const NicWay& way) {
  return cluster.endpoint(gpu.node, network_end(cluster, gpu, way).nic);
}

/// The GPU of a channel that talks to switches or to other nodes' GPUs of the same number, and the fabric's end there.
ClusterGpu entry(int node, const Channel& channel) { return {node, channel.order.front()}; }
int card(const Cluster& cluster, int node, const Channel& channel) {
  return endpoint(cluster, entry(node, channel), channel.in);
}

/// Every member's data to the head and the result back, the head's links shared by all.
std::vector<Hop> star_hops(const Platform& node, const std::vector<int>& members, int head) {
  std::vector<Hop> hops;
  for (const int member : members) {
    if (member == head) continue;
    const bool peer = node.peer_route(node.gpu(member), node.gpu(head)).has_value();
    const HopKind kind = peer ? HopKind::kPeer : HopKind::kHostMemory;
    hops.push_back({member, head, kind});
    hops.push_back({head, member, kind});
  }
  return hops;
}

/// To the head along a chain, and back.
std::vector<Hop> chain_hops(const Channel& chain) {
  std::vector<Hop> hops = chain.hops;
  const std::size_t down = hops.size();
  for (std::size_t i = 0; i < down; ++i) {
    Hop up = hops[i];
    std::swap(up.from, up.to);
    hops.push_back(up);
  }
  return hops;
}

/// Largest sum of `edge` over the nodes from any leaf to the root.
double deepest(const BinaryTree& tree, const std::function<double(int)>& edge) {
  double most = 0;
  for (int node = 0; node < static_cast<int>(tree.parent.size()); ++node) {
    if (!tree.children[static_cast<std::size_t>(node)].empty()) continue;
    double sum = 0;
    for (int at = node; tree.parent[static_cast<std::size_t>(at)] >= 0; at = tree.parent[static_cast<std::size_t>(at)])
      sum += edge(at);
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

int add_cluster_ring(ClusterProblem& problem, const Communicator& communicator, int ring, bool closed,
                     const ChannelLoad& load) {
  ChannelPath path(problem, load);
  const int nodes = communicator.nodes;
  const std::vector<Use> even = path.inside(part_of(communicator, ring, 0).hops),
                         odd = path.inside(part_of(communicator, ring, 1).hops);
  for (int node = 0; node < nodes; ++node) {
    problem.pass_constraints(node, node % 2 == 0 ? even : odd);
    if (!closed && node + 1 == nodes) continue;
    const RingHop hop = hop_after(communicator, ring, node);
    path.between(hop.from, hop.out, hop.to, hop.in);
  }
  return path.add(load.bytes);
}

std::vector<int> add_cluster_tree(ClusterProblem& problem, const Communicator& communicator, const Tree& chain,
                                  int which, const ChannelLoad& load) {
  const BinaryTree tree = double_binary_tree(communicator.nodes, which);
  std::vector<int> activities;
  for (const bool up : {true, false}) {
    ChannelPath path(problem, load);
    std::vector<Hop> hops = chain.hops;
    for (Hop& hop : hops)
      if (up) std::swap(hop.from, hop.to);
    const std::vector<Use> passing = path.inside(hops);
    for (int node = 0; node < communicator.nodes; ++node) {
      problem.pass_constraints(node, passing);
      if (node == tree.root) continue;
      const TreeEnd here = first_of(chain, node), above = parent_end(communicator, chain, tree, node);
      if (up)
        path.between(here.gpu, here.way, above.gpu, above.way);
      else
        path.between(above.gpu, above.way, here.gpu, here.way);
    }
    activities.push_back(path.add(load.bytes));
  }
  return activities;
}

int add_multicast_tree(ClusterProblem& problem, const Communicator& communicator, int head, int which,
                       const ChannelLoad& load, double link_share) {
  const BinaryTree tree = double_binary_tree(communicator.nodes, which);
  ChannelPath path(problem, load);
  const std::vector<Use> passing = path.multicast(communicator.gpus, head, link_share);
  for (int node = 0; node < communicator.nodes; ++node) {
    problem.pass_constraints(node, passing);
    if (node == tree.root) continue;
    const ClusterGpu here{node, head}, above{tree.parent[static_cast<std::size_t>(node)], head};
    path.between(here, {}, above, {});
    path.between(above, {}, here, {});
  }
  return path.add(load.bytes);
}

int add_switch_reduction(ClusterProblem& problem, const Communicator& communicator, const Channel& chain, InNode inside,
                         const ChannelLoad& load, double link_share) {
  ChannelPath path(problem, load);
  const int head = chain.order.front();
  const Platform& node = problem.cluster().node();
  const std::vector<Use> passing =
      inside == InNode::kMulticast
          ? path.multicast(communicator.gpus, head, link_share)
          : path.inside(inside == InNode::kDirect ? star_hops(node, communicator.gpus, head) : chain_hops(chain));
  for (int i = 0; i < communicator.nodes; ++i) {
    problem.pass_constraints(i, passing);
    path.between(entry(i, chain), chain.in, entry((i + 1) % communicator.nodes, chain), chain.in);
  }
  return path.add(load.bytes);
}

std::vector<double> aggregated_shares(int ranks) {
  std::vector<double> shares;
  for (int length = 1; length < ranks; length *= 2) {
    int edges = 0;  // ranks whose distance from the root has `length` as its lowest bit
    for (int rank = length; rank < ranks; rank += 2 * length) ++edges;
    shares.push_back(edges / (ranks - 1.0));
  }
  return shares;
}

int add_aggregated_trees(ClusterProblem& problem, const Communicator& communicator, const Channel& channel,
                         const ChannelLoad& load) {
  ChannelPath path(problem, load);
  const int nodes = communicator.nodes;
  const std::vector<double> shares = aggregated_shares(nodes);
  for (std::size_t k = 0; k < shares.size(); ++k)
    for (int node = 0; node < nodes; ++node)
      path.between(entry(node, channel), channel.in, entry((node + (1 << k)) % nodes, channel), channel.in, shares[k]);
  return path.add(load.bytes);
}

Tree chain_of(int head) { return {{head}, {}, 1}; }

double ring_delay_s(const Cluster& cluster, const Communicator& communicator, bool closed, const HopDelay& delay_s) {
  double sum = 0;
  for (int node = 0; node < communicator.nodes - (closed ? 0 : 1); ++node) {
    const RingHop hop = hop_after(communicator, 0, node);
    sum += delay_s(endpoint(cluster, hop.from, hop.out), endpoint(cluster, hop.to, hop.in));
  }
  return sum;
}

double tree_delay_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which,
                    const HopDelay& delay_s) {
  const BinaryTree tree = double_binary_tree(communicator.nodes, which);
  return deepest(tree, [&](int node) {
    const TreeEnd here = first_of(chain, node), above = parent_end(communicator, chain, tree, node);
    return delay_s(endpoint(cluster, here.gpu, here.way), endpoint(cluster, above.gpu, above.way));
  });
}

double reduction_delay_s(const Cluster& cluster, const Communicator& communicator, const Channel& channel,
                         const HopDelay& delay_s) {
  double most = 0;
  for (int node = 1; node < communicator.nodes; ++node)
    most = std::max(most, delay_s(card(cluster, 0, channel), card(cluster, node, channel)));
  return most;
}

double aggregated_delay_s(const Cluster& cluster, const Communicator& communicator, const Channel& channel,
                          const HopDelay& delay_s) {
  double sum = 0;
  for (int length = 1; length < communicator.nodes; length *= 2)
    sum += delay_s(card(cluster, 0, channel), card(cluster, length, channel));
  return sum;
}

HopDelay distance_in(const Cluster& cluster) {
  return [&cluster](int from, int to) { return cluster.beyond_nearest(fabric_latency(cluster.fabric(), from, to)).si; };
}

double ring_distance_s(const Cluster& cluster, const Communicator& communicator, bool closed) {
  return ring_delay_s(cluster, communicator, closed, distance_in(cluster));
}

double tree_distance_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which) {
  return tree_delay_s(cluster, communicator, chain, which, distance_in(cluster));
}

int tree_depth(int nodes, int which) {
  return static_cast<int>(deepest(double_binary_tree(nodes, which), [](int) { return 1; }));
}

}  // namespace linkcast::activities
