#pragma once
// Rows that queries of a collective and of its rings share.
#include "sim/query/key.hpp"

namespace linkcast::collective {

query::Key operation_key(bool required);
query::Key pxn_key();

}  // namespace linkcast::collective
