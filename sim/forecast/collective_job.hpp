#pragma once
// One collective of one communicator, whatever the machine and whoever runs it.
#include <string>
#include <vector>

#include "sim/forecast/launching.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"

namespace linkcast {
class Algorithm;
}

namespace linkcast::collective {

/// source: NVIDIA/nccl-tests README, -n, --iters: 20 by default
inline constexpr int kUsualCalls = 20;

/// Name of the algorithm of a group of sends and receives.
inline constexpr const char* kGroupedMessages = "messages";

/// Least bytes of a channel's buffer that are modelled. source: ours, eight steps of 8 KiB
inline constexpr double kLeastBuffer_B = 65536;

/// Bytes of a channel's buffers by protocol, eight steps each; 0: the library's own. As NCCL_BUFFSIZE and its like.
struct ChannelBuffers {
  double ll_B = 0, ll128_B = 0, simple_B = 0;
  [[nodiscard]] double of(const std::string& protocol) const {
    return protocol == "LL" ? ll_B : protocol == "LL128" ? ll128_B : simple_B;
  }
};

/// What is asked: an operation of a size by a communicator that a library has built.
struct CollectiveJob {
  const Cluster& machine;  ///< a node is a cluster of one
  const Library& library;
  const Communicator& communicator;  ///< of a library that sends messages by a schedule: its ranks alone
  const Collective& op;
  std::string op_name;
  double size_B = 0;                    ///< in the nccl-tests sense
  std::string algorithm{}, protocol{};  ///< empty, or forced
  int channels = 0;                     ///< thread blocks of each GPU; 0: the library's choice
  bool nvls = true;                     ///< false: without multicast by NVSwitch, whatever the machine offers
  bool collnet = false;                 ///< the switches between nodes reduce
  int calls = kUsualCalls;              ///< made one behind the other; the time is that of one
  std::string engine{};                 ///< of messages between nodes: direct, reduced; empty: reduced where exact
  std::string transport{};              ///< of a schedule's messages between nodes; empty: what the library would take
  /// Where node i of `machine` is on the machine that several jobs share, all others after those in its order; empty:
  /// node i of that one.
  std::vector<int> order{};
  launch::Launching launching{};              ///< who issues its calls; unless said the devices alone
  const Algorithm* own = nullptr;             ///< a user's algorithm, in the place of the library's choice
  int least_channels = 0, most_channels = 0;  ///< as channels, where only one end is said
  std::vector<std::string> without{};         ///< algorithms and protocols to leave out
  bool plugin_tuner = true;                   ///< false: the network's plug-in does not choose
  ChannelBuffers buffers{};
  /// Payload that fits a channel's buffer, and one of its steps. @param protocol  none stands for Simple
  [[nodiscard]] double buffer_B(const std::string& protocol) const;
  [[nodiscard]] double step_B(const std::string& protocol) const;
  /// How the library runs it; of a job whose communicator the library has built.
  [[nodiscard]] const RingLibrary& rings() const { return *library.rings(); }
  /// Whether the library sends it as rounds of messages.
  [[nodiscard]] bool of_rounds() const { return library.rings() == nullptr; }
  /// What a library of rings is called for: the operation, or what stands for it.
  [[nodiscard]] std::string call() const { return op.grouped_call().empty() ? op_name : op.grouped_call(); }
  [[nodiscard]] int ranks() const { return communicator.ranks(); }
  [[nodiscard]] bool one_node() const { return communicator.nodes == 1; }
  [[nodiscard]] const Platform& node() const { return machine.node(); }
  /// Request to its library's cost model.
  [[nodiscard]] TunerRequest tuner_request() const {
    return {call(),   {size_B},       algorithm,     protocol, nvls,        collnet,
            channels, least_channels, most_channels, without,  plugin_tuner};
  }
  /// Of one of its calls. @param device_s  that the devices take for it
  [[nodiscard]] double launched_s(double device_s) const { return launching.time_s(device_s); }
  /// Whether all ranks send their messages at once, instead of rings and trees.
  [[nodiscard]] bool of_messages() const { return own == nullptr && op.shape() == Shape::kPairs; }
};

/// Of a key of the machine, as people read it: of a job on one node without the node.
std::string name_of(const CollectiveJob& job, int key);
/// Of keys of the job's machine, those in the machine that it shares with other jobs.
class SharedKeys {
 public:
  /// @param job, shared  outlive this one
  SharedKeys(const CollectiveJob& job, const Cluster& shared);
  [[nodiscard]] int operator()(int key) const;
  /// Endpoint of the shared machine's fabric, of one of the job's.
  [[nodiscard]] int endpoint(int here) const;

 private:
  [[nodiscard]] int node_there(int here) const;

  const CollectiveJob& job_;
  const Cluster& shared_;
  std::vector<int> sorted_;  ///< the job's order, rising
};
/// Nodes of the shared machine that it runs on, in rank order.
std::vector<int> nodes_of(const CollectiveJob& job);

}  // namespace linkcast::collective
