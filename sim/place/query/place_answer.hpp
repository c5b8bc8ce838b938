#pragma once
// The answer of a query of kind place as JSON.
#include "sim/place/place.hpp"

namespace linkcast::placement {

/// Keys of sim/place/query/place_query.cpp, best placement first.
Json to_json(const PlaceResult& result);

}  // namespace linkcast::placement
