#pragma once
// Every kind of cable that a topology may have: family, generation and nominal rate. A new kind is one row here;
// what may be written, what errors list, what importers and topologies/schema.json know follows from it.
// Header only: linkcast-bench is built without our libraries.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/quantity.hpp"

namespace linkcast {

enum class CableFamily {
  kAccelerator,  ///< of a GPU, not PCIe
  kPcie,
  kSocket,  ///< between two CPUs
  kNetwork  ///< between nodes
};

/// What tells a kind from others of its family.
enum class CableTrait {
  kNone,
  kForwarded,  ///< GPUs pass on what is for another one
  kHost,       ///< libraries take it for PCIe: it joins a GPU and the CPU
  kChip        ///< between the chips of one package, which libraries tell from NVLink
};

struct CableKind {
  std::string_view name;   ///< a '*' at its end stands for any ending
  std::string_view maker;  ///< of the two ends
  CableFamily family{};
  int generation = 0;   ///< 0: has none
  double rate_Bps = 0;  ///< nominal, one link or lane, one direction, after line coding; 0: differs
  CableTrait trait{};
  std::string_view source{};

  [[nodiscard]] constexpr bool open() const { return name.back() == '*'; }
  [[nodiscard]] constexpr std::string_view prefix() const { return name.substr(0, name.size() - (open() ? 1 : 0)); }
};

inline constexpr std::string_view kNvidiaDatasheet =
    "NVIDIA datasheets of the GPUs; the totals there count both directions of all links";
inline constexpr std::string_view kPcieSpecification =
    "PCI-SIG, PCI Express Base Specification: transfers/s and coding";

// source: the last column
inline constexpr std::array kCableKinds = {
    CableKind{"nvlink1", "nvidia", CableFamily::kAccelerator, 1, 20e9, {}, kNvidiaDatasheet},
    CableKind{"nvlink2", "nvidia", CableFamily::kAccelerator, 2, 25e9, {}, kNvidiaDatasheet},
    CableKind{"nvlink3", "nvidia", CableFamily::kAccelerator, 3, 25e9, {}, kNvidiaDatasheet},
    CableKind{"nvlink4", "nvidia", CableFamily::kAccelerator, 4, 25e9, {}, kNvidiaDatasheet},
    CableKind{"nvlink5", "nvidia", CableFamily::kAccelerator, 5, 50e9, {}, kNvidiaDatasheet},
    CableKind{"nvlink*", "nvidia", CableFamily::kAccelerator},
    CableKind{"infinity_fabric", "amd", CableFamily::kAccelerator, 0, 50e9, CableTrait::kForwarded,
              "De Sensi et al., SC24, section II-C: 400 Gb/s"},
    CableKind{"infinity_fabric_gpu*", "amd", CableFamily::kAccelerator},
    CableKind{"infinity_fabric_host", "amd", CableFamily::kAccelerator, 0, 36e9, CableTrait::kHost,
              "De Sensi et al., SC24, section II-C: 288 Gb/s"},
    CableKind{"c2c", "nvidia", CableFamily::kAccelerator, 0, 450e9, CableTrait::kChip,
              "NVIDIA GH200 datasheet: 900 GB/s both directions"},
    CableKind{"pcie1", "", CableFamily::kPcie, 1, 2.5 * 8 / 10 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie2", "", CableFamily::kPcie, 2, 5.0 * 8 / 10 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie3", "", CableFamily::kPcie, 3, 8.0 * 128 / 130 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie4", "", CableFamily::kPcie, 4, 16.0 * 128 / 130 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie5", "", CableFamily::kPcie, 5, 32.0 * 128 / 130 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie6", "", CableFamily::kPcie, 6, 64.0 * 242 / 256 * 1e9 / 8, {}, kPcieSpecification},
    CableKind{"pcie*", "", CableFamily::kPcie},
    CableKind{"qpi", "intel", CableFamily::kSocket, 0, 19.2e9, {}, "Intel Xeon E5 v4 datasheet: 9.6 GT/s x 2 bytes"},
    CableKind{
        "upi", "intel", CableFamily::kSocket, 0, 20.8e9, {}, "Intel datasheets, slowest UPI: 10.4 GT/s x 2 bytes"},
    CableKind{"xbus", "ibm", CableFamily::kSocket, 0, 64e9, {}, "IBM POWER9 datasheet: X-bus"},
    CableKind{"nvlink_cpu", "ibm", CableFamily::kSocket},
    CableKind{
        "infinity_fabric_cpu", "amd", CableFamily::kSocket, 0, 36e9, {}, "AMD datasheets, xGMI: 18 GT/s x 16 bits"},
    CableKind{"ib_*", "", CableFamily::kNetwork},
    CableKind{"roce_*", "", CableFamily::kNetwork},
    CableKind{"slingshot*", "", CableFamily::kNetwork},
    CableKind{"efa_*", "", CableFamily::kNetwork},
    CableKind{"ethernet*", "", CableFamily::kNetwork},
    CableKind{"apelink", "", CableFamily::kNetwork},
};

/// The row of this very name, else the longest of those with '*' that fits. @returns nullptr for an unknown kind
inline const CableKind* find_cable_kind(std::string_view kind) {
  const CableKind* found = nullptr;
  if (kind.empty()) return nullptr;
  for (const CableKind& row : kCableKinds) {
    if (row.name.front() != kind.front()) continue;
    if (row.name == kind) return &row;
    if (!row.open() || kind.substr(0, row.prefix().size()) != row.prefix()) continue;
    if (!found || row.prefix().size() > found->prefix().size()) found = &row;
  }
  return found;
}

inline bool is_of_family(std::string_view kind, CableFamily family) {
  const CableKind* row = find_cable_kind(kind);
  return row && row->family == family;
}

inline CableTrait trait_of(std::string_view kind) {
  const CableKind* row = find_cable_kind(kind);
  return row ? row->trait : CableTrait::kNone;
}

/// "pcie3_root" is of generation 3; 0 where the name has none.
inline int cable_generation(std::string_view kind) {
  const CableKind* row = find_cable_kind(kind);
  if (!row || !row->open()) return row ? row->generation : 0;
  int generation = 0;
  std::from_chars(kind.data() + row->prefix().size(), kind.data() + kind.size(), generation);
  return generation;
}

/// The row of NVLink (kAccelerator) or PCIe of this generation. @returns nullptr if there is none
inline const CableKind* cable_kind_of(CableFamily family, int generation) {
  for (const CableKind& row : kCableKinds)
    if (row.family == family && row.generation == generation && generation > 0) return &row;
  return nullptr;
}

/// "1 to 5": the generations of NVLink (kAccelerator) or PCIe.
inline std::string known_generations(CableFamily family) {
  int first = 0, last = 0;
  for (const CableKind& row : kCableKinds) {
    if (row.family != family || row.generation == 0) continue;
    first = first == 0 ? row.generation : std::min(first, row.generation);
    last = std::max(last, row.generation);
  }
  return std::to_string(first) + " to " + std::to_string(last);
}

/// "nvlink*, c2c, ...": what may be written; rows that a '*' covers are left out. @param family  of this one only
inline std::string known_cable_kinds(std::optional<CableFamily> family = std::nullopt) {
  const auto covered = [](const CableKind& row) {
    return std::any_of(kCableKinds.begin(), kCableKinds.end(), [&](const CableKind& other) {
      return other.open() && &other != &row && other.family == row.family &&
             row.name.substr(0, other.prefix().size()) == other.prefix();
    });
  };
  std::string text;
  for (const CableKind& row : kCableKinds)
    if ((!family || row.family == *family) && !covered(row)) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

/// One way over one link with nothing else on it, seconds; a fabric says its own.
/// source: NVIDIA/nccl src/graph/tuning.cc, hwLat of protocol LL: 0.6 us a hop over NVLink, 1 us over PCI, which
/// contain the flag's write and the poll that sees it; between sockets assumed as PCI
inline double hop_s(CableFamily family) { return family == CableFamily::kAccelerator ? 0.6e-6 : 1e-6; }

/// Expected time that a packet is held up where a share of all packets on the wire are repetitions: each is asked for
/// by a Nak and so costs a round trip, and there are share / (1 - share) of them a packet.
/// source: PCI Express Base Specification, Data Link Layer, Ack/Nak protocol and replay; the mean of a geometric
/// distribution
inline double resend_s(double share, double one_way_s) { return share / (1 - share) * 2 * one_way_s; }

/// One lane. @returns nothing for a generation not known here
inline std::optional<BytesPerSecond> pcie_lane(int generation) {
  const CableKind* row = cable_kind_of(CableFamily::kPcie, generation);
  return row ? std::optional(BytesPerSecond{row->rate_Bps}) : std::nullopt;
}

/// Billions of transfers a second of one lane. source: PCI Express Base Specification: 2.5, 5, 8 and twice as many
/// since
inline double pcie_transfers_GT(int generation) {
  return generation < 3 ? 2.5 * generation : 8.0 * (1 << (generation - 3));
}

/// "16.0": the same as Linux prints it.
inline std::string pcie_transfers(int generation) {
  const long tenths = std::lround(10 * pcie_transfers_GT(generation));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

struct SocketLink {
  std::string kind;
  BytesPerSecond rate;
};

/// The last kind listed that the maker of a CPU joins sockets with; Intel's also for makers not known here.
inline SocketLink socket_link(std::string_view vendor) {
  const CableKind* found = nullptr;
  for (const CableKind& row : kCableKinds)
    if (row.family == CableFamily::kSocket && row.rate_Bps > 0 && row.maker == vendor) found = &row;
  return found ? SocketLink{std::string(found->name), {found->rate_Bps}} : socket_link("intel");
}

}  // namespace linkcast
