#pragma once
// What real GPUs did in a study's topologies, against what was forecast.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast {

// Graphs that NCCL's search found, as in NCCL_GRAPH_DUMP_FILE.

struct DumpedGraph {
  int id = 0;  ///< 0 ring, 1 tree, 2 and more CollNet and NVLS
  int pattern = 0;
  int channels = 0;
  double speed_GBps = 0;
  std::string path_class;
  bool one_order = false;
  std::vector<std::vector<int>> orders;  ///< GPUs by dev, channel after channel
};

/// @throws InputError  file, line and element of what cannot be read
std::vector<DumpedGraph> read_graph_dump(const std::string& path);

}  // namespace linkcast

namespace linkcast::emulation {

/// Reads study.json, forecast.json and results/ of a folder: records of linkcast-bench (measurement/1 whose method
/// names the case), logs of nccl-tests (<case>.<operation>[.<occasion>].log), and NCCL's graphs
/// (<case>[.<occasion>].graph.xml).
/// @returns  cases, each with rings and trees chosen against forecast and its times; operations, the errors from 1 MiB
///           on; graphs, how many were equal
/// @throws InputError  a file that cannot be read, or is of no case
Json compare_study(const std::string& folder);

}  // namespace linkcast::emulation
