#include "sim/records/parameters.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/records/input_error.hpp"

namespace linkcast {
namespace {

const std::array<std::pair<const char*, ParameterOf>, 8> kHeads = {{{"cable", ParameterOf::kCable},
                                                                    {"link", ParameterOf::kLink},
                                                                    {"transport", ParameterOf::kTransport},
                                                                    {"copy_engine", ParameterOf::kEngine},
                                                                    {"nccl", ParameterOf::kLibrary},
                                                                    {"noise", ParameterOf::kNoise},
                                                                    {"launch", ParameterOf::kLaunch},
                                                                    {"recording", ParameterOf::kRecording}}};

/// "peer.r0": one size range of a transport.
bool is_regime(const std::string& subject) {
  const auto dot = subject.find('.');
  return dot != std::string::npos && subject.size() > dot + 2 && subject[dot + 1] == 'r';
}

bool fits(const ParameterKind& row, ParameterOf of, const ParameterName& name) {
  if (row.what != name.what) return false;
  const bool transport = of == ParameterOf::kTransport;
  if (row.of != (transport && is_regime(name.subject) ? ParameterOf::kRegime : of)) return false;
  return row.subject.empty() || row.subject == name.subject;
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
      {kLink, "retry_rate", "1", "the same of one direction; that of the cable where not measured", "", true, 1},
      {kRegime, "to_B", "B", "largest size of this range; unlimited in the last one"},
      {kRegime, "startup_s", "s", "time before the first byte"},
      {kRegime, "flat_s", "s", "the same where the bytes move within it"},
      {kRegime, "bandwidth_Bps", "B/s", "most that one copy gets; what its links carry where not measured"},
      {kTransport, "single_s", "s", "what a copy from rest costs more than one of a queue; 0 where not measured"},
      {kTransport, "chunk_B", "B", "held in host memory before the second leg; assumed where not measured", "staged"},
      {kTransport, "handover_s", "s", "between the two copies of a relayed one; 0 where not measured", "relay"},
      {kEngine, "turn_s", "s", "between copies of two streams on one copy engine; 0 where not measured"},
      {kNoise, "most_loss", "1", "largest part of a link's rate that other jobs take"},
      {kNoise, "loss_exponent", "1", "of the even number that says which part of most_loss is lost"},
      {kNoise, "wait_s", "s", "median wait at a busy link"},
      {kNoise, "wait_sigma", "1", "spread of its logarithm"},
      {kRecording, "launch_s", "s", "what recording CUDA activities costs the CPU at a call that puts work on a GPU"},
      {kRecording, "call_s", "s", "the same of another call of CUDA's runtime or driver"},
      {kRecording, "operator_s", "s", "what recording CPU activities costs more: an operator of PyTorch"},
      {kRecording, "collective_s", "s", "the same of a collective, beside its operators"},
  };
  for (const std::string cost :
       {"ring.LL", "ring.LL128", "ring.Simple", "tree.LL", "tree.LL128", "tree.Simple", "sendrecv"}) {
    all.push_back({kLibrary, "base_s", "s", "NCCL: cost of a collective before its first step", cost});
    all.push_back({kLibrary, "hop_s", "s", "NCCL: cost of one step", cost});
    all.push_back({kLibrary, "channel_Bps", "B/s", "NCCL: most that one thread block moves", cost});
    all.push_back({kLibrary, "turn_steps", "1", "NCCL: steps that filling the pipeline takes", cost});
  }
  for (const std::string issuer : {"process", "single_process", "pytorch", "copy", "kernel", "synchronise"}) {
    all.push_back({kLaunch, "call_s", "s",
                   "what a call costs the host that issues it; another machine's where not measured", issuer});
    all.push_back({kLaunch, "sigma", "1", "spread of the logarithm of what the host pays", issuer});
  }
  for (const std::string issuer : {"process", "single_process", "pytorch"})
    all.push_back({kLaunch, "send_s", "s", "the same of each further send and receive in a group", issuer});
  all.push_back({kLaunch, "gpu_s", "s", "the same of each GPU that one thread issues for", "single_process"});
  all.push_back({kLaunch, "batch_s", "s", "the same of a batch of one send and receive", "pytorch"});
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
