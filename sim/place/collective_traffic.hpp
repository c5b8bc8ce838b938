#pragma once
// Traffic of a collective where it is placed.
#include <string>

#include "sim/forecast/placed_collective.hpp"
#include "sim/place/traffic.hpp"

namespace linkcast::placement {

/// On GPUs of one node. Keys are the platform's constraints. @param library  not empty
Traffic node_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus);

/// Over nodes. Keys are those of the platform's cluster. @param library  empty: usual_library_across()
Traffic nodes_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where);

}  // namespace linkcast::placement
