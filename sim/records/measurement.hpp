#pragma once
// Raw results of a micro-benchmark on one machine. Append-only; every repetition is kept.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast {

/// One timed transfer, all its repetitions.
struct MeasuredPoint {
  std::string source;          ///< device id; "host" for pinned host memory of the device's own socket
  std::string target;          ///< device id or "host"
  std::string transport;       ///< local, peer, relay, staged, host; mpi; or, between nodes, see is_network_transport
  std::string via;             ///< relaying device; empty unless relay
  std::string direction;       ///< read: the target's engine pulls; write: the source's pushes; empty: not known
  bool bidirectional = false;  ///< both directions at once; size_B is then the payload of one direction
  std::string engine = "ce";   ///< ce: copy engine; sm: kernel
  bool pageable = false;       ///< host copies: memory that the driver must pin piece by piece
  bool between_nodes = false;  ///< source and target name devices of two nodes of this topology
  double chunk_B = 0;          ///< relay: sent in chunks of this size; 0: as a whole
  double working_set_B = 0;    ///< loads one after the other through memory of this size; 0: a copy
  double size_B = 0;
  int pairs = 1;               ///< of such ends that do the same at the same time; the time is of the slowest
  int in_a_row = 1;            ///< messages that one process sends to as many others, the time that of all
  std::vector<double> time_s;  ///< per copy, one entry a repetition (or one entry: a printed mean)
};

/// Several copies that started together.
struct MeasuredFlows {
  std::string pattern;  ///< same_source, ring, all_to_all, ...
  struct Flow {
    std::string source, target;
    double size_B = 0;
  };
  std::vector<Flow> flows;
  std::string engine;                             ///< ce or sm
  std::string direction;                          ///< as in MeasuredPoint
  std::vector<double> time_s;                     ///< the slowest flow, one entry a repetition
  std::vector<std::vector<double>> flow_times_s;  ///< per flow, then per repetition
};

/// One collective of a communication library.
struct MeasuredCollective {
  std::string op;         ///< as `linkcast list collectives` names it, or sendrecv
  std::vector<int> gpus;  ///< members, in rank order; of each node
  int nodes = 1;
  double size_B = 0;      ///< the size column of nccl-tests
  int point = 0;          ///< place in the record's list
  std::string algorithm;  ///< Ring, Tree, ...; empty: the library's choice
  std::string protocol;   ///< LL, LL128, Simple; empty: the library's choice
  int channels = 0;       ///< forced number; 0: the library's choice
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
  std::string transport, source, target;
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
  std::string machine;          ///< id of the machine it was taken on, e.g. p100-dgx1
  std::string topology;         ///< topology whose device ids it uses
  std::string bench;            ///< p2p_copy, ...
  std::string source;           ///< where the figures come from
  std::string timing;           ///< back_to_back (time per copy in a queue of copies) or single (one copy)
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
};

/// "4.0.5" is 4.0; 0: no such number.
double version_of(const std::string& text);

/// A transport of messages between nodes: gpudirect_rdma, pinned_gpudirect, pinned, unpinned_gpudirect, unpinned.
bool is_network_transport(const std::string& transport);

/// Reads schema "measurement/1".
/// A point gives exactly one of `time_s` (seconds, an array) or `bandwidth_Bps` (an array; time = size_B x
/// payload_count / bandwidth, payload_count 1 unless given: printed local copies count read and write).
/// A point with `repetitions` gives figures of a distribution instead: {mean,p95,max}_time_s, {mean,min}_bandwidth_Bps.
/// @throws InputError
Measurement read_measurement(const std::string& path);
/// The same of a record at hand. @param path  of the file that it comes from
Measurement parse_measurement(const Json& json, const std::string& path);

}  // namespace linkcast
