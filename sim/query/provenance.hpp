#pragma once
// Where every result comes from: the machine, the question, and what was built.
#include <string>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::query {

/// "0.1.0"
[[nodiscard]] const char* build_version();
/// The commit, abbreviated as git does; empty: not built from a checkout.
[[nodiscard]] const char* build_commit();

/// Puts notes of the calibration and of edits before an answer's own warnings.
void put_notes(const catalogue::Machine& machine, Json& out);

/// Adds inputs {query, solver?, topology_sha256, calibration_sha256, edits?} and versions {linkcast, git}, and the
/// notes.
/// @param query  what was asked, so that it can be asked again. @param solver  empty: none was to choose
void put_provenance(const catalogue::Machine& machine, const Json& query, const std::string& solver, Json& out);

/// The answer as write_quickly() has it after put_provenance(), without a tree of all that.
std::string written_with_provenance(const catalogue::Machine& machine, const Json& query, const std::string& solver,
                                    Json& out);

}  // namespace linkcast::query
