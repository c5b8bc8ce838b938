#include "validate/diagnosis/cause.hpp"

#include <array>
#include <utility>

namespace linkcast::diagnosis {
namespace {

/// Degrees of a graded fault that are forecast. Between them times are interpolated, since they are straight in the
/// factor wherever one part limits. source: ours
inline constexpr double kTriedTimes[] = {1.25, 2.0, 4.0};

}  // namespace

Cause graded_cause(CauseKind kind, const std::string& part, const std::string& what, bool whole_machine,
                   std::function<std::vector<std::string>(double times)> edits) {
  Cause cause{kind, part, true, {}, std::move(edits), whole_machine};
  for (const double times : kTriedTimes) cause.trials.push_back({times, what, cause.edits(times)});
  return cause;
}

bool on_several_nodes(const validate::ComparedPoint& point) {
  return point.query.value("nodes", 1) > 1 || point.query.value("dst", "").starts_with("node1/");
}

namespace {

struct KindText {
  CauseKind kind;
  std::string_view text, next;
};

constexpr std::array kTexts = {
    KindText{CauseKind::kLinks, "lost links", "nvidia-smi nvlink -s; nvidia-smi nvlink -e"},
    KindText{CauseKind::kPcie, "PCIe width or generation",
             "nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv (under load)"},
    KindText{CauseKind::kPeers, "P2P off", "nvidia-smi topo -p2p r; env | grep NCCL_P2P"},
    KindText{CauseKind::kMulticast, "NVLS off", "NCCL_DEBUG=INFO, look for 'nvls channels'; env | grep NCCL_NVLS"},
    KindText{CauseKind::kNuma, "wrong NUMA", "nvidia-smi topo -m; numactl --show; run under numactl --cpunodebind"},
    KindText{CauseKind::kGpu, "slow GPU", "nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE"},
    KindText{CauseKind::kProtocol, "protocol or algorithm", "env | grep -e NCCL_PROTO -e NCCL_ALGO; NCCL_DEBUG=INFO"},
    KindText{CauseKind::kChannels, "channels", "env | grep -e NCHANNELS -e NCCL_MAX; NCCL_DEBUG=INFO"},
    KindText{CauseKind::kClock, "thermal or power cap", "nvidia-smi -q -d PERFORMANCE,POWER,CLOCK"},
    KindText{CauseKind::kNic, "NIC or rail",
             "ibstat; ib_write_bw between these NICs, one after the other; mlxlink -d NIC"},
    KindText{CauseKind::kFabric, "network between nodes",
             "ibstat (Rate of every port); ib_write_bw on all NICs at once; the same nodes at one leaf"},
    KindText{
        CauseKind::kGpuDirect, "GPUDirect off",
        "lsmod | grep -e nvidia_peermem -e nv_peer_mem; NCCL_DEBUG=INFO, look for GDRDMA; env | grep NCCL_NET_GDR"},
    KindText{CauseKind::kIommu, "ACS or IOMMU",
             "sudo lspci -vvv | grep ACSCtl (SrcValid+ is on); grep -o 'iommu=[^ ]*' /proc/cmdline; dmesg | grep -i "
             "iommu"},
    KindText{CauseKind::kStartup, "start-up between nodes",
             "osu_latency or ib_write_lat between the nodes; NCCL_DEBUG=INFO, look for NET/; CPU clocks and binding"},
    KindText{CauseKind::kSockets, "network not used",
             "NCCL_DEBUG=INFO: NET/Socket is TCP, NET/IB or a plug-in's name is the network; env | grep -e NCCL_NET -e "
             "NCCL_IB_DISABLE; is the plug-in (libnccl-net.so) in LD_LIBRARY_PATH?"},
    KindText{CauseKind::kPart, "slow part", "diagnose against the platform of this machine, which tests each cause"},
    KindText{CauseKind::kUnknown, "no known cause",
             "nvidia-smi -q -d PERFORMANCE,CLOCK,ECC; the same run on more machines of the kind, as baseline"},
};

const KindText& row_of(CauseKind kind) {
  for (const KindText& row : kTexts)
    if (row.kind == kind) return row;
  return kTexts.back();
}

}  // namespace

std::string_view text_of(CauseKind kind) { return row_of(kind).text; }
std::string_view next_step(CauseKind kind) { return row_of(kind).next; }

}  // namespace linkcast::diagnosis
