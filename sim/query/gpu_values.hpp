#pragma once
// GPUs in queries by any of their names, and sizes with units, before the kinds read them.
#include "sim/machine/topology.hpp"
#include "sim/query/key.hpp"

namespace linkcast::query {

/// The query with gpu<number> or numbers in place of names of GPUs, in the keys whose rows say that they take them, and
/// with bytes in place of sizes such as "64MiB".
/// @throws InputError  with the pointer: what of it names no GPU of the machine, or is no size
Json with_numbers(const KeyTable& table, const Json& query, const Topology& topology, const std::string& file,
                  const std::string& pointer = "");

}  // namespace linkcast::query
