#pragma once
// What is asked about copies: one of them, or several that start together, inside nodes and between them.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/host_costs.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::copy {

enum class Timing {
  kSingle,      ///< starts from rest
  kBackToBack,  ///< one of a queue of equal ones
};
std::string name_of(Timing timing);

/// Name of a message whose kind follows from its ends.
inline constexpr const char* kMessage = "mpi";

/// Moved by engines or kernels of one node, or sent as a message from one process to another: between two nodes, or
/// asked for by the name of a message.
struct Copy {
  activities::ClusterEnd from, to;
  double bytes = 0;
  bool message = false;
};

/// A CPU thread that issues the copies one behind the other, in the order of the request, and waits for them.
struct CopyHost {
  launch::HostTime issue{};  ///< of one copy
  launch::HostTime wait{};
  std::string lender{};  ///< machine whose host this is; empty: the machine's own
};

struct CopyRequest {
  std::vector<Copy> copies{};   ///< all start at once; with `bidirectional` the second is the first one's way back
  bool together = false;        ///< asked for as flows, each of which is answered
  bool names_nodes = false;     ///< the answer names its links by node
  activities::Transfer inside;  ///< of each copy in a node: everything but its ends and bytes
  activities::Message between;  ///< of each message: everything but its ends and bytes
  Timing timing = Timing::kSingle;
  int into_nic = -1;  ///< number of a NIC that reads the bytes and throws them away
  int via_nic = -1;   ///< number of a NIC by which they go out and come back
  congestion::NetworkLoad load{};
  std::optional<CopyHost> host{};  ///< none: the devices alone
  [[nodiscard]] double issue_s() const { return host ? static_cast<double>(copies.size()) * host->issue.s : 0; }
};

/// True of an end that is written node<number>/<device>.
bool names_node(const Json& end);
/// True if an end of the query is written node<number>/<device>: it is answered by the whole cluster.
bool names_nodes(const Json& query);
/// True if the query's `dst` or `via` is a NIC of the platform: it is answered by the whole cluster.
bool names_nic(const Platform& platform, const Json& query);

/// gpu0, of the first node, or node3/gpu1. @param key  of the text, for errors
activities::ClusterEnd read_end(const Cluster& machine, const ObjectReader& r, const std::string& key,
                                const std::string& text);

/// Keys src, dst, size_B, and by the ends: in a node transport, via, bidirectional, engine, direction, timing,
/// pageable, chunk_B; of messages transport, bidirectional, timing; of both noise, samples, service_level; with a NIC
/// via, timing.
/// @param host  that issues the copies, if one was asked for
CopyRequest read_p2p(const Cluster& machine, ObjectReader& r, log::Progress& progress,
                     const std::optional<CopyHost>& host = {});
/// Keys flows [[src, dst, size_B], ...], transport, timing, noise, samples, service_level; if some stay in a node
/// engine, direction.
CopyRequest read_flows(const Cluster& machine, ObjectReader& r, log::Progress& progress,
                       const std::optional<CopyHost>& host = {});

}  // namespace linkcast::copy
