#include "sim/records/parameters.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/records/input_error.hpp"

namespace linkcast {
namespace {

const std::array<std::pair<const char*, ParameterOf>, 10> kHeads = {{{"cable", ParameterOf::kCable},
                                                                     {"link", ParameterOf::kLink},
                                                                     {"transport", ParameterOf::kTransport},
                                                                     {"copy_engine", ParameterOf::kEngine},
                                                                     {"nccl", ParameterOf::kLibrary},
                                                                     {"mpi", ParameterOf::kLibrary},
                                                                     {"noise", ParameterOf::kNoise},
                                                                     {"launch", ParameterOf::kLaunch},
                                                                     {"recording", ParameterOf::kRecording},
                                                                     {"host_memory", ParameterOf::kHostMemory}}};

/// "peer.r0": one size range of a transport.
bool is_regime(const std::string& subject) {
  const auto dot = subject.find('.');
  return dot != std::string::npos && subject.size() > dot + 2 && subject[dot + 1] == 'r';
}

bool fits(const ParameterKind& row, ParameterOf of, const ParameterName& name) {
  if (row.what != name.what) return false;
  const bool transport = of == ParameterOf::kTransport;
  if (row.of != (transport && is_regime(name.subject) ? ParameterOf::kRegime : of)) return false;
  const bool library = of == ParameterOf::kLibrary;  // "ring.LL@2.8" is of one version
  const std::string subject = library ? name.subject.substr(0, name.subject.find('@')) : name.subject;
  return row.subject.empty() || row.subject == subject;
}

/// What NCCL's rings and trees pay in a node and between nodes.
void add_rings_and_trees(std::vector<ParameterKind>& all) {
  using enum ParameterOf;
  for (const std::string cost :
       {"ring.LL", "ring.LL128", "ring.Simple", "tree.LL", "tree.LL128", "tree.Simple", "sendrecv"}) {
    all.push_back({kLibrary, "base_s", "s", "NCCL: cost of a collective before its first step", cost});
    all.push_back({kLibrary, "hop_s", "s", "NCCL: cost of one step", cost});
    all.push_back({kLibrary, "channel_Bps", "B/s", "NCCL: most that one thread block moves", cost});
    all.push_back({kLibrary, "turn_steps", "1", "NCCL: steps that filling the pipeline takes", cost});
    all.push_back({kLibrary, "tail_steps", "1", "NCCL: what the step that sends nothing takes, in steps", cost});
    all.push_back({kLibrary, "host_wait", "1",
                   "NCCL: part of the quicker way through host memory that does not overlap with the other", cost});
    all.push_back({kLibrary, "crowding", "1", "NCCL: what each further thread block slows all down by", cost});
  }
  for (const std::string protocol : {"LL", "LL128", "Simple"}) {
    all.push_back(
        {kLibrary, "slowness", "1", "NCCL: base and steps of a tree, over those of a ring", "tree." + protocol});
    all.push_back({kLibrary, "hop_s", "s", "NCCL: cost of one step between nodes", "network." + protocol});
    all.push_back({kLibrary, "channel_Bps", "B/s", "NCCL: most that one thread block moves between nodes",
                   "network." + protocol});
  }
  for (const std::string other : {"nvls", "pat"})
    all.push_back({kLibrary, "base_s", "s", "NCCL: cost of a collective before its first step", other});
  for (const std::string other : {"nvls", "nvls_tree", "pat", "collnet_direct", "collnet_chain"})
    all.push_back({kLibrary, "network_hop_s", "s", "NCCL: cost of one step between nodes", other});
  for (const std::string other : {"collnet_direct", "collnet_chain"})
    all.push_back({kLibrary, "hop_s", "s", "NCCL: cost of one step", other});
  for (const std::string other : {"pat", "collnet_direct"})
    all.push_back({kLibrary, "rank_s", "s", "NCCL: what each rank adds to the cost before the bytes", other});
  all.push_back({kLibrary, "channel_Bps", "B/s", "NCCL: most that one thread block moves by NVSwitch", "nvls"});
  all.push_back({kLibrary, "link_share", "1", "NCCL: share of the links' rate that multicast attains", "nvls"});
  all.push_back({kLibrary, "narrow8_share", "1",
                 "NCCL: share of channel_Bps that is left where parts begin at multiples of 8 bytes", "ring.Simple"});
  all.push_back({kLibrary, "narrow4_share", "1", "the same at multiples of 4 bytes", "ring.Simple"});
}

/// What issuing work costs the host.
void add_launches(std::vector<ParameterKind>& all) {
  using enum ParameterOf;
  for (const std::string issuer : {"process", "single_process", "pytorch", "copy", "kernel", "synchronise"}) {
    all.push_back({kLaunch, "call_s", "s",
                   "what a call costs the host that issues it; another machine's where not measured", issuer});
    all.push_back({kLaunch, "sigma", "1", "spread of the logarithm of what the host pays", issuer});
  }
  for (const std::string issuer : {"process", "single_process", "pytorch"})
    all.push_back({kLaunch, "send_s", "s", "the same of each further send and receive in a group", issuer});
  all.push_back({kLaunch, "gpu_s", "s", "the same of each GPU that one thread issues for", "single_process"});
  all.push_back({kLaunch, "batch_s", "s", "the same of a batch of one send and receive", "pytorch"});
}

/// What NCCL's kernels pay for hops through host memory.
void add_host_path(std::vector<ParameterKind>& all) {
  for (const std::string cost : {"host.LL", "host.LL128", "host.Simple", "host.sendrecv"}) {
    all.push_back({ParameterOf::kLibrary, "base_s", "s", "NCCL: the same where hops go through host memory", cost});
    all.push_back({ParameterOf::kLibrary, "hop_s", "s", "NCCL: cost of one step through host memory", cost});
    all.push_back(
        {ParameterOf::kLibrary, "channel_Bps", "B/s", "NCCL: most that one thread block moves through it", cost});
  }
  all.push_back(
      {ParameterOf::kLibrary, "data_share", "1", "NCCL: share of PCIe's rate that flags and polls leave", "host"});
  all.push_back({ParameterOf::kLibrary, "cache_B", "B",
                 "NCCL: of its buffers in host memory, what stays in the CPU's cache", "host"});
}

/// Of libraries that send messages by a schedule.
std::vector<ParameterKind> message_rows() {
  using enum ParameterOf;
  return {{kLibrary, "post_s", "s", "MPI: between two messages that a process posts, buffers in host memory", "host"},
          {kLibrary, "eager_B", "B", "MPI: up to it a sender does not wait for the receiver", "host"},
          {kLibrary, "reduce_Bps", "B/s", "MPI: bytes that one process adds to its own", "host"},
          {kLibrary, "nics", "1", "MPI: NICs that a message between hosts uses at once", "host"},
          {kLibrary, "post_s", "s", "MPI: between two messages that a process posts, buffers on a GPU", "gpu"},
          {kLibrary, "startup_s", "s", "MPI: message between processes of one node, where none was measured", "inside"},
          {kLibrary, "bandwidth_Bps", "B/s", "MPI: the same, its rate", "inside"},
          {kLibrary, "copy_s", "s", "MPI: start and end of the copy of a buffer to or from pageable memory", "staging"},
          {kLibrary, "copy_Bps", "B/s", "MPI: most that one process gets of such copies", "staging"},
          {kLibrary, "fresh_Bps", "B/s", "MPI: rate of the first touch of large buffers, beside the copy", "staging"},
          {kLibrary, "fresh_from_B", "B", "MPI: size about which buffers are that large", "staging"},
          {kLibrary, "version", "1", "MPI: version that the machine runs, as 4.0", "library"}};
}

std::vector<ParameterKind> rows() {
  using enum ParameterOf;
  std::vector<ParameterKind> all = {
      {kCable, "bandwidth_Bps", "B/s", "rate of one cable, one direction; nominal where not measured"},
      {kCable, "to_host_Bps", "B/s", "the same of PCIe towards the CPU; bandwidth_Bps where not measured"},
      {kCable, "from_host_Bps", "B/s", "the same of PCIe away from the CPU; bandwidth_Bps where not measured"},
      {kCable, "duplex_Bps", "B/s", "both directions of a cable together; independent where not measured"},
      {kCable, "kernel_duplex_Bps", "B/s", "both directions of loads and stores by kernels together"},
      {kCable, "flow_bandwidth_Bps", "B/s", "most that one copy gets of a cable; all of it where not measured"},
      {kCable, "store_Bps", "B/s", "most that one kernel stores through a cable; all of it where not measured"},
      {kCable, "load_Bps", "B/s", "most that one kernel loads through a cable; all of it where not measured"},
      {kCable, "half_bandwidth_B", "B", "size at which a copy attains half the rate; follows from others"},
      {kLink, "bandwidth_Bps", "B/s", "rate of one direction of a cable; that of the cable where not measured"},
      {kCable, "retry_rate", "1", "share of the packets on the wire that are sent again; 0 where not measured", "",
       true, 1},
      {kCable, "latency_scale", "1",
       "time of ways between switches, over what data sheets add up to; 1 where not measured"},
      {kLink, "retry_rate", "1", "the same of one direction; that of the cable where not measured", "", true, 1},
      {kRegime, "to_B", "B", "largest size of this range; unlimited in the last one"},
      {kRegime, "startup_s", "s", "time before the first byte"},
      {kRegime, "flat_s", "s", "the same where the bytes move within it"},
      {kRegime, "bandwidth_Bps", "B/s", "most that one copy gets; what its links carry where not measured"},
      {kTransport, "single_s", "s", "what a copy from rest costs more than one of a queue; 0 where not measured"},
      {kTransport, "chunk_B", "B", "held in host memory before the second leg; assumed where not measured", "staged"},
      {kTransport, "handover_s", "s", "between the two copies of a relayed one; 0 where not measured", "relay"},
      {kEngine, "turn_s", "s", "between copies of two streams on one copy engine; 0 where not measured"},
      {kHostMemory, "write_Bps", "B/s",
       "what devices together write into the memory of one CPU; no limit where not measured"},
      {kHostMemory, "read_Bps", "B/s", "the same of what they read from it"},
      {kHostMemory, "both_Bps", "B/s", "the same of both together"},
      {kNoise, "most_loss", "1", "largest part of a link's rate that other jobs take"},
      {kNoise, "loss_exponent", "1", "of the even number that says which part of most_loss is lost"},
      {kNoise, "wait_s", "s", "median wait at a busy link"},
      {kNoise, "wait_sigma", "1", "spread of its logarithm"},
      {kRecording, "launch_s", "s", "what recording CUDA activities costs the CPU at a call that puts work on a GPU"},
      {kRecording, "call_s", "s", "the same of another call of CUDA's runtime or driver"},
      {kRecording, "operator_s", "s", "what recording CPU activities costs more: an operator of PyTorch"},
      {kRecording, "collective_s", "s", "the same of a collective, beside its operators"},
  };
  add_rings_and_trees(all);
  add_host_path(all);
  for (const ParameterKind& row : message_rows()) all.push_back(row);
  add_launches(all);
  return all;
}

}  // namespace

const std::vector<ParameterKind>& parameter_kinds() {
  static const std::vector<ParameterKind> all = rows();
  return all;
}

ParameterName::ParameterName(const std::string& name) {
  const auto first = name.find('.'), last = name.rfind('.');
  head = name.substr(0, first);
  what = name.substr(last + 1);
  if (first != last) subject = name.substr(first + 1, last - first - 1);
}

const ParameterKind* find_parameter_kind(const std::string& name) {
  const ParameterName parts(name);
  for (const auto& [head, of] : kHeads) {
    if (parts.head != head) continue;
    for (const ParameterKind& row : parameter_kinds())
      if (fits(row, of, parts)) return &row;
  }
  return nullptr;
}

bool is_parameter_head(const std::string& head) {
  return std::any_of(kHeads.begin(), kHeads.end(), [&](const auto& known) { return known.first == head; });
}

void check_parameter_name(const std::string& file, const std::string& name) {
  if (find_parameter_kind(name)) return;
  const ParameterName parts(name);
  for (const auto& [head, of] : kHeads)
    if (parts.head == head) throw InputError(file, "/parameters/" + name, "no such parameter of a " + parts.head);
}

}  // namespace linkcast
