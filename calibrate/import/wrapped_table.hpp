#pragma once
// Tables of nvidia-smi topo whose lines a terminal or a mail broke.
#include <string>
#include <vector>

namespace linkcast::topology_import {

/// The lines with those that were broken joined to their beginning, where it stands; what was joined is empty.
std::vector<std::string> unwrapped_table(std::vector<std::string> lines);

}  // namespace linkcast::topology_import
