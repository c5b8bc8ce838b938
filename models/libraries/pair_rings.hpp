#pragma once
// Transports that the matrix era of NCCL (2.0-2.4) gives each pair of GPUs on one node.
// Rings over members of one node as channels: which hop goes where.
#include <cstddef>
#include <string>
#include <vector>

#include "sim/machine/communicator.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast {

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
