#pragma once
// What the tests of the graph era share: sample topologies, members, communicators.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/machine/library.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::test::nccl_graph {

/// Every version of the graph era.
inline const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames = {"nccl-2.7",  "nccl-2.8",  "nccl-2.12", "nccl-2.14", "nccl-2.18",
                                                  "nccl-2.20", "nccl-2.22", "nccl-2.27", "nccl-2.30"};
  return kNames;
}

/// A shipped topology; "sample:summit" is tests/input/nccl_topology_summit.json.
inline const linkcast::Platform& platform(const std::string& name) {
  static std::map<std::string, linkcast::Platform> loaded;
  if (const auto it = loaded.find(name); it != loaded.end()) return it->second;
  const std::string root = test::data_dir(), sample = "sample:";
  linkcast::Topology topology = linkcast::read_topology(
      name.rfind(sample, 0) == 0 ? root + "/tests/input/nccl_topology_" + name.substr(sample.size()) + ".json"
                                 : root + "/topologies/" + name + ".json");
  linkcast::Calibration calibration;  // rings follow from structure: nothing fitted is needed
  calibration.topology = topology.name;
  return loaded.emplace(name, linkcast::Platform(std::move(topology), std::move(calibration))).first->second;
}

inline const linkcast::RingLibrary& library(const std::string& name) { return linkcast::ring_library(name); }

inline std::vector<int> first(int count) {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < count; ++gpu) gpus.push_back(gpu);
  return gpus;
}

inline linkcast::Communicator build(const std::string& name, const std::string& machine, const std::vector<int>& gpus) {
  return library(name).build(platform(machine), gpus);
}

/// "6x9 NVL": rings used, GB/s the library assumes of one, class.
inline std::string summary(const linkcast::Communicator& made) {
  const long speed = std::lround(made.library_channel_bandwidth.si / 1e9);
  return std::to_string(made.channels.size()) + "x" + std::to_string(speed) + " " + made.path_class;
}

}  // namespace linkcast::test::nccl_graph
