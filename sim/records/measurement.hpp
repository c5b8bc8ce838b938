#pragma once
// Raw results of a micro-benchmark on one machine. Append-only; every repetition is kept.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/spelled.hpp"

namespace linkcast {

/// Carrier of the bytes of a measured point.
enum class Carrier {
  kLocal,   ///< a copy inside one GPU
  kPeer,    ///< GPU to GPU over links
  kRelay,   ///< GPU to GPU, through a third
  kStaged,  ///< GPU to GPU, through host memory
  kHost,    ///< between a GPU and pinned host memory
  kMpi,     ///< a message between processes, the rest between nodes (is_network):
  kGpudirectRdma,
  kPinnedGpudirect,
  kPinned,
  kUnpinnedGpudirect,
  kUnpinned,
};
inline constexpr Spelling<Carrier> kCarriers[] = {
    {Carrier::kLocal, "local"},
    {Carrier::kPeer, "peer"},
    {Carrier::kRelay, "relay"},
    {Carrier::kStaged, "staged"},
    {Carrier::kHost, "host"},
    {Carrier::kMpi, "mpi"},
    {Carrier::kGpudirectRdma, "gpudirect_rdma"},
    {Carrier::kPinnedGpudirect, "pinned_gpudirect"},
    {Carrier::kPinned, "pinned"},
    {Carrier::kUnpinnedGpudirect, "unpinned_gpudirect"},
    {Carrier::kUnpinned, "unpinned"},
};
constexpr std::span<const Spelling<Carrier>> spellings(Carrier) { return kCarriers; }

/// Unit that moves the bytes of a copy.
enum class CopyUnit { kCopyEngine, kSm };
inline constexpr Spelling<CopyUnit> kCopyUnits[] = {
    {CopyUnit::kCopyEngine, "copy_engine"},
    {CopyUnit::kCopyEngine, "ce"},   // of measurements until 0.1
    {CopyUnit::kCopyEngine, "dma"},  // of queries until 0.1
    {CopyUnit::kSm, "sm"},
};
constexpr std::span<const Spelling<CopyUnit>> spellings(CopyUnit) { return kCopyUnits; }

/// Who runs a copy: the target's unit pulls (read), or the source's pushes (write).
enum class CopyDirection { kUnknown, kRead, kWrite };
inline constexpr Spelling<CopyDirection> kCopyDirections[] = {
    {CopyDirection::kUnknown, ""}, {CopyDirection::kRead, "read"}, {CopyDirection::kWrite, "write"}};
constexpr std::span<const Spelling<CopyDirection>> spellings(CopyDirection) { return kCopyDirections; }

/// Time per copy in a queue of copies, or time of one copy from rest.
enum class CopyTiming { kBackToBack, kSingle };
inline constexpr Spelling<CopyTiming> kCopyTimings[] = {{CopyTiming::kBackToBack, "back_to_back"},
                                                        {CopyTiming::kSingle, "single"}};
constexpr std::span<const Spelling<CopyTiming>> spellings(CopyTiming) { return kCopyTimings; }

/// Operations that nccl-tests and linkcast-bench measure.
enum class NcclOp {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAlltoall,
  kSendrecv,
  kGather,
  kScatter,
};
inline constexpr Spelling<NcclOp> kNcclOps[] = {
    {NcclOp::kAllReduce, "all_reduce"}, {NcclOp::kAllGather, "all_gather"}, {NcclOp::kReduceScatter, "reduce_scatter"},
    {NcclOp::kBroadcast, "broadcast"},  {NcclOp::kReduce, "reduce"},        {NcclOp::kAlltoall, "alltoall"},
    {NcclOp::kSendrecv, "sendrecv"},    {NcclOp::kGather, "gather"},        {NcclOp::kScatter, "scatter"},
};
constexpr std::span<const Spelling<NcclOp>> spellings(NcclOp) { return kNcclOps; }

/// The algorithm that NCCL_ALGO forced, spelled as queries spell it, or an inference engine's own kernel. NCCL's own
/// spelling is the old one.
enum class ForcedAlgorithm { kNone, kRing, kTree, kCollnetChain, kNvls, kNvlsTree, kPat, kOneShot, kTwoShot };
inline constexpr Spelling<ForcedAlgorithm> kForcedAlgorithms[] = {
    {ForcedAlgorithm::kNone, ""},
    {ForcedAlgorithm::kRing, "ring"},
    {ForcedAlgorithm::kRing, "Ring"},
    {ForcedAlgorithm::kTree, "tree"},
    {ForcedAlgorithm::kTree, "Tree"},
    {ForcedAlgorithm::kCollnetChain, "collnet_chain"},
    {ForcedAlgorithm::kCollnetChain, "CollNet"},  // of old versions, which had the chain only
    {ForcedAlgorithm::kNvls, "nvls"},
    {ForcedAlgorithm::kNvls, "NVLS"},
    {ForcedAlgorithm::kNvlsTree, "nvls_tree"},
    {ForcedAlgorithm::kNvlsTree, "NVLSTree"},
    {ForcedAlgorithm::kPat, "pat"},
    {ForcedAlgorithm::kPat, "PAT"},
    {ForcedAlgorithm::kOneShot, "one_shot"},
    {ForcedAlgorithm::kTwoShot, "two_shot"},
};
constexpr std::span<const Spelling<ForcedAlgorithm>> spellings(ForcedAlgorithm) { return kForcedAlgorithms; }

/// An end that is pinned host memory of the other end's own socket.
inline constexpr std::string_view kHostMemory = "host";

/// One timed transfer, all its repetitions.
struct MeasuredPoint {
  std::string source;  ///< device id, or kHostMemory
  std::string target;  ///< device id, or kHostMemory
  Spelled<Carrier> transport;
  std::string via;  ///< relaying device; empty unless relay
  Spelled<CopyDirection> direction;
  bool bidirectional = false;  ///< both directions at once; size_B is then the payload of one direction
  Spelled<CopyUnit> engine;
  bool pageable = false;       ///< host copies: memory that the driver must pin piece by piece
  bool between_nodes = false;  ///< source and target name devices of two nodes of this topology
  double chunk_B = 0;          ///< relay: sent in chunks of this size; 0: as a whole
  double working_set_B = 0;    ///< loads one after the other through memory of this size; 0: a copy
  double size_B = 0;
  int pairs = 1;               ///< of such ends that do the same at the same time; the time is of the slowest
  int in_a_row = 1;            ///< messages that one process sends to as many others, the time that of all
  std::vector<double> time_s;  ///< per copy, one entry a repetition (or one entry: a printed mean)
};
/// Copies to host memory, from it, or through it: fits take these in both directions, too.
inline bool crosses_host(const MeasuredPoint& point) {
  return point.transport == Carrier::kHost || point.transport == Carrier::kStaged;
}

/// Several copies that started together.
struct MeasuredFlows {
  std::string pattern;  ///< same_source, ring, all_to_all, ...
  struct Flow {
    std::string source, target;
    double size_B = 0;
  };
  std::vector<Flow> flows;
  Spelled<CopyUnit> engine;
  Spelled<CopyDirection> direction;
  std::vector<double> time_s;                     ///< the slowest flow, one entry a repetition
  std::vector<std::vector<double>> flow_times_s;  ///< per flow, then per repetition
};

/// One collective of a communication library.
struct MeasuredCollective {
  Spelled<NcclOp> op;
  std::vector<int> gpus;  ///< members, in rank order; of each node
  int nodes = 1;
  double size_B = 0;  ///< the size column of nccl-tests
  int point = 0;      ///< place in the record's list
  Spelled<ForcedAlgorithm> algorithm;
  std::string protocol;  ///< LL, LL128, Simple; empty: the library's choice
  int channels = 0;      ///< forced number; 0: the library's choice
  bool in_place = false;
  std::string launch;  ///< one of launch_kinds(); empty: not known
  std::vector<double> time_s;
  struct Other {
    std::string op;
    std::vector<int> gpus;
    double size_B = 0;
  };
  std::vector<Other> with{};  ///< further communicators that ran at the same time
};

/// Figures of a distribution over many repetitions of one message between nodes, of which none was kept.
struct MeasuredSpread {
  Spelled<Carrier> transport;
  std::string source, target;
  std::string distance;  ///< in words of the fabric: "other group", ...
  int service_level = 0;
  double size_B = 0;
  int repetitions = 0;
  std::optional<double> mean_time_s{}, p95_time_s{}, max_time_s{};
  std::optional<double> mean_Bps{}, min_Bps{};
};

struct Measurement {
  std::string path;  ///< where it was read from
  std::string sha256;
  std::string id;
  std::string machine;   ///< id of the machine it was taken on, e.g. p100-dgx1
  std::string topology;  ///< topology whose device ids it uses
  std::string bench;     ///< p2p_copy, ...
  std::string source;    ///< where the figures come from
  Spelled<CopyTiming> timing;
  std::string library;          ///< of the collectives, as `linkcast list libraries` names it; empty: not known
  std::string library_version;  ///< as its makers count: 4.0.5; empty: not known
  bool peer_access = true;      ///< false: the method's settings turned it off, NCCL_P2P_DISABLE=1
  /// Of NVLink multicast: what the method's settings say of NCCL_NVLS_ENABLE; nothing: as machine and library have it.
  std::optional<bool> nvls{};
  double precision = 0;  ///< relative standard error of every figure beyond its repetitions: printed, read off a text
  std::vector<std::string> notes;
  std::vector<MeasuredPoint> points;
  std::vector<MeasuredPoint>
      several;  ///< points that say pairs or in_a_row: what processes do at once, or one after another
  std::vector<MeasuredFlows> flows;
  std::vector<MeasuredPoint> loads;  ///< remote and local load latency, kept apart from copies
  std::vector<MeasuredCollective> collectives;
  std::vector<MeasuredSpread> spreads{};
  int waived = 0;  ///< points that the machine could not run

  /// True for bench nccl_base: algorithm, protocol and channels are forced so that parameters of a library show.
  [[nodiscard]] bool of_base_costs() const;
};

/// "4.0.5" is 4.0; 0: no such number.
double version_of(const std::string& text);

/// Whether messages between nodes go this way: RDMA to and from GPU memory, or through host memory.
constexpr bool is_network(Spelled<Carrier> carrier) { return carrier > Carrier::kMpi; }
/// Whether processes exchange it: by MPI, or between nodes.
constexpr bool is_message(Spelled<Carrier> carrier) { return carrier >= Carrier::kMpi; }

/// Reads schema "measurement/1".
/// A point gives exactly one of `time_s` (seconds, an array) or `bandwidth_Bps` (an array; time = size_B x
/// payload_count / bandwidth, payload_count 1 unless given: printed local copies count read and write).
/// A point with `repetitions` gives figures of a distribution instead: {mean,p95,max}_time_s, {mean,min}_bandwidth_Bps.
/// @throws InputError
Measurement read_measurement(const std::string& path);
/// The same of a record at hand. @param path  of the file that it comes from
Measurement parse_measurement(const Json& json, const std::string& path);

}  // namespace linkcast
