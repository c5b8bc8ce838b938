#pragma once
// Queries of the kinds "collective" and "rings"; the reader has had id, kind, platform and solver read.
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::collective {

/// Keys: op, size_B or sizes_B, gpus or nodes + gpus_per_node; optionally library, algorithm, alternatives, with, those
/// of congestion::read_network_load(); of a library with rings protocol, nvls, calls and between nodes engine, of one
/// with schedules transport.
Json collective_answer(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, Solver& solver,
                       ObjectReader& r);
/// Keys: gpus or nodes + gpus_per_node; optionally library, op with size_B or sizes_B, nvls.
Json rings_answer(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, ObjectReader& r);

}  // namespace linkcast::collective
