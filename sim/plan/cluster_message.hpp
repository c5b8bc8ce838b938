#pragma once
// A message between two ranks of a cluster: which fitted curve it follows and which links it crosses.
#include <string>
#include <utility>
#include <vector>

#include "sim/plan/cluster_problem.hpp"

namespace linkcast::activities {

/// One end: a GPU or a CPU of a node, as device of the node's topology.
struct ClusterEnd {
  int node = 0, device = 0;
  int process = -1;  ///< number of the GPU whose process it is; -1: nothing else of that process is known
};

struct Message {
  ClusterEnd from, to;
  double bytes = 0;
  std::string transport;   ///< of Transports::message_names(); empty: what the library would take
  double wait_s = 0;       ///< passes first: posting, reducing
  double count = 1;        ///< equal messages that this one stands for: their bytes, one start-up
  std::vector<int> way{};  ///< links of the fabric; empty: what its routing takes
  /// Others run beside it: it holds the engines of the cards it passes, and copies of staged ones their copy engines.
  bool shares = false;
  Pace inside{};  ///< what stands in for a message between processes of one node; no rate: what is known of others
  int nics = 1;   ///< that it uses at once, where it is between nodes
};

struct PlannedMessage {
  std::string transport;
  int activity = 0;          ///< that ends last
  int network = 0;           ///< that crosses the network: the same, but for staged copies that take turns with it
  double latency_s = 0;      ///< of the smallest message, with this distance's share
  double distance_s = 0;     ///< what the distance adds to the start-up that was measured between neighbours
  std::string distance;      ///< "same switch", ...; empty inside a node
  std::vector<int> links{};  ///< keys in the cluster, in order, of one way
  double rate_error = 0, delay_error_s = 0;
  double slow = 1;        ///< how many times as long as it should the slowest NIC on its way takes (an edit)
  int nics = 1;           ///< that share its bytes: the fewest that carry the rate measured at this size
  std::string warning{};  ///< what stands in for a kind of message that was not measured
  bool stand_in = false;  ///< no message inside a node was measured: see stand_in() in the .cpp
};

/// What a message inside a node is made of, where several follow each other.
struct InsideTurn {
  std::string transport;   ///< its curve
  bool copied = false;     ///< a copy that a process gives to a GPU; else the processes move the bytes themselves
  bool by_kernel = false;  ///< copied: by stores of a kernel
  double rate_Bps = 0;     ///< not copied: of that process
  double rate_error = 0;   ///< relative
  bool measured = false;   ///< not copied: that rate
};
/// A curve that ends is of eager messages alone: what is larger is copied. So is all between GPUs of a curve that does
/// not end.
InsideTurn inside_turn(const Platform& node, const Message& message);

/// Queue of a node's copy engine (out_queue(), in_queue()) among those of all nodes.
int queue_of_node(const Platform& node, int number, int queue);

/// How much of what an engine can receive the start of a message takes from it, per byte of the message: the processor
/// that starts messages of GPU memory is the one that receives. A message alone is not slower for it.
/// @source  paper 004, section IV (Nios II handles both) and V-A (3 us before the first request)
double start_weight(const Cluster& cluster, const Message& message, int from_endpoint, double rate_Bps);

/// True if the bytes are copied to host memory first, sent when all of them are there, and copied on at the other end:
/// three activities, one after the other. So it is where a staged message's curve has a start-up and no rate, and where
/// there is no curve but host copies and messages between hosts were measured.
/// @param transport  pinned, or pinned_source: written into the target's GPU by the network itself
bool staged_in_turn(const Platform& node, const std::string& transport);

/// NICs by which a message between two nodes leaves and arrives, as endpoints of the fabric.
std::pair<int, int> endpoints_of(const Cluster& cluster, const Message& message);

/// @param after  activities that must be finished first
/// @throws InputError  no such message was measured on this machine; says which were
PlannedMessage add_message(ClusterProblem& problem, const Message& message, std::vector<int> after = {});

}  // namespace linkcast::activities
