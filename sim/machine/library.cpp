#include "sim/machine/library.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "sim/records/gpu_models.hpp"

namespace linkcast {
namespace {

/// @returns  major, minor; nullopt  not a version of NCCL
std::optional<std::pair<int, int>> version_of(const std::string& library) {
  std::pair<int, int> version(0, 0);
  if (std::sscanf(library.c_str(), "nccl-%d.%d", &version.first, &version.second) < 1) return std::nullopt;
  return version;
}

}  // namespace

std::string usual_library(const Topology& topology) {
  int newest = 0;
  for (const int gpu : topology.gpus()) newest = std::max(newest, topology.devices[static_cast<std::size_t>(gpu)].sm);
  return std::string(gpu_generation(newest).usual_library);
}

std::pair<int, int> nccl_version(int code) {
  // source: NVIDIA/nccl src/nccl.h.in, NCCL_VERSION: two digits for each part since 2.9, one for minor and patch before
  constexpr int kSince = 10000;
  return code >= kSince ? std::pair(code / 10000, code / 100 % 100) : std::pair(code / 1000, code / 100 % 10);
}

std::string nearest_nccl(int major, int minor) {
  const std::pair wanted(major, minor);
  std::pair<int, int> best;
  std::string found;
  for (const std::string& name : libraries().names()) {
    const auto version = version_of(name);
    if (!version) continue;
    const bool older = *version <= wanted, best_older = best <= wanted;
    const bool nearer = older ? !best_older || *version > best : !best_older && *version < best;
    if (!found.empty() && !nearer) continue;
    best = *version;
    found = name;
  }
  return found;
}

std::vector<std::string> nccl_versions(const std::function<bool(const RingLibrary&)>& has) {
  std::map<std::pair<int, int>, std::string> by_version;
  for (const std::string& name : libraries().names())
    if (const auto version = version_of(name); version && has(*libraries().get(name).rings()))
      by_version.emplace(*version, name);
  std::vector<std::string> names;
  for (const auto& [version, name] : by_version) names.push_back(name);
  return names;
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
