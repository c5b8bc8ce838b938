#include "sim/machine/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/machine/structure.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast {

using lending::maker_of;

namespace {

/// @returns  major, minor; nullopt  not a version of this family
std::optional<std::pair<int, int>> version_of(const std::string& family, const std::string& library) {
  if (!library.starts_with(family + "-")) return std::nullopt;
  std::pair<int, int> version(0, 0);
  if (std::sscanf(library.c_str() + family.size() + 1, "%d.%d", &version.first, &version.second) < 1)
    return std::nullopt;
  return version;
}

/// RCCL that owners of AMD's GPUs ran when they were new. source: release dates: MI250X 2021 (ROCm 4.5; the oldest that
/// is modelled), MI300X 2023 (ROCm 6.0 to 6.4), MI350X 2025 (ROCm 7.0)
struct AmdGeneration {
  int sm;  ///< least, as topologies have it
  std::string_view usual_library;
};
constexpr std::array kAmdGenerations = {AmdGeneration{0, "rccl-2.15"}, AmdGeneration{94, "rccl-2.21"},
                                        AmdGeneration{95, "rccl-2.26"}};

}  // namespace

std::string usual_library(const Topology& topology) {
  int newest = 0;
  for (const int gpu : topology.gpus()) newest = std::max(newest, topology.devices[static_cast<std::size_t>(gpu)].sm);
  if (maker_of(topology) != "amd") return std::string(gpu_generation(newest).usual_library);
  const auto later = std::find_if(kAmdGenerations.begin() + 1, kAmdGenerations.end(),
                                  [newest](const AmdGeneration& one) { return one.sm > newest; });
  return std::string(std::prev(later)->usual_library);
}

std::pair<int, int> nccl_version(int code) {
  // source: NVIDIA/nccl src/nccl.h.in, NCCL_VERSION: two digits for each part since 2.9, one for minor and patch before
  constexpr int kSince = 10000;
  return code >= kSince ? std::pair(code / 10000, code / 100 % 100) : std::pair(code / 1000, code / 100 % 10);
}

std::string nearest_version(const std::string& family, int major, int minor) {
  const std::pair wanted(major, minor);
  std::map<std::pair<int, int>, std::string> known;
  for (const std::string& name : libraries().names())
    if (const auto version = version_of(family, name)) known.emplace(*version, name);
  if (known.empty()) return "";
  const auto newer = known.upper_bound(wanted);
  const bool older = newer != known.begin() && std::prev(newer)->first.first == major;
  const bool next = newer != known.end() && newer->first.first == major;
  return older || (!next && newer != known.begin()) ? std::prev(newer)->second : newer->second;
}

std::vector<std::string> library_versions(const std::string& family,
                                          const std::function<bool(const RingLibrary&)>& has) {
  std::map<std::pair<int, int>, std::string> by_version;
  for (const std::string& name : libraries().names())
    if (const auto version = version_of(family, name); version && has(*libraries().get(name).rings()))
      by_version.emplace(*version, name);
  std::vector<std::string> names;
  for (const auto& [version, name] : by_version) names.push_back(name);
  return names;
}

std::vector<std::string> nccl_versions(const std::function<bool(const RingLibrary&)>& has) {
  return library_versions("nccl", has);
}

std::string nccl_range(const std::function<bool(const RingLibrary&)>& has) {
  const std::vector<std::string> names = nccl_versions(has);
  return names.front() + " to " + names.back();
}

Communicator RingLibrary::build_across(const Cluster& /*cluster*/, const std::vector<int>& /*gpus*/, int /*nodes*/,
                                       const ExitSettings& /*exits*/) const {
  throw InputError("library: modelled for one node: take one of " +
                   nccl_range([](const RingLibrary& rings) { return rings.spans_nodes(); }) + ", or mpi-*");
}

}  // namespace linkcast
