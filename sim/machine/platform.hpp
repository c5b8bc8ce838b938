#pragma once
// A machine ready to be simulated: Topology with the rate of every link resolved from its Calibration.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/topology.hpp"
#include "sim/machine/transport.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Kinds of constraint a flow can be limited by.
enum class ConstraintKind { kLink, kDuplex, kKernelDuplex, kHostMemory, kProcess };

/// A shared limit: one direction of a cable, both directions of a cable together, the memory of a CPU, or the process
/// of a GPU.
struct Constraint {
  ConstraintKind kind = ConstraintKind::kLink;
  int link = -1;      ///< kLink
  int cable = -1;     ///< of those of cables
  std::string id;     ///< "gpu0->gpu1", "plx0<->cpu0", "cpu0 memory" or "gpu0 process"
  Resolved capacity;  ///< bytes/s
};

/// Limits of the memory of a CPU, numbers of constraints: what devices write, what they read, both together.
struct HostMemory {
  int write = -1, read = -1, both = -1;  ///< -1: never measured
};

class Platform;

/// Topology that communication libraries are given in place of the machine's own (NCCL_TOPO_FILE, NCCL_P2P_LEVEL).
struct LibraryTopology {
  std::shared_ptr<const Platform> platform{};  ///< its GPU k is the machine's GPU k; null: the machine as it is
  std::string sha256{};                        ///< of the file
  /// GPUs with NVLinks to one that has none back in the file: no library takes both.
  std::vector<std::pair<int, int>> one_way{};
  std::string p2p_level{};  ///< worst class of path over which GPUs access each other; empty: the library's own choice

  [[nodiscard]] bool overrides() const { return platform != nullptr || !p2p_level.empty(); }
};

/// Immutable: whatever changes a platform returns another one.
class Platform {
 public:
  /// @throws InputError  if the calibration is for another topology, or names a cable that does not exist
  Platform(Topology topology, Calibration calibration);

  /// As simulated: NVSwitches of one group merged into one device, since a transfer is striped over all planes.
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// As built: every switch and cable of the topology file.
  [[nodiscard]] const Topology& wiring() const { return wiring_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  /// Parameters of libraries and of hosts as forecasts look them up.
  [[nodiscard]] LibraryParameters library_parameters() const { return LibraryParameters(calibration_, used_.get()); }
  /// This platform with other parameters of libraries or hosts (sim/records/calibration.hpp): its links stay as they
  /// are.
  [[nodiscard]] Platform with_library_parameters(const std::map<std::string, Parameter>& changed) const;
  /// This platform, whose forecasts record the library parameters that they use.
  [[nodiscard]] Platform recording(std::shared_ptr<ParametersUsed> used) const;
  /// This platform, where libraries see another topology; the bytes still move over its own links.
  [[nodiscard]] Platform with_library_topology(LibraryTopology seen) const;
  [[nodiscard]] const LibraryTopology& library_topology() const { return library_topology_; }
  /// The machine that a communication library sees.
  [[nodiscard]] const Platform& as_library_sees() const {
    return library_topology_.platform ? *library_topology_.platform : *this;
  }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Constraints; the first links().size() of them are the links in the same order.
  [[nodiscard]] const std::vector<Constraint>& constraints() const { return constraints_; }
  /// Duplex constraint of a cable, -1 if both directions are independent.
  [[nodiscard]] int duplex_of(int cable) const { return duplex_of_cable_[static_cast<std::size_t>(cable)]; }

  /// The same for loads and stores of kernels, which hinder each other more than copies do.
  [[nodiscard]] int kernel_duplex_of(int cable) const {
    return kernel_duplex_of_cable_[static_cast<std::size_t>(cable)];
  }

  /// Of a CPU (device index).
  [[nodiscard]] const HostMemory& host_memory(int cpu) const { return host_memory_[static_cast<std::size_t>(cpu)]; }
  /// Constraint of what the process of a GPU copies by itself, one byte after the other, as process_copy_Bps(): a copy
  /// of another rate holds it for as much longer. @param gpu  number
  [[nodiscard]] int process_of(int gpu) const { return first_process_ + gpu; }
  [[nodiscard]] static double process_copy_Bps();

  [[nodiscard]] int gpu_count() const { return static_cast<int>(topology_.gpus().size()); }
  /// Device index of GPU number k.
  [[nodiscard]] int gpu(int k) const { return topology_.gpus()[static_cast<std::size_t>(k)]; }

  /// Route of a peer copy: direct cable, or through NVSwitches, or PCIe where peer access is allowed. nullopt if none.
  [[nodiscard]] const std::optional<Route>& peer_route(int source, int target) const;
  /// Device -> the CPU it hangs on, by PCIe (or NVLink on POWER).
  [[nodiscard]] const Route& to_host(int device) const;
  [[nodiscard]] const Route& from_host(int device) const;
  /// CPU (device index) a GPU hangs on.
  [[nodiscard]] int socket_of(int device) const;
  /// CPU -> CPU; empty if the same.
  [[nodiscard]] const Route& between_sockets(int from_cpu, int to_cpu) const;
  /// Whether kernels get of a cable what it forwards of their stores, as of Infinity Fabric.
  [[nodiscard]] bool forwards(int cable) const { return forwards_[static_cast<std::size_t>(cable)] != 0; }
  /// True if every one of these links is of an accelerator cable.
  [[nodiscard]] bool accelerators_only(const std::vector<int>& links) const;
  /// GPUs joined to both source and target by accelerator cables, directly or through switches (device indices).
  [[nodiscard]] std::vector<int> relays(int source, int target) const;

  [[nodiscard]] const Transports& transports() const { return transports_; }
  /// Most that one flow gets through a link, bytes/s; infinity where flows share it freely.
  [[nodiscard]] double flow_cap(int link) const { return flow_caps_[static_cast<std::size_t>(link)]; }
  /// Most that one kernel gets through a link by stores or loads, bytes/s of payload; infinity where never measured.
  [[nodiscard]] double kernel_cap(int link, bool loads) const {
    return (loads ? load_caps_ : store_caps_)[static_cast<std::size_t>(link)];
  }
  /// A parameter of the cable itself, else of its kind; nullopt if neither was fitted.
  [[nodiscard]] std::optional<Resolved> cable_parameter(const Cable& cable, const ParameterRow& row) const;
  /// Share of the packets on a link that are sent again.
  [[nodiscard]] double retry_rate(int link) const { return retry_rates_[static_cast<std::size_t>(link)]; }
  /// What a message is held up by that on an idle machine, seconds: 0 where nothing is sent again.
  [[nodiscard]] double resend_s(int link) const { return resend_s_[static_cast<std::size_t>(link)]; }
  /// A parameter of one direction; nullopt if it was not fitted.
  [[nodiscard]] std::optional<Resolved> link_parameter(int link, const ParameterRow& row) const;
  /// Every parameter of a link and of its cable, as parameter_rows() lists them: value and relative error, -1 where
  /// none was fitted. Links of equal figures and equal cables carry alike.
  [[nodiscard]] std::vector<double> link_figures(int link) const;

 private:
  void build_links();
  void build_retry_rates();
  void build_constraints();
  /// @returns the new constraint on both directions of a cable, -1 if its parameter was never fitted
  int add_duplex(int cable, const CableRow& row, ConstraintKind kind, const char* arrow);
  /// One constraint each for those of host_memory.* that were measured.
  void build_host_memory();
  void build_processes();
  void build_host_routes();
  void build_peer_routes();
  [[nodiscard]] BytesPerSecond narrowest(const Route& route) const;  ///< by nominal rates
  void build_socket_routes();
  [[nodiscard]] Resolved link_capacity(int link) const;
  /// All bytes of one direction, those that are sent again among them.
  [[nodiscard]] Resolved wire_rate(const Link& link) const;

  Topology wiring_;
  Topology topology_;
  Calibration calibration_;
  Transports transports_;
  LibraryTopology library_topology_;
  std::shared_ptr<ParametersUsed> used_;  ///< null: nobody records
  std::vector<Link> links_;
  std::vector<Constraint> constraints_;
  std::vector<int> duplex_of_cable_, kernel_duplex_of_cable_;
  std::vector<HostMemory> host_memory_;  ///< per device
  int first_process_ = 0;                ///< of the constraints
  std::vector<Route> to_host_, from_host_;
  std::vector<int> socket_of_;
  std::vector<char> forwards_;                                       ///< per cable
  std::vector<char> accelerator_;                                    ///< per link: of an accelerator cable
  std::vector<char> towards_host_;                                   ///< per link: on the way from a device to its CPU
  std::vector<double> flow_caps_, store_caps_, load_caps_;           ///< per link
  std::vector<double> retry_rates_, resend_s_;                       ///< per link
  std::map<std::pair<int, int>, std::optional<Route>> peer_routes_;  ///< by GPU device indices
  std::map<std::pair<int, int>, Route> socket_routes_;               ///< by CPU device indices, where there is a way
};

}  // namespace linkcast
