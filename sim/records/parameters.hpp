#pragma once
// Parameters of a machine. A row declares one: what it is of, unit, range, meaning, prior. A key names one parameter of
// one machine, as calibrations write it: "<head>.<subject>.<what>". A new parameter is a row here, in the list of
// parameters.cpp, and where it acts: names and units that are read, what `show` says and which links may stand for each
// other follow from it. Plug-ins add rows of their own with join_parameters().
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// What there is one value of. A parameter of cables may be given for a kind ("cable.pcie3.") and, stronger, for one
/// cable ("cable.pcie3@gpu0-plx0."); one of links for one direction of a cable ("link.gpu0->plx0.") above both.
enum class ParameterOf {
  kCable,
  kLink,
  kRange,      ///< one range of sizes of a transport: "transport.peer.r0."
  kTransport,  ///< "transport.peer."
  kEngine,     ///< the copy engines: "copy_engine."
  kLibrary,    ///< a communication library, all versions ("nccl.ring.LL.") or one ("nccl.ring.LL@2.8.")
  kNoise,
  kLaunch,  ///< who issues work: "launch.process."
  kRecording,
  kHostMemory
};

struct ParameterRow;

/// Name of one parameter, made by its row.
struct ParameterKey {
  std::string name;
  const ParameterRow* row = nullptr;
};

/// A parameter's value and spread before data of this machine.
struct Prior {
  double value = 0;   ///< in the parameter's unit
  double spread = 0;  ///< standard deviation of its logarithm
};

/// A row of the table of parameters. Its texts live as long as the program.
struct ParameterRow {
  ParameterOf of = ParameterOf::kCable;  ///< set by RowOf
  std::string_view what = "";            ///< last part of the name: "bandwidth_Bps"
  std::string_view unit = "";            ///< s, B, B/s or 1
  std::string_view meaning = "";         ///< one line, with the state where it was not measured
  std::string_view subject =
      "";  ///< transports, issuers or costs of a library that have it, blanks between; empty: any
  std::optional<Prior> prior = {};  ///< where it is the same for every machine; else the reader states it
  bool addable = false;             ///< an edit may set it where no calibration has it
  bool heavy_tails = false;         ///< now and then a machine is far from the prior: data may say so
  double below =
      std::numeric_limits<double>::infinity();  ///< values must be below; rates above 0, all others 0 or more

  /// Whether links that differ in it are not alike (sim/machine/symmetry.hpp).
  [[nodiscard]] constexpr bool breaks_symmetry() const { return of == ParameterOf::kCable || of == ParameterOf::kLink; }
  /// Key of a row that is of no library. @param subject  as it stands in the name; empty: a machine has one
  [[nodiscard]] ParameterKey key(std::string_view subject_of_name) const;
  /// What is wrong with a value of this parameter; empty: nothing.
  [[nodiscard]] std::string refusal(double value) const;
};

/// How the names of parameters begin: "transport.staged" of transport "staged". @param subject  empty: all of a sort
std::string parameter_subject(ParameterOf of, std::string_view subject);
/// "nvlink2@gpu0-gpu1": subject of parameters of one cable alone.
std::string one_cable(std::string_view kind, std::string_view cable);
/// "nccl" of library "nccl-2.8": how its parameters begin.
std::string library_family(std::string_view library);
/// "2.8" of library "nccl-2.8", "openmpi" of "mpi-openmpi"; empty where the name has none.
std::string library_version_name(std::string_view library);

/// A row and how keys are made from it.
template <ParameterOf Of>
struct RowOf : ParameterRow {
  static constexpr bool kAlone = Of == ParameterOf::kEngine || Of == ParameterOf::kNoise ||
                                 Of == ParameterOf::kRecording || Of == ParameterOf::kHostMemory;

  constexpr explicit RowOf(ParameterRow row) : ParameterRow(row) { of = Of; }

  /// A machine has one.
  [[nodiscard]] ParameterKey operator()() const requires(kAlone) { return key(""); }
  /// @param subject  kind of cable, or one_cable(); "gpu0->gpu1"; transport; who issues
  [[nodiscard]] ParameterKey operator()(std::string_view subject) const
      requires(!kAlone && Of != ParameterOf::kRange && Of != ParameterOf::kLibrary) {
    return key(subject);
  }
  /// @param range  0, 1, ...: the smallest sizes first
  [[nodiscard]] ParameterKey operator()(std::string_view transport, std::size_t range) const
      requires(Of == ParameterOf::kRange) {
    return key(std::string(transport) + ".r" + std::to_string(range));
  }
  /// Key of this version. @param library  "nccl-2.8"
  [[nodiscard]] ParameterKey operator()(std::string_view library) const requires(Of == ParameterOf::kLibrary) {
    const auto [from, to] = around_version(library_family(library));
    return {from + library_version_name(library) + to, this};
  }
  /// Text before and after the version in the names of a family: "nccl.ring.LL@" and ".base_s".
  [[nodiscard]] std::pair<std::string, std::string> around_version(std::string_view family) const
      requires(Of == ParameterOf::kLibrary) {
    return {std::string(family).append(".").append(subject).append("@"), std::string(".").append(what)};
  }
  /// Key of all versions of a library. @param family  "nccl", as library_family() gives it
  [[nodiscard]] ParameterKey of_all(std::string_view family) const requires(Of == ParameterOf::kLibrary) {
    return {std::string(family).append(".").append(subject).append(".").append(what), this};
  }
};

using CableRow = RowOf<ParameterOf::kCable>;
using LinkRow = RowOf<ParameterOf::kLink>;
using RangeRow = RowOf<ParameterOf::kRange>;
using TransportRow = RowOf<ParameterOf::kTransport>;
using LaunchRow = RowOf<ParameterOf::kLaunch>;
using LibraryRow = RowOf<ParameterOf::kLibrary>;

/// The same cost of a library in each of NCCL's protocols.
class ProtocolRows {
 public:
  /// @param subjects, priors  in the order LL, LL128, Simple
  constexpr ProtocolRows(const std::array<std::string_view, 3>& subjects, const ParameterRow& row,
                         const std::array<std::optional<Prior>, 3>& priors = {})
      : rows_{one(subjects[0], row, priors[0]), one(subjects[1], row, priors[1]), one(subjects[2], row, priors[2])} {}

  /// @throws InvariantError  not one of the three
  [[nodiscard]] const LibraryRow& operator[](std::string_view protocol) const {
    constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};
    for (std::size_t i = 0; i < kProtocols.size(); ++i)
      if (kProtocols[i] == protocol) return rows_[i];
    throw InvariantError("no protocol '" + std::string(protocol) + "'");
  }
  [[nodiscard]] constexpr const std::array<LibraryRow, 3>& all() const { return rows_; }

 private:
  static constexpr LibraryRow one(std::string_view subject, ParameterRow row, const std::optional<Prior>& prior) {
    row.subject = subject;
    if (prior) row.prior = prior;
    return LibraryRow(row);
  }
  std::array<LibraryRow, 3> rows_;
};

/// The table: built-in rows, then those that joined.
const std::vector<const ParameterRow*>& parameter_rows();
/// Adds rows, which live as long as the program, while plug-ins register themselves: before anything is read.
/// @param family  of libraries that has parameters: "rccl"; empty: the rows are of libraries that are known already
bool join_parameters(const std::string& family, const std::vector<const ParameterRow*>& rows);

/// "cable.nvlink2@gpu0-gpu1.bandwidth_Bps" is head "cable", subject "nvlink2@gpu0-gpu1", what "bandwidth_Bps".
struct ParameterName {
  std::string_view head, subject, what;  ///< parts of the text that it was made of
  explicit ParameterName(std::string_view name);
  /// Head, as one of the table; nothing: no parameter's name begins so.
  [[nodiscard]] std::optional<ParameterOf> of() const;
  /// "peer" of "transport.peer.r0.startup_s"; empty: of no transport.
  [[nodiscard]] std::string_view transport() const;
  /// 0 of "transport.peer.r0.startup_s"; nothing: of no range.
  [[nodiscard]] std::optional<std::size_t> range() const;
};

/// @returns nullptr  no parameter may be called so, whatever the machine
const ParameterRow* find_parameter_row(std::string_view name);
/// Whether a name is of a row: with whatever subject.
bool is_of(std::string_view name, const ParameterRow& row);
/// Whether it is a parameter of communication libraries.
bool is_of_library(std::string_view name);
/// @throws InputError  the head of the name is known, but not what follows. @param file  of the calibration
void check_parameter_name(const std::string& file, const std::string& name);

}  // namespace linkcast

namespace linkcast::key {

namespace subjects {
inline constexpr std::string_view kIssuers = "process single_process pytorch copy kernel synchronise";
inline constexpr std::array<std::string_view, 3> kRing = {"ring.LL", "ring.LL128", "ring.Simple"};
inline constexpr std::array<std::string_view, 3> kTree = {"tree.LL", "tree.LL128", "tree.Simple"};
inline constexpr std::array<std::string_view, 3> kNetwork = {"network.LL", "network.LL128", "network.Simple"};
inline constexpr std::array<std::string_view, 3> kHost = {"host.LL", "host.LL128", "host.Simple"};
}  // namespace subjects

// Cables.
inline constexpr CableRow cable_bandwidth{{.what = "bandwidth_Bps",
                                           .unit = "B/s",
                                           .meaning = "rate of one cable, one direction; nominal where not measured"}};
inline constexpr CableRow cable_to_host{
    {.what = "to_host_Bps",
     .unit = "B/s",
     .meaning = "the same of PCIe towards the CPU; bandwidth_Bps where not measured"}};
inline constexpr CableRow cable_from_host{
    {.what = "from_host_Bps",
     .unit = "B/s",
     .meaning = "the same of PCIe away from the CPU; bandwidth_Bps where not measured"}};
inline constexpr CableRow cable_duplex{
    {.what = "duplex_Bps",
     .unit = "B/s",
     .meaning = "both directions of a cable together; independent where not measured"}};
inline constexpr CableRow cable_kernel_duplex{
    {.what = "kernel_duplex_Bps", .unit = "B/s", .meaning = "both directions of loads and stores by kernels together"}};
inline constexpr CableRow cable_flow_bandwidth{
    {.what = "flow_bandwidth_Bps",
     .unit = "B/s",
     .meaning = "most that one copy gets of a cable; all of it where not measured"}};
inline constexpr CableRow cable_store{
    {.what = "store_Bps",
     .unit = "B/s",
     .meaning = "most that one kernel stores through a cable; all of it where not measured"}};
inline constexpr CableRow cable_load{
    {.what = "load_Bps",
     .unit = "B/s",
     .meaning = "most that one kernel loads through a cable; all of it where not measured"}};
inline constexpr CableRow cable_half_bandwidth{
    {.what = "half_bandwidth_B",
     .unit = "B",
     .meaning = "size at which a copy attains half the rate; follows from others"}};
inline constexpr CableRow cable_retry_rate{
    {.what = "retry_rate",
     .unit = "1",
     .meaning = "share of the packets on the wire that are sent again; 0 where not measured",
     .addable = true,
     .below = 1}};
inline constexpr CableRow cable_latency_scale{
    {.what = "latency_scale",
     .unit = "1",
     .meaning = "time of ways between switches, over what data sheets add up to; 1 where not measured"}};

// One direction of a cable.
inline constexpr LinkRow link_bandwidth{
    {.what = "bandwidth_Bps",
     .unit = "B/s",
     .meaning = "rate of one direction of a cable; that of the cable where not measured"}};
inline constexpr LinkRow link_retry_rate{{.what = "retry_rate",
                                          .unit = "1",
                                          .meaning = "the same of one direction; that of the cable where not measured",
                                          .addable = true,
                                          .below = 1}};

// Transports: sim/machine/transport.hpp. A range has a start-up or is flat.
inline constexpr RangeRow range_end{
    {.what = "to_B", .unit = "B", .meaning = "largest size of this range; unlimited in the last one"}};
inline constexpr RangeRow startup{{.what = "startup_s", .unit = "s", .meaning = "time before the first byte"}};
inline constexpr RangeRow flat{{.what = "flat_s", .unit = "s", .meaning = "the same where the bytes move within it"}};
inline constexpr RangeRow range_bandwidth{
    {.what = "bandwidth_Bps",
     .unit = "B/s",
     .meaning = "most that one copy gets; what its links carry where not measured"}};
inline constexpr TransportRow single{
    {.what = "single_s",
     .unit = "s",
     .meaning = "what a copy from rest costs more than one of a queue; 0 where not measured"}};
inline constexpr TransportRow bidirectional{
    {.what = "bidirectional_s",
     .unit = "s",
     .meaning = "what a host copy, or a chunk of a staged one, waits for one of the same GPU in the other direction; "
                "0 where not measured"}};
inline constexpr TransportRow chunk{{.what = "chunk_B",
                                     .unit = "B",
                                     .meaning = "held in host memory before the second leg; assumed where not measured",
                                     .subject = "staged"}};
inline constexpr TransportRow handover{{.what = "handover_s",
                                        .unit = "s",
                                        .meaning = "between the two copies of a relayed one; 0 where not measured",
                                        .subject = "relay"}};
inline constexpr RowOf<ParameterOf::kEngine> engine_turn{
    {.what = "turn_s",
     .unit = "s",
     .meaning = "between copies of two streams on one copy engine; 0 where not measured"}};

// The memory of one CPU.
inline constexpr RowOf<ParameterOf::kHostMemory> host_write{
    {.what = "write_Bps",
     .unit = "B/s",
     .meaning = "what devices together write into the memory of one CPU; no limit where not measured"}};
inline constexpr RowOf<ParameterOf::kHostMemory> host_read{
    {.what = "read_Bps", .unit = "B/s", .meaning = "the same of what they read from it"}};
inline constexpr RowOf<ParameterOf::kHostMemory> host_both{
    {.what = "both_Bps", .unit = "B/s", .meaning = "the same of both together"}};

// Other jobs: sim/machine/noise.hpp.
inline constexpr RowOf<ParameterOf::kNoise> most_loss{
    {.what = "most_loss", .unit = "1", .meaning = "largest part of a link's rate that other jobs take"}};
inline constexpr RowOf<ParameterOf::kNoise> loss_exponent{
    {.what = "loss_exponent", .unit = "1", .meaning = "of the even number that says which part of most_loss is lost"}};
inline constexpr RowOf<ParameterOf::kNoise> noise_wait{
    {.what = "wait_s", .unit = "s", .meaning = "median wait at a busy link"}};
inline constexpr RowOf<ParameterOf::kNoise> noise_wait_sigma{
    {.what = "wait_sigma", .unit = "1", .meaning = "spread of its logarithm"}};

// The profiler of PyTorch.
inline constexpr RowOf<ParameterOf::kRecording> recording_launch{
    {.what = "launch_s",
     .unit = "s",
     .meaning = "what recording CUDA activities costs the CPU at a call that puts work on a GPU"}};
inline constexpr RowOf<ParameterOf::kRecording> recording_call{
    {.what = "call_s", .unit = "s", .meaning = "the same of another call of CUDA's runtime or driver"}};
inline constexpr RowOf<ParameterOf::kRecording> recording_operator{
    {.what = "operator_s", .unit = "s", .meaning = "what recording CPU activities costs more: an operator of PyTorch"}};
inline constexpr RowOf<ParameterOf::kRecording> recording_collective{
    {.what = "collective_s", .unit = "s", .meaning = "the same of a collective, beside its operators"}};

// Cost of issuing work, on the host.
inline constexpr LaunchRow launch_call{
    {.what = "call_s",
     .unit = "s",
     .meaning = "what a call costs the host that issues it; another machine's where not measured",
     .subject = subjects::kIssuers}};
inline constexpr LaunchRow launch_sigma{{.what = "sigma",
                                         .unit = "1",
                                         .meaning = "spread of the logarithm of what the host pays",
                                         .subject = subjects::kIssuers}};
inline constexpr LaunchRow launch_send{{.what = "send_s",
                                        .unit = "s",
                                        .meaning = "the same of each further send and receive in a group",
                                        .subject = "process single_process pytorch"}};
inline constexpr LaunchRow launch_gpu{{.what = "gpu_s",
                                       .unit = "s",
                                       .meaning = "the same of each GPU that one thread issues for",
                                       .subject = "single_process"}};
inline constexpr LaunchRow launch_batch{
    {.what = "batch_s", .unit = "s", .meaning = "the same of a batch of one send and receive", .subject = "pytorch"}};

// NCCL's rings and trees.
inline constexpr ParameterRow library_base{
    .what = "base_s", .unit = "s", .meaning = "NCCL: cost of a collective before its first step"};
inline constexpr ParameterRow library_hop{.what = "hop_s", .unit = "s", .meaning = "NCCL: cost of one step"};
inline constexpr ParameterRow library_network_hop{
    .what = "hop_s", .unit = "s", .meaning = "NCCL: cost of one step between nodes", .addable = true};

inline constexpr ProtocolRows ring_base{subjects::kRing, library_base};
inline constexpr ProtocolRows ring_hop{subjects::kRing, library_hop};
// source: assumed, around what one block was measured to move: LL 7.3, LL128 21 and Simple 28 GB/s on H200; NCCL itself
// counts on 1.6 to 5.9 (LL) and 17 to 37 (LL128) from V100 to H100 (models/libraries/SOURCES.md)
inline constexpr ProtocolRows ring_channel{
    subjects::kRing,
    {.what = "channel_Bps", .unit = "B/s", .meaning = "NCCL: most that one thread block moves"},
    {Prior{3.5e9, 0.5}, Prior{12e9, 0.5}, Prior{20e9, 0.4}}};  // source: as above
// What a thread block does in a step of a ring, in parts of a step of an all_reduce of many ranks: in half of these it
// adds what came to its own, in half of them it stores what came and sends it on. Without both a step takes
// 1 - (copy + reduce) / 2. source: five operations by protocol, channels and size on two H200 (docs/collectives.md)
inline constexpr ProtocolRows ring_copy_steps{
    subjects::kRing,
    {.what = "copy_steps", .unit = "1", .meaning = "NCCL: what storing takes of a step, more than sending"},
    {Prior{0.83, 0.3}, Prior{0.41, 0.3}, Prior{0.47, 0.3}}};  // source: as above
inline constexpr ProtocolRows ring_reduce_steps{
    subjects::kRing,
    {.what = "reduce_steps", .unit = "1", .meaning = "NCCL: what adding takes of a step, more than sending"},
    {Prior{0.04, 0.7}, Prior{0.25, 0.5}, Prior{0.08, 0.5}}};  // source: as above
// A step that only receives also waits for what it loads, which steps that send do besides. source: as above
inline constexpr ProtocolRows ring_read_steps{
    subjects::kRing,
    {.what = "read_steps",
     .unit = "1",
     .meaning = "NCCL: what a step that sends nothing takes besides storing and adding"},
    {Prior{0.05, 1}, Prior{0.18, 0.7}, Prior{0.14, 0.7}}};  // source: as above
inline constexpr ProtocolRows ring_copy{
    subjects::kRing,
    {.what = "copy_s", .unit = "s", .meaning = "NCCL: what a hop takes longer whose block stores and sends"},
    {Prior{0.1e-6, 1}, Prior{0.1e-6, 1}, Prior{1.9e-6, 0.7}}};  // source: as above
inline constexpr ProtocolRows ring_reduce{
    subjects::kRing,
    {.what = "reduce_s", .unit = "s", .meaning = "NCCL: what a hop takes longer whose block adds what came"},
    {Prior{0.1e-6, 1}, Prior{1e-6, 0.7}, Prior{0.1e-6, 1}}};  // source: as above
inline constexpr ProtocolRows ring_read{
    subjects::kRing,
    {.what = "read_s", .unit = "s", .meaning = "NCCL: what the step takes at least that sends nothing"},
    {Prior{0.05e-6, 1}, Prior{0.1e-6, 1}, Prior{2.5e-6, 0.7}}};  // source: as above
// A reduce_scatter's last step adds what has arrived and sends nothing: what it takes, in steps. source: assumed; on 2
// P100 it is 0.7 to 0.9 of a step in NCCL 1 and 2.0 (calibrate/data/p100-dgx1)
inline constexpr ProtocolRows ring_tail{subjects::kRing,
                                        {.what = "tail_steps",
                                         .unit = "1",
                                         .meaning = "NCCL: what the step that sends nothing takes, in steps",
                                         .prior = Prior{0.8, 0.3}}};  // source: as above
inline constexpr ProtocolRows ring_host_wait{
    subjects::kRing,
    {.what = "host_wait",
     .unit = "1",
     .meaning = "NCCL: part of the quicker way through host memory that does not overlap with the other"}};
// Blocks that crowd take 1 + crowding x sqrt(others) times as long. source: in LL 2, 4, 8 and 12 blocks on 4 V100 lose
// 0.35, 0.58, 1.0 and 1.2, and 2 to 24 on 4 A100 0.61 to 3.2 (calibrate/data, NCCL 2.8); on H200 links limit before it
// shows
inline constexpr ProtocolRows ring_crowding{subjects::kRing,
                                            {.what = "crowding",
                                             .unit = "1",
                                             .meaning = "NCCL: what each further thread block slows all down by",
                                             .prior = Prior{0.001, 2.5}}};  // source: as above
// source: H200 LL 1.0 and 1.1, LL128 1.0 and 0.7, Simple 1.0 and 1.1 (models/params/hgx-h200.json)
inline constexpr ProtocolRows tree_slowness{subjects::kTree,
                                            {.what = "slowness",
                                             .unit = "1",
                                             .meaning = "NCCL: base and steps of a tree, over those of a ring",
                                             .prior = Prior{1, 0.3}}};  // source: as above
// source: what NCCL counts on in trees (LL, LL128) and rings (Simple) from 2.18 on
inline constexpr ProtocolRows network_hop{
    subjects::kNetwork,
    library_network_hop,
    {Prior{5e-6, 0.7}, Prior{8.5e-6, 0.7}, Prior{14e-6, 0.7}}};  // source: as above
// Between nodes a proxy thread of each GPU moves the bytes on. In LL it looks through their lines, for all blocks of
// its GPU: 0.4 GB/s on Alps (fitted, docs/accuracy.md), 2 to 4 on machines whose trees take LL up to 192 to 384 KiB,
// and rings of 16 ranks up to 768 KiB, before LL128 is as fast (aws-ofi-nccl, tables of its tuner for p5en and p6). The
// others it only starts: a block moves the NIC's rate, 22 to 24 GB/s of 16 that share eight of 50 GB/s (public tables
// of nccl-tests: 355 to 377 GB/s a node), and LL128 on EFA as much up to 1 GiB, but for its flags. Some nodes use a
// fraction of what is wired: those of ABCI with A100 17 GB/s of 100, at two nodes as at eight
inline constexpr LibraryRow network_proxy{{.what = "channel_Bps",
                                           .unit = "B/s",
                                           .meaning = "NCCL: most that a GPU's thread blocks move between nodes in LL",
                                           .subject = "network.LL",
                                           .prior = Prior{2.5e9, 0.8},  // source: above
                                           .heavy_tails = true}};
inline constexpr LibraryRow network_channel{
    {.what = "channel_Bps",
     .unit = "B/s",
     .meaning = "NCCL: most that one thread block moves between nodes in Simple, and but for its flags in LL128",
     .subject = "network.Simple",
     .prior = Prior{30e9, 0.3},  // source: above
     .heavy_tails = true}};
// What all nodes together add: cables that other traffic fills, ranks that begin late, noise. source: reduce_scatter on
// 4, 16 and 128 nodes of eight H100 (NVIDIA/nccl issue 1229): 360, 320 and 260 GB/s; steps after fits to two and 64
// nodes of Alps and two and eight of ABCI (docs/accuracy.md)
inline constexpr LibraryRow network_growth{
    {.what = "growth",
     .unit = "1",
     .meaning = "NCCL: what bytes take longer between nodes with each doubling of them beyond two",
     .subject = "network",
     .prior = Prior{0.05, 0.7}}};  // source: above
inline constexpr LibraryRow network_hop_growth{{.what = "hop_growth",
                                                .unit = "1",
                                                .meaning = "NCCL: the same of a step between nodes",
                                                .subject = "network",
                                                .prior = Prior{0.05, 0.7}}};  // source: above
inline constexpr LibraryRow narrow8{
    {.what = "narrow8_share",
     .unit = "1",
     .meaning = "NCCL: share of channel_Bps that is left where parts begin at multiples of 8 bytes",
     .subject = "ring.Simple"}};
inline constexpr LibraryRow narrow4{
    {.what = "narrow4_share", .unit = "1", .meaning = "the same at multiples of 4 bytes", .subject = "ring.Simple"}};

// NCCL's messages.
inline constexpr LibraryRow sendrecv_base{
    {.what = "base_s", .unit = "s", .meaning = library_base.meaning, .subject = "sendrecv"}};
inline constexpr LibraryRow sendrecv_channel{{.what = "channel_Bps",
                                              .unit = "B/s",
                                              .meaning = "NCCL: most that one thread block moves",
                                              .subject = "sendrecv",
                                              .prior = ring_channel.all()[2].prior}};

// source: H200, launch records of five occasions: calls of 16 KiB and less in a graph of 20 take 0.42 to 0.55 us less
// than queued ones (calibrate/data/hgx-h200)
inline constexpr LibraryRow graph_sooner{
    {.what = "sooner_s",
     .unit = "s",
     .meaning = "NCCL: how much sooner than a queued call one of a CUDA graph follows; 0 where not measured",
     .subject = "graph"}};
// source: pairs of H100 and H200: sendrecv of 64 KiB a channel takes 3.8 us more than its bytes and the smallest
// message
inline constexpr LibraryRow sendrecv_simple{{.what = "simple_s",
                                             .unit = "s",
                                             .meaning = "NCCL: what messages by Simple begin later than those by LL",
                                             .subject = "sendrecv",
                                             .prior = Prior{3.8e-6, 0.5}}};  // source: as above
// source: pairs of H100 and H200, one channel, 32 MiB: gather 23.1 GB/s, scatter 21.5, sendrecv 21.1
inline constexpr LibraryRow sendrecv_unidirectional{
    {.what = "unidirectional",
     .unit = "1",
     .meaning = "NCCL: rate of a thread block that only sends or only receives, over that of one that does both",
     .subject = "sendrecv",
     .prior = Prior{1.07, 0.1}}};  // source: as above

// NCCL's hops through host memory.
inline constexpr ProtocolRows host_base{
    subjects::kHost, {.what = "base_s", .unit = "s", .meaning = "NCCL: the same where hops go through host memory"}};
inline constexpr ProtocolRows host_hop{
    subjects::kHost, {.what = "hop_s", .unit = "s", .meaning = "NCCL: cost of one step through host memory"}};
inline constexpr ProtocolRows host_channel{
    subjects::kHost,
    {.what = "channel_Bps", .unit = "B/s", .meaning = "NCCL: most that one thread block moves through it"}};
inline constexpr LibraryRow host_message_channel{{.what = "channel_Bps",
                                                  .unit = "B/s",
                                                  .meaning = "NCCL: most that one thread block moves through it",
                                                  .subject = "host.sendrecv"}};
// Share of the rate of stores and loads that flags, their polls and fences leave to data, and what translates their
// addresses. source: assumed between hosts: 0.96 on that of H200, 0.1 on the one of 8 L40S (calibrate/data/l40s)
inline constexpr LibraryRow host_data_share{
    {.what = "data_share",
     .unit = "1",
     .meaning = "NCCL: share of PCIe's rate that hops through host memory attain",
     .subject = "host",
     .prior = Prior{0.8, 0.4},  // source: as above
     .heavy_tails = true}};
// Bytes that devices write and read again while they are in the CPU's cache never reach memory: some of its ways are
// theirs.
// source: assumed, 2 of 15 ways of about 100 MiB; hosts' caches differ by several times
inline constexpr LibraryRow host_cache{{.what = "cache_B",
                                        .unit = "B",
                                        .meaning = "NCCL: of its buffers in host memory, what stays in the CPU's cache",
                                        .subject = "host",
                                        .prior = Prior{13.6e6, 0.6}}};  // source: as above

// Libraries that send messages by a schedule.
// source: assumed, half of the 1.02 us that a small message between hosts takes on Leonardo (paper 002, section V-B2);
// Spectrum MPI on Summit has 0.6 us (calibrate/data/summit/mpi-several.json)
inline constexpr Prior kPost{0.5e-6, 0.5};  // source: as above
inline constexpr LibraryRow host_post{
    {.what = "post_s",
     .unit = "s",
     .meaning = "MPI: between two messages that a process posts, buffers in host memory",
     .subject = "host",
     .prior = kPost}};
inline constexpr LibraryRow gpu_post{{.what = "post_s",
                                      .unit = "s",
                                      .meaning = "MPI: between two messages that a process posts, buffers on a GPU",
                                      .subject = "gpu",
                                      .prior = kPost}};
// source: assumed; limits of Open MPI 4.0 are 4 KiB in shared memory and 12 KiB over InfiniBand, UCX chooses by rate
// and goes up to 64 KiB. No power of two, so that no usual size lies on it
inline constexpr LibraryRow host_eager{{.what = "eager_B",
                                        .unit = "B",
                                        .meaning = "MPI: up to it a sender does not wait for the receiver",
                                        .subject = "host",
                                        .prior = Prior{24000, 0.5}}};  // source: as above
// One core adds what came to what it has: two loads and a store a byte. source: assumed, a third of the 15 GB/s that
// one core of a server copies
inline constexpr LibraryRow host_reduce{{.what = "reduce_Bps",
                                         .unit = "B/s",
                                         .meaning = "MPI: bytes that one process adds to its own",
                                         .subject = "host",
                                         .prior = Prior{5e9, 0.5}}};  // source: as above
inline constexpr LibraryRow host_nics{
    {.what = "nics", .unit = "1", .meaning = "MPI: NICs that a message between hosts uses at once", .subject = "host"}};
// source: between two processes of a socket of Summit 0.5 us and 15 GB/s, of two sockets 0.9 us and 7 GB/s
// (models/params/summit.json)
inline constexpr LibraryRow inside_startup{
    {.what = "startup_s",
     .unit = "s",
     .meaning = "MPI: message between processes of one node, where none was measured",
     .subject = "inside",
     .prior = Prior{0.7e-6, 0.5}}};  // source: as above
inline constexpr LibraryRow inside_bandwidth{{.what = "bandwidth_Bps",
                                              .unit = "B/s",
                                              .meaning = "MPI: the same, its rate",
                                              .subject = "inside",
                                              .prior = Prior{10e9, 0.5}}};  // source: as above
inline constexpr LibraryRow staging_copy{
    {.what = "copy_s",
     .unit = "s",
     .meaning = "MPI: start and end of the copy of a buffer to or from pageable memory",
     .subject = "staging"}};
inline constexpr LibraryRow staging_rate{{.what = "copy_Bps",
                                          .unit = "B/s",
                                          .meaning = "MPI: most that one process gets of such copies",
                                          .subject = "staging"}};
// Pages of a buffer that malloc has from the operating system each time. source: assumed, a fault of a quarter of a
// microsecond for 4 KiB; from 4 MiB on neither malloc keeps such memory nor a core's share of the cache
inline constexpr LibraryRow staging_fresh{{.what = "fresh_Bps",
                                           .unit = "B/s",
                                           .meaning = "MPI: rate of the first touch of large buffers, beside the copy",
                                           .subject = "staging",
                                           .prior = Prior{16e9, 0.7}}};  // source: as above
inline constexpr LibraryRow staging_fresh_from{{.what = "fresh_from_B",
                                                .unit = "B",
                                                .meaning = "MPI: size about which buffers are that large",
                                                .subject = "staging",
                                                .prior = Prior{4194304, 0.7}}};  // source: as above
inline constexpr LibraryRow library_version{
    {.what = "version", .unit = "1", .meaning = "MPI: version that the machine runs, as 4.0", .subject = "library"}};

}  // namespace linkcast::key
