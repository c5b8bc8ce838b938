#pragma once
// What is wired to what: structure and nominal rates with a source. Fitted numbers never appear here.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"
#include "sim/machine/nic_engine.hpp"

namespace linkcast {

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
enum class PciePeer { kNone, kSameSocket };

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
  /// The network that joins many such nodes: a rule and its parameters (sim/machine/fabric_generator.hpp); null if
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

}  // namespace linkcast
