#pragma once
// Graphs that NCCL's search found, as in NCCL_GRAPH_DUMP_FILE.
#include <string>
#include <vector>

namespace linkcast {

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
