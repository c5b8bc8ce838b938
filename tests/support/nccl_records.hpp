#pragma once
// Records of real NCCL (calibrate/choices/ask.py), and what is asked here to compare with them.
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sim/machine/library.hpp"
#include "sim/records/nccl_choices.hpp"
#include "tests/support/catalogue.hpp"

namespace linkcast::test {

/// @source  `linkcast list libraries`
inline const std::map<std::string, std::string>& asked_versions() {
  static const std::map<std::string, std::string> kStandsFor = {
      {"2.14.3", "nccl-2.14"}, {"2.18.3", "nccl-2.18"}, {"2.20.5", "nccl-2.20"}, {"2.22.3", "nccl-2.22"},
      {"2.23.4", "nccl-2.23"}, {"2.28.9", "nccl-2.27"}, {"2.30.4", "nccl-2.30"}};
  return kStandsFor;
}

inline std::string choices_folder() { return test::data_dir() + "/calibrate/data/nccl-choices/"; }

/// What was asked of real NCCL, here.
struct Asked {
  const RingLibrary& library;
  const Platform& platform;
  Communicator made;
};

inline Asked asked(const NcclCase& one) {
  const RingLibrary& library = *libraries().get(asked_versions().at(one.version)).rings();
  const Platform& platform = catalogue().machine(one.platform)->platform();
  std::vector<int> gpus(static_cast<std::size_t>(one.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  return {library, platform,
          one.nodes == 1 ? library.build(platform, gpus)
                         : library.build_across(catalogue().machine(one.platform)->cluster(), gpus, one.nodes)};
}

/// PCIe machines whose NICs are faster than the way between their sockets: NCCL crosses by the NICs, as between nodes,
/// which is not modelled (docs/limits.md).
inline bool crosses_by_nics(const NcclCase& one) {
  const bool late = one.version >= "2.2";  // a100-pcie's sockets count 16 instead of 24 GB/s then
  return one.platform == "h100-pcie" || one.platform == "l40s" || (one.platform == "a100-pcie" && late);
}

inline bool power(const NcclCase& one) {
  return one.platform == "summit" || one.platform == "summitdev" || one.platform == "lassen";
}

/// How POWER's sockets were counted until 2.21 is not known.
inline bool early_power(const NcclCase& one) { return power(one) && one.version < "2.2"; }

/// Two nodes whose rings or trees are not those that were found: of POWER's two rings the second has another order,
/// Alps' and Leonardo's topology files are in doubt (docs/limits.md).
inline bool other_channels(const NcclCase& one) {
  return one.nodes > 1 &&
         (power(one) || one.platform == "alps" || (one.platform == "leonardo" && one.version == "2.28.9"));
}

}  // namespace linkcast::test
