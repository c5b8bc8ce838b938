#pragma once
#include "sim/forecast/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast {

/// Answers of the kinds "collective" and "rings"; the reader has had id, kind, platform and solver read.
Json collective_answer(Catalogue& catalogue, const std::string& platform_id, Solver& solver, ObjectReader& r);
Json rings_answer(Catalogue& catalogue, const std::string& platform_id, ObjectReader& r);

}  // namespace linkcast
