#pragma once
// What a communication library builds before it moves a byte: channels (rings) and the protocol for a size.
#include <string>
#include <vector>

#include "sim/platform/platform.hpp"
#include "sim/plugin/registry.hpp"

namespace linkcast {

/// How the two GPUs of one hop of a ring exchange data.
enum class HopKind { kPeer, kHostMemory };

struct Hop {
  int from = 0, to = 0;  ///< GPU numbers
  HopKind kind = HopKind::kPeer;
};

/// One distinct ring. Duplicates (several thread blocks on the same ring) are counted, not repeated.
struct Channel {
  std::vector<int> order;  ///< GPU numbers, each member once, starting at the first member
  std::vector<Hop> hops;   ///< order[i] -> order[i+1], the last one closes the ring
  double links = 1;        ///< share of a link this ring was given in the search, in links (0.5: half a link)
  int blocks = 1;          ///< thread blocks (library channels) that run this ring
};

struct Communicator {
  std::string library;
  std::vector<int> gpus;                     ///< members in rank order
  std::vector<Channel> channels;             ///< distinct rings
  std::string path_class;                    ///< NVL, PIX, PXB, PHB, SYS: worst class over all hops
  double link_equivalents = 0;               ///< sum of Channel::links
  BytesPerSecond library_channel_bandwidth;  ///< what the library assumes of one ring; 0 if its version assumes none
  bool fallback = false;                     ///< true: no closed NVLink ring, rank-order ring through host memory
  std::string why;                           ///< one sentence
};

struct ProtocolChoice {
  std::string protocol;      ///< LL, LL128 or Simple
  double payload_share = 1;  ///< payload bytes / bytes stored into the channel buffer
};

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;
  /// @param gpus  GPU numbers in rank order, at least 2, all different
  [[nodiscard]] virtual Communicator build(const Platform& platform, const std::vector<int>& gpus) const = 0;
  /// Protocol for `size` in the nccl-tests sense. @param forced  empty, or a protocol name
  [[nodiscard]] virtual ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                                const std::string& operation, Bytes size,
                                                const std::string& forced) const = 0;
  /// Cost before the first byte: launch and base of the protocol.
  [[nodiscard]] virtual Seconds base_latency(const std::string& protocol) const = 0;
  /// Cost of one hop of one step.
  [[nodiscard]] virtual Seconds hop_latency(const std::string& protocol, const std::string& path_class) const = 0;
};

Registry<Library>& libraries();

}  // namespace linkcast
