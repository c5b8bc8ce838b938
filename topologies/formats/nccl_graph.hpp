#pragma once
#include <string>

#include "sim/machine/communicator.hpp"

namespace linkcast::exporters::nccl {

/// Rings and trees of a communicator as NCCL_GRAPH_DUMP_FILE writes them and NCCL_GRAPH_FILE reads them: graph 0 the
/// rings, graph 1 the trees. NCCL searches graphs that are not in the file (CollNet, NVLS) itself.
/// @source  NVIDIA/nccl src/graph/search.cc, ncclTopoGetXmlFromGraphs and ncclTopoGetGraphFromXml
/// @throws InputError  for a library of the era before graphs
std::string graph_xml(const Communicator& communicator);

}  // namespace linkcast::exporters::nccl
