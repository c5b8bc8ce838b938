#pragma once
// Transports that the matrix era of NCCL (2.0-2.4) gives each pair of GPUs on one node.
// Rings over members of one node as channels: which hop goes where.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast {

// Rings of one node as parts of rings over several.

/// @throws InputError  no GPU, more nodes than the fabric has room for
void check_nodes(const Cluster& cluster, const std::vector<int>& gpus, int nodes);

/// The first member next to each NIC in use, in the order of the NICs.
std::map<int, int> nic_heads(const Cluster& cluster, const std::vector<int>& gpus);

struct HeadedRings {
  int of_each = 1;        ///< rings for each NIC
  bool by_entry = false;  ///< the last GPU hands its data to the first one, whose NIC sends them, where peers can
};
/// Rings for each NIC: the first one not used yet whose second GPU, where the second child of a tree arrives, is next
/// to a NIC that no other has there; so that trees load all NICs alike. Else it leaves by the NIC
/// next to its last GPU.
/// @param entries  see nic_heads()
std::vector<Channel> headed_rings(const Cluster& cluster, const std::vector<Channel>& found,
                                  const std::map<int, int>& entries, const HeadedRings& how = {});

/// By a NIC, through host memory where NICs do not access that of GPUs.
NicWay nic_way(const Cluster& cluster, int nic);

/// Bytes/s that the library counts on for the cable of a NIC.
BytesPerSecond nic_bandwidth(const Cluster& cluster, int nic);

// How many closed rings fit into a set of links: a pure function over a matrix of link counts.

/// Directed link counts between the members of a communicator, by member index.
class LinkMatrix {
 public:
  explicit LinkMatrix(int members)
      : members_(members), links_(static_cast<std::size_t>(members) * static_cast<std::size_t>(members)) {}
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int& at(int from, int to) { return links_[index(from, to)]; }
  [[nodiscard]] int at(int from, int to) const { return links_[index(from, to)]; }

 private:
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(members_) + static_cast<std::size_t>(to);
  }
  int members_;
  std::vector<int> links_;
};

struct RingPacking {
  std::vector<std::vector<int>> rings;  ///< member indices, each once, member 0 first; in ascending order
  double links_per_ring = 1;            ///< 0.5 if every link was counted twice
  long steps = 0;                       ///< hops tried
  bool complete = true;                 ///< false: the step budget ended the search, more rings may exist
};

/// No search finds more rings than this: the fewest links into or out of one member.
int ring_bound(const LinkMatrix& links);

/// As many closed rings over all members as fit, one link used up per directed hop. Depth first, rings start at member
/// 0, neighbours in index order, first best kept.
/// Two cuts leave that answer as it is: a ring is never smaller (as a sequence) than the one before it, because the
/// ascending order of a set of rings is the one found first; and a branch that ring_bound() keeps from beating the best
/// is left.
/// @param links  at least 2 members
/// @param max_rings  stop there
/// @param max_steps  hops to try at most; counted, not timed, so that the answer never depends on the machine
RingPacking pack_rings(const LinkMatrix& links, int max_rings, long max_steps);

/// pack_rings, and for few members once more with every link counted twice: that is taken if it gives more than twice
/// the rings. steps are added up.
/// @source  models/libraries/SOURCES.md (NCCL 2.3.7)
RingPacking pack_rings_or_half_links(const LinkMatrix& links, int max_rings, long max_steps);

enum class PairKind { kHostMemory, kPcie, kNvlink, kNvswitch };

/// Best first. NVL: NVLink; PIX, PXB: one, several PCIe switches; PHB: through the CPU; SYS: from socket to socket.
enum class PathClass { kNvl, kPix, kPxb, kPhb, kSys };
const std::string& to_text(PathClass path_class);

struct PairTransport {
  PairKind kind = PairKind::kHostMemory;
  PathClass path_class = PathClass::kSys;
  int links = 0;  ///< NVLinks of the pair; behind NVSwitches: of the GPU that has fewer
  int value = 0;  ///< the library's figure of merit; 0 without peer access
};

/// Transports between the members of a communicator, by member index. Symmetric.
class PairTable {
 public:
  /// @param gpus  GPU numbers in rank order
  PairTable(const Platform& platform, const std::vector<int>& gpus);
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] const PairTransport& at(int a, int b) const { return pairs_[index(a, b)]; }
  /// True if all pairs of different members are of this kind.
  [[nodiscard]] bool all(PairKind kind) const;
  /// Members joined by any chain of pairs with peer access, each domain and the list in ascending order.
  [[nodiscard]] std::vector<std::vector<int>> domains() const;

 private:
  [[nodiscard]] std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(members_) + static_cast<std::size_t>(b);
  }
  int members_;
  std::vector<PairTransport> pairs_;
};

/// @param gpus  GPU numbers by member index. @param ring  member indices. @param links  of each hop, given to this ring
Channel pair_channel(const PairTable& pairs, const std::vector<int>& gpus, const std::vector<int>& ring, double links);

/// Over all hops of these rings.
PathClass worst_class(const PairTable& pairs, const std::vector<std::vector<int>>& rings);

/// "every hop by peer access", "hop 3->4 through host memory"
std::string host_hops(const PairTable& pairs, const std::vector<int>& ring, const std::vector<int>& gpus);

/// "3->4", "1->6 and 7->0", "0->5, 5->2 and 2->0"
std::string listed(const std::vector<std::string>& parts);

}  // namespace linkcast
