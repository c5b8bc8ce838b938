#pragma once
// The row of the operation, which queries of a collective and of its rings share.
#include "sim/query/key.hpp"

namespace linkcast::collective {

query::Key operation_key(bool required);

}  // namespace linkcast::collective
