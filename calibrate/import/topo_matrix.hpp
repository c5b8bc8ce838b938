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

struct TopoMatrix {
  std::string file;
  int gpus = 0;
  std::vector<MatrixRow> rows;   ///< GPUs in number order, then adapters
  bool pcie_only = false;        ///< of topo -mp: NVLinks are not shown
  bool sys_inside_node = false;  ///< SYS was shown inside a NUMA node and is taken as NODE
};

/// Does the text hold such a table?
bool is_topo_matrix(const std::string& text);
/// @throws InputError  with line: not such a table, unknown entry, both directions of a pair differ
TopoMatrix read_topo_matrix(const std::string& path);

}  // namespace linkcast::topology_import
