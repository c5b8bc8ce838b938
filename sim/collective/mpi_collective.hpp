#pragma once
// Collectives of libraries that send messages by a schedule, on one node or several.
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::collective {

/// The query names a library "mpi-...".
bool is_mpi(const Json& query);
/// True of the name of a library that models GPU-aware MPI.
bool is_mpi_library(const std::string& name);

/// Keys of the query: op, size_B, library, gpus or nodes + gpus_per_node; optionally algorithm, alternatives.
Json mpi_collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                           ObjectReader& r);

}  // namespace linkcast::collective
