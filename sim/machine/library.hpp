#pragma once
// A communication library: what it can do, by name. Nothing but its capabilities says how it is asked. Without a name,
// that of the machine's time.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/cluster.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/machine/registry.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Builds communicators of rings and trees, and knows their protocols and latencies: NCCL and what is made like it.
class RingLibrary {
 public:
  RingLibrary() = default;
  RingLibrary(const RingLibrary&) = delete;
  RingLibrary& operator=(const RingLibrary&) = delete;
  virtual ~RingLibrary() = default;
  /// @param gpus  GPU numbers in rank order, at least 2, all different
  [[nodiscard]] virtual Communicator build(const Platform& platform, const std::vector<int>& gpus) const = 0;
  /// True if its ring runs in rank order, whatever joins the GPUs.
  [[nodiscard]] virtual bool keeps_rank_order() const { return false; }
  /// Whose GPUs it runs on: nvidia or amd.
  [[nodiscard]] virtual std::string maker() const { return "nvidia"; }
  /// True if it can be asked for communicators over several nodes.
  [[nodiscard]] virtual bool spans_nodes() const { return false; }
  /// The same over several equal nodes. @param gpus  of each node, at least 1. @param nodes  at least 2
  /// @throws InputError  it is modelled for one node only
  [[nodiscard]] virtual Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                                  const ExitSettings& exits = {}) const;
  /// True if it believes a file about the machine (Platform::library_topology()) instead of looking itself.
  [[nodiscard]] virtual bool takes_topology_files() const { return false; }
  /// Whether build_across() has the choice of `exits.pxn`, and of the other settings.
  [[nodiscard]] virtual bool has_pxn() const { return false; }
  [[nodiscard]] virtual bool has_exit_settings() const { return false; }
  /// Protocol for `size` in the nccl-tests sense. @param forced  empty, or a protocol name
  [[nodiscard]] virtual ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                                const std::string& operation, Bytes size,
                                                const std::string& forced) const = 0;
  /// The library's own cost model, row by row; empty if its version has none.
  [[nodiscard]] virtual std::vector<TunerEntry> tuner(const Platform& /*platform*/,
                                                      const Communicator& /*communicator*/,
                                                      const TunerRequest& /*request*/) const {
    return {};
  }
  /// The row it takes, with blocks and threads. @returns nullopt if its version has no cost model
  [[nodiscard]] virtual std::optional<TunerChoice> choose(const Platform& /*platform*/,
                                                          const Communicator& /*communicator*/,
                                                          const TunerRequest& /*request*/) const {
    return std::nullopt;
  }
  /// Message of a group of sends and receives. @param channels  of all messages; 0: the library's choice
  /// @returns nullopt if its version has no such operations
  [[nodiscard]] virtual std::optional<MessageChoice> message(const Communicator& /*communicator*/, Bytes /*size*/,
                                                             int /*channels*/) const {
    return std::nullopt;
  }
  /// Who issues the calls unless a query says it (launch_kinds()).
  [[nodiscard]] virtual std::string usual_launch() const { return "process"; }
  /// Cost before the first byte: launch and base of the protocol.
  [[nodiscard]] virtual Seconds base_latency(const std::string& protocol) const = 0;
  /// Cost of one hop of one step.
  [[nodiscard]] virtual Seconds hop_latency(const std::string& protocol, const std::string& path_class) const = 0;
  /// Start-up of what is neither ring nor tree, as its version's table says; nothing of what it does not have.
  [[nodiscard]] virtual AlgorithmLatency algorithm_latency(const Communicator& /*communicator*/,
                                                           const std::string& /*algorithm*/) const {
    return {};
  }
  /// Share of the links' rate that multicast by NVSwitch attains, before it was measured.
  [[nodiscard]] virtual Prior multicast_share(const Platform& /*platform*/,
                                              const Communicator& /*communicator*/) const {
    return {1, 0};
  }
  /// Payload that one thread block moves, before it was measured. @returns nullopt  as versions in general
  [[nodiscard]] virtual std::optional<Prior> block_rate(const Platform& /*platform*/,
                                                        const Communicator& /*communicator*/,
                                                        const std::string& /*protocol*/) const {
    return std::nullopt;
  }
  /// Share of it that is left where threads move `width_B` bytes at once instead of 16.
  [[nodiscard]] virtual Prior narrow_share(const Platform& /*platform*/, const Communicator& /*communicator*/,
                                           int /*width_B*/) const {
    return kNarrowShare;
  }
  /// Of a hop through host memory: part of the quicker of its two ways that does not overlap with the slower one.
  /// @returns nullopt  all of it
  [[nodiscard]] virtual std::optional<Prior> host_wait() const { return std::nullopt; }
  /// Whether the blocks of a ring take each step together, so that its links idle in a step that sends nothing and
  /// wait for the part that moves slowest.
  [[nodiscard]] virtual bool keeps_step() const { return false; }
  /// Bytes of a channel in Simple; 0: as versions in general.
  [[nodiscard]] virtual double simple_buffer_B() const { return 0; }
  /// Whether one thread collects the calls for its GPUs in a group; else it launches each kernel as it is called.
  [[nodiscard]] virtual bool groups_calls() const { return true; }

 protected:
  // Threads move single elements, of 8 bytes or of 4. source: three H100,
  // calibrate/data/hgx-h100/20261126i-nccl_base.json: 0.74 and 0.63, with what storing takes besides
  // (models/algorithms/ring.cpp)
  static constexpr Prior kNarrowShare{0.65, 0.2};
};

struct ScheduleRequest {
  std::string operation;
  Bytes size;  ///< in the nccl-tests sense
  int ranks = 0;
  double version = 0;  ///< of the library that the machine runs, as 4.0; 0: not known
};

/// What happens to buffers in GPU memory before the messages of a collective, and after them the other way.
enum class Staging { kNone, kPageable, kPinned };

/// Sends point-to-point messages by a schedule, as MPI does.
class ScheduleLibrary {
 public:
  ScheduleLibrary() = default;
  ScheduleLibrary(const ScheduleLibrary&) = delete;
  ScheduleLibrary& operator=(const ScheduleLibrary&) = delete;
  virtual ~ScheduleLibrary() = default;
  /// Name in algorithms(). @throws InputError  it has no such operation
  [[nodiscard]] virtual std::string algorithm(const ScheduleRequest& request) const = 0;
  [[nodiscard]] virtual Staging staging(const Collective& op) const = 0;
  /// Whether its choice of algorithms is public; else it is that of the library it is made from.
  [[nodiscard]] virtual bool public_choice() const = 0;
  /// Library whose version, and parameters of messages and of sums on a host, it has; empty: its own.
  [[nodiscard]] virtual std::string messages_of() const { return ""; }
};

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;
  /// How it runs collectives over rings and trees; null: it builds none.
  [[nodiscard]] virtual const RingLibrary* rings() const { return nullptr; }
  /// How it runs them as schedules of messages; null: it has none.
  [[nodiscard]] virtual const ScheduleLibrary* schedules() const { return nullptr; }
};

Registry<Library>& libraries();

/// The library's rings. @throws InputError  no such library, or one that builds none
const RingLibrary& ring_library(const std::string& name);

/// By the maker and the newest generation of its GPUs: the release that owners of such machines ran when they were new,
/// as far as the catalogue has it.
std::string usual_library(const Topology& topology);

/// NCCL_VERSION_CODE, as the library prints it: 2804 is 2.8, 22809 is 2.28. @returns major, minor
std::pair<int, int> nccl_version(int code);

/// The newest registered version of a family, "nccl" or "rccl", that is not newer than this one, else the next; one of
/// the same major version where there is one. Empty if there is none at all.
std::string nearest_version(const std::string& family, int major, int minor);

/// Registered versions of a family that have a capability, oldest first.
std::vector<std::string> library_versions(const std::string& family,
                                          const std::function<bool(const RingLibrary&)>& has);
/// Those of NCCL.
std::vector<std::string> nccl_versions(const std::function<bool(const RingLibrary&)>& has);

/// The oldest and the newest of nccl_versions(has), as messages write them: "nccl-2.7 to nccl-2.30".
std::string nccl_range(const std::function<bool(const RingLibrary&)>& has);

}  // namespace linkcast
