#pragma once
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::collective {

/// Answers of the kinds "collective" and "rings"; the reader has had id, kind, platform and solver read.
Json collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                       ObjectReader& r);
Json rings_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r);

}  // namespace linkcast::collective
