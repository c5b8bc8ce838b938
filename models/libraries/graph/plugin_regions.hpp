#pragma once
// Regions by which tuners of network plug-ins choose: polygons over logarithms of bytes and ranks.
#include <string_view>
#include <vector>

namespace linkcast::graph {

/// A choice, and where it holds. Points are "BYTES,RANKS" with blanks between, K, M and G being powers of 1024, in
/// straight lines of log2(bytes) over log2(ranks). A boundary goes from few ranks to many; "->" behind its last point
/// goes on with its last line; empty: the end of all sizes.
struct PluginRegion {
  std::string_view algorithm, protocol;
  std::string_view from{}, to{};  ///< boundaries: bytes from the one to the other, their points included
  std::string_view patch{};       ///< instead: corners of a closed polygon, its edges included
};

/// Regions of one operation and number of ranks of each node; the first that contains a point counts.
struct PluginTable {
  std::string_view tuner;  ///< of plugin_tuners()
  std::string_view operation;
  int ranks_per_node = 0;
  std::vector<PluginRegion> regions;
};

/// @source  aws/aws-ofi-nccl v1.21.1 and main of 2026-08-21: src/tuner/nccl_ofi_regions.cpp
const std::vector<PluginTable>& plugin_tables();

/// @returns  the regions that contain the point, in the order in which the tuner looks at them
/// @param bytes  of all ranks together of all_gather and reduce_scatter
std::vector<const PluginRegion*> plugin_regions_at(std::string_view tuner, std::string_view operation,
                                                   int ranks_per_node, double bytes, int ranks);

}  // namespace linkcast::graph
