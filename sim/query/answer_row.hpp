#pragma once
#include "sim/base/object_reader.hpp"

namespace linkcast::query {

/// What of an answer goes into one row of a table: numbers, texts, flags and, as "key.inner", those of its objects. Of
/// answers that list ways or placements the first, the best, and how many there are. Where it comes from is left out.
Json row_of(const Json& answer);

}  // namespace linkcast::query
