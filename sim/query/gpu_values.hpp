#pragma once
// GPUs in queries by any of their names, before the kinds read them.
#include "sim/machine/topology.hpp"
#include "sim/query/key.hpp"

namespace linkcast::query {

/// The query with gpu<number> or numbers in place of names of GPUs, in the keys whose rows say that they take them.
/// @throws InputError  with the pointer: what of it names no GPU of the machine
Json with_gpu_numbers(const KeyTable& table, const Json& query, const Topology& topology, const std::string& file,
                      const std::string& pointer = "");

}  // namespace linkcast::query
