#pragma once
// Text of `nvidia-smi topo -m`, anywhere in a file: how each pair of GPUs and network adapters is connected.
#include <optional>
#include <string>
#include <vector>

namespace linkcast::topology_import {

/// Nearest first; the order is used.
enum class PathClass { kSelf, kNvlink, kPix, kPxb, kPhb, kNode, kSys };
const std::string& to_text(PathClass path);

struct MatrixCell {
  PathClass path = PathClass::kSelf;
  int links = 0;  ///< of kNvlink
};

struct MatrixRow {
  std::string name;               ///< GPU0, NIC0, mlx5_0, ...
  std::string model;              ///< adapters: the name in the legend, else as in the table
  int line = 0;                   ///< of the file
  std::vector<MatrixCell> cells;  ///< one a row
  std::optional<int> numa;        ///< if one single NUMA node is named
  std::string cpu_affinity;       ///< empty: not known
};

/// One table of `nvidia-smi topo -p2p r` or `w`: may the GPU of a row access that of a column?
using PeerTable = std::vector<std::vector<bool>>;

struct TopoMatrix {
  std::string file;
  int gpus = 0;
  std::vector<MatrixRow> rows;   ///< GPUs in number order, then adapters
  bool pcie_only = false;        ///< of topo -mp: NVLinks are not shown
  bool sys_inside_node = false;  ///< SYS was shown inside a NUMA node and is taken as NODE
  std::vector<PeerTable> peers;  ///< of all GPUs each
};

/// Does the text hold such a table?
bool is_topo_matrix(const std::string& text);
/// Does it hold tables of topo -p2p alone?
bool is_peer_table(const std::string& text);
/// The tables of a file of topo -p2p. @throws InputError  with line: another number of GPUs, unknown entry
std::vector<PeerTable> read_peer_tables(const std::string& path, int gpus);
/// @throws InputError  with line: not such a table, unknown entry, both directions of a pair differ
TopoMatrix read_topo_matrix(const std::string& path);

}  // namespace linkcast::topology_import
