#pragma once
// Rows that queries of a collective and of its rings share.
#include "sim/query/key.hpp"

namespace linkcast::collective {

query::Key operation_key(bool required);
/// Settings of routes out of a node.
query::KeyTable exit_keys();

}  // namespace linkcast::collective
