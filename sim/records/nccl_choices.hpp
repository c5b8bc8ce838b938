#pragma once
// What a real NCCL found and took on stand-ins for GPUs. Written by calibrate/choices/ask.py.
#include <string>
#include <vector>

namespace linkcast {

/// One of the library's graphs: all its rings, or all its trees.
struct FoundGraph {
  std::string graph;  ///< rings, trees, nvls, collnet_chain, collnet_direct
  int channels = 0;
  double speed_GBps = 0, network_speed_GBps = 0;  ///< of a channel inside a node, and between nodes
  std::string path_class, network_class;          ///< the worst hop's, as NCCL names them
  bool one_order = false;                         ///< all channels pass the GPUs alike
  std::vector<std::vector<int>> orders;           ///< GPUs of a node, a row per channel
};

/// A row of the library's tuner: its cost of an operation is latency + size / bandwidth.
struct TunerRow {
  std::string op, algorithm, protocol;
  double latency_us = 0, bus_GBps = 0;
};

/// What one call took.
struct TakenCall {
  std::string op;
  double size_B = 0;
  std::string algorithm, protocol;
  int channels = 0;
};

/// One machine, or one wished topology, in one version.
struct NcclCase {
  std::string platform, wish;  ///< one of them is empty
  std::string version;
  int nodes = 1;
  int gpus = 0;  ///< of each node
  std::vector<FoundGraph> graphs;
  std::vector<std::vector<int>> rings;  ///< ranks in the order in which each block passes them
  std::vector<TunerRow> tuner;
  std::vector<TakenCall> calls;  ///< empty before 2.26, which does not tell
};

/// Reads schema "nccl-choices/1". @throws InputError
std::vector<NcclCase> read_nccl_choices(const std::string& path);

}  // namespace linkcast
