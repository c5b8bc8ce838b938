#pragma once
// Queries of the kinds "collective" and "rings"; the reader has had id, kind, platform and solver read.
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::collective {

/// The query names a library that sends messages by a schedule. @throws InputError  it names one that there is not
bool is_scheduled(const Json& query);

/// Keys: op, size_B or sizes_B, gpus or nodes + gpus_per_node; optionally library, algorithm, protocol, nvls, calls,
/// alternatives, with; between nodes engine and those of congestion::read_network_load(). Of a library with schedules:
/// algorithm, alternatives, transport.
Json collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                       ObjectReader& r);
/// Keys: gpus or nodes + gpus_per_node; optionally library, op with size_B or sizes_B, nvls.
Json rings_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r);

}  // namespace linkcast::collective
