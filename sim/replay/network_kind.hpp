#pragma once
// Kinds of replay networks: a node's links, a cluster's. One file each in sim/replay/networks; they register
// themselves.
#include <memory>
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/plugin/registry.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {

class SharedPlans;

/// What a network is made from.
struct NetworkRequest {
  std::string platform;
  std::string library{};    ///< empty: the platform's default
  int nodes = 0;            ///< 0: one node alone
  int gpus_per_node = 0;    ///< 0: all
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  /// Every operation takes as much longer or shorter as this end of its own interval says: its start-up and its bytes
  /// alike, so that it holds its links for as much longer.
  IntervalEnd end = IntervalEnd::kNone;
  std::shared_ptr<SharedPlans> plans{};  ///< of all networks that are made of the same request; null: it makes its own
};

class NetworkKind {
 public:
  NetworkKind() = default;
  NetworkKind(const NetworkKind&) = delete;
  NetworkKind& operator=(const NetworkKind&) = delete;
  virtual ~NetworkKind() = default;
  /// @throws InputError  not on this platform, or not with these options
  [[nodiscard]] virtual std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                            const NetworkRequest& request) const = 0;
};

Registry<NetworkKind>& network_kinds();

}  // namespace linkcast::replay
