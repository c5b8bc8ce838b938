#pragma once
// Queries of the kinds "collective" and "rings"; the reader has had id, kind, platform, solver, explain and the
// library's topology read.
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::collective {

/// Keys: op, size_B or sizes_B, gpus or nodes + gpus_per_node; optionally library, algorithm, alternatives, with, those
/// of congestion::read_network_load(); of a library with rings protocol, nvls, calls and between nodes engine, of one
/// with schedules transport.
/// @param machine  as libraries see it. @param explain  with terms
Json collective_answer(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, Solver& solver,
                       ObjectReader& r, bool explain);
/// Keys: gpus or nodes + gpus_per_node; optionally library, op with size_B or sizes_B, nvls.
Json rings_answer(const catalogue::Machine& machine, ObjectReader& r);

}  // namespace linkcast::collective
