#pragma once
// Wiring of a machine: devices, cables and nominal rates, each with a source; engines of NICs that say how they move
// bytes. Fitted numbers never appear here.
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/spelled.hpp"

namespace linkcast {

struct NicEngine {
  Bytes read_request;        ///< data that one request to a GPU asks for
  Seconds read_interval;     ///< between two requests
  Bytes read_window;         ///< asked for ahead of the data; 0: one packet at a time, each started anew
  Seconds head_latency;      ///< from a request to its first byte
  Seconds transmit_start;    ///< card's own work before the first request of a message
  BytesPerSecond gpu_read;   ///< that the GPU answers with
  BytesPerSecond host_read;  ///< of host memory, by plain DMA
  Bytes packet;              ///< on the wire; a message is received in whole ones
  Seconds message_overhead;  ///< of the host for every message sent
  Seconds staged_overhead;   ///< the same where it copies the message out of a GPU first, without the bytes
  std::string source;

  /// Rate at which GPU memory is read once the first byte is there. The window is asked for in two halves, the next one
  /// when the first byte of the last one has come: a cycle of both takes no less than one latency and half the window.
  [[nodiscard]] BytesPerSecond steady_read() const;
  /// Bytes that the card must take in for a message.
  [[nodiscard]] double whole_packets_B(double bytes) const;

  /// Whatever the card does itself takes `factor` times as long; what the host does for a message does not.
  void slow_down(double factor);

  /// Every figure by its name in the topology file, SI.
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const;
  /// Sets a figure by its name in the topology file. @returns false if there is no such figure
  bool set(const std::string& name, const std::string& text);
};

NicEngine read_nic_engine(ObjectReader r);

enum class DeviceKind { kGpu, kCpu, kPcieSwitch, kNvswitch, kNic, kSwitch };
const std::string& to_text(DeviceKind kind);

struct Device {
  std::string id;
  DeviceKind kind = DeviceKind::kGpu;
  std::string model;
  int sm = 0;                         ///< GPU: compute capability x 10 (60 = Pascal); else 0
  std::string group;                  ///< nvswitch: baseboard; switches of one group act as parallel planes; else empty
  std::string vendor;                 ///< cpu: intel, amd, ibm, arm; else empty
  std::optional<NicEngine> engine{};  ///< nic: how it moves bytes, where that is known
  std::string uuid{}, bus_id{};       ///< gpu: as its driver names it, "GPU-...", "0000:1b:00.0"; empty: not known
  double slow = 1;  ///< gpu: its kernels and copy engines take this many times as long; only what-if edits set it
};

/// One cable or a bundle of `count` equal cables between two devices. Full duplex.
struct Cable {
  std::string id;    ///< "<a>-<b>", or "<a>-<b>:<kind>" where two kinds join the same devices
  int a = 0, b = 0;  ///< device indices
  std::string kind;  ///< nvlink1, nvlink2, pcie3, qpi, ...
  int count = 1;
  BytesPerSecond bandwidth;  ///< nominal, one cable, one direction
  std::string source;
  bool edited = false;                       ///< a what-if edit gave it a rate that nobody measured
  std::optional<BytesPerSecond> reported{};  ///< nominal rate that software reads, where edits scaled the actual one

  /// Nominal rate that software reads: a link that is slower than it should be does not report it.
  [[nodiscard]] BytesPerSecond reported_bandwidth() const { return reported.value_or(bandwidth); }
};

/// One direction of a cable. The opposite direction of link i is link i ^ 1.
struct Link {
  int cable = 0;
  int from = 0, to = 0;  ///< device indices
};

/// Ordered directed links from one device to another; empty only when source == target.
struct Route {
  std::vector<int> links;  ///< indices into Platform::links()
};

/// Which GPU pairs the CUDA runtime lets access each other's memory over PCIe.
enum class PciePeer { kNone, kSameSocket, kAll };
inline constexpr Spelling<PciePeer> kPciePeers[] = {
    {PciePeer::kNone, "none"}, {PciePeer::kSameSocket, "same_socket"}, {PciePeer::kAll, "all"}};
constexpr std::span<const Spelling<PciePeer>> spellings(PciePeer) { return kPciePeers; }

class Topology {
 public:
  std::string name;
  std::string title;
  std::string source;
  std::string path;
  std::string sha256;
  PciePeer pcie_peer = PciePeer::kNone;
  bool gpudirect_rdma = true;  ///< NICs may access GPU memory where the way is short; false: host memory lies between
  /// Machines that an unmeasured one inherits its parameters from, best first; empty: the nearest machines.
  std::vector<std::string> inherits;
  std::vector<Device> devices;
  std::vector<Cable> cables;
  /// The network that joins many such nodes: a rule and its parameters (sim/machine/fabric.hpp); null if
  /// none.
  Json fabric;
  /// By class of links: the nominal rate that software reads, where edits scaled the one of `fabric`.
  std::map<std::string, BytesPerSecond> reported_rates;

  [[nodiscard]] std::optional<int> find(const std::string& device_id) const;
  /// Device indices of the GPUs in number order: gpus()[k] is the device "gpu<k>".
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }
  /// NVLink-like direct cable (not pcie, not cpu-cpu) between two devices, nullptr if none.
  [[nodiscard]] const Cable* direct(int a, int b) const;
  /// Number of NVLink-like links (bundle counts added) between two devices, 0 if none.
  [[nodiscard]] int direct_links(int a, int b) const;
  /// Of the cables of the node and of the links between nodes.
  [[nodiscard]] std::set<std::string> cable_kinds() const;
  /// Checks ids, fills gpus_. Called by read_topology and after edits. @throws InputError
  void index();

 private:
  std::vector<int> gpus_;
};

// Families of cable kinds; the kinds are rows of sim/records/cable_kinds.hpp.
/// A cable of a GPU that is not PCIe.
bool is_accelerator_cable(const std::string& kind);
bool is_pcie_cable(const std::string& kind);
/// Between two CPUs.
bool is_socket_cable(const std::string& kind);
/// Between nodes.
bool is_fabric_cable(const std::string& kind);

/// Schema "topology/1" of a record at hand. @param path  names it in errors. @throws InputError
Topology parse_topology(const Json& json, const std::string& path);
/// The same of a file. @throws InputError
Topology read_topology(const std::string& path);
/// From the JSON of the file at `path`, whose bytes give the hash. @throws InputError
Topology read_topology(const Json& json, const std::string& path);

}  // namespace linkcast
