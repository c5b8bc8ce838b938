#pragma once
// How two places of a node are joined, best first, in the words of NCCL's graph era.
#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace linkcast::graph {

/// LOC the same place; NVL NVLink; NVB NVLink through one GPU in between; C2C CPU and GPU on one module; PIX one PCI
/// switch; PXB several; P2C a NIC reached over C2C; PXN a NIC reached through another GPU; PHB through a CPU; SYS from
/// CPU to CPU; NET another node.
enum class PathClass { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNet };

inline const std::string& to_text(PathClass path_class) {
  static const std::array<std::string, 11> kNames = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                     "P2C", "PXN", "PHB", "SYS", "NET"};  // in the order of PathClass
  return kNames.at(static_cast<std::size_t>(path_class));
}

/// nullopt: no such name.
inline std::optional<PathClass> path_class_of(const std::string& name) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(PathClass::kNet); ++i)
    if (to_text(static_cast<PathClass>(i)) == name) return static_cast<PathClass>(i);
  return std::nullopt;
}

}  // namespace linkcast::graph
