#pragma once
// Rows that queries about communication libraries share.
#include "sim/query/key.hpp"

namespace linkcast::collective {

query::Key operation_key(bool required);
query::Key library_key();

}  // namespace linkcast::collective
