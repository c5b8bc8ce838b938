#pragma once
// Topologies that somebody wishes for: parts of machines, and graphs.
#include <string>
#include <vector>

#include "calibrate/import/emulated_topology.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::emulation {

/// One topology of a study.
struct Wish {
  std::string id;     ///< names its files: small letters, digits, hyphens
  std::string about;  ///< in words
  WishedLinks links{};
  int alike = 1;  ///< sets of GPUs of the machine that are the same but for their numbers
  [[nodiscard]] int gpus() const { return static_cast<int>(links.socket.size()); }
};

/// Every class of `gpus` GPUs of a machine: sets that have the same links and sockets but for their numbers are one.
/// @param machine  as it is wired: rates make no difference. @param name  begins the ids
/// @throws InputError  the machine has fewer, or more sets than can be looked at
std::vector<Wish> subset_wishes(const Platform& machine, const std::string& name, int gpus);

/// All graphs of `gpus` GPUs up to renumbering, with 1, 2, 6 and 18 NVLinks on every edge, and with these mixed.
/// @param gpus  3 or 4. @throws InputError
std::vector<Wish> graph_wishes(int gpus);

}  // namespace linkcast::emulation
