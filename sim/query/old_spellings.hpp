#pragma once
// Values of keys that an earlier version spelled otherwise: understood for one version more (docs/stability.md).
#include <string>
#include <vector>

#include "sim/query/key.hpp"

namespace linkcast::query {

/// Writes old values in the new spelling, where the table allows the new one.
/// @returns  a warning for each, which names the new spelling
std::vector<std::string> respell(const KeyTable& table, Json& query);

}  // namespace linkcast::query
