#pragma once
// Where the data of version.hpp are written down.
#include "models/libraries/graph/version.hpp"

namespace linkcast::graph {

/// @param name  "2.7", "2.8", "2.12", "2.14", "2.18", "2.20", "2.22", "2.23", "2.27" or "2.30"
SearchTraits search_traits(const std::string& name);
TunerTraits tuner_traits(const std::string& name);

}  // namespace linkcast::graph
