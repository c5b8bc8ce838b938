#pragma once
#include <functional>
#include <string>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::query {

/// The query without and with its `edits` and the keys of its object `after`: {"before", "after", "change"}, the first
/// two as answer_or_throw() gives them.
/// @throws InputError  as answer_or_throw(), or neither
Json whatif_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                   Memories* memories = nullptr);

/// What differs between two results: numbers {"before", "after", "difference", "ratio"} (of what is not 0), of a list
/// of things with an id {"gone", "new", "changed"}, else {"before", "after"}. Inputs, versions and warnings are left
/// out.
Json change_of(const Json& before, const Json& after);

/// Answers one query, the same for a batch line, the command line and a claim. Keys of the query and of the result are
/// in the tables of its kind (sim/query/query_kind.hpp), from which docs/reference.md is made.
/// Sizes are bytes, times seconds, bandwidths bytes per second.
/// A query that cannot be answered gives {"id": ..., "error": "..."}.
Json answer(catalogue::Catalogue& catalogue, const Json& query);
/// The same for a machine that is not in the catalogue. @param machine  in place of the one that the query names
Json answer(catalogue::Catalogue& catalogue, const Json& query, const catalogue::MachinePtr& machine);

/// The same, but throws. @param name  stands for the file in errors, e.g. "batch.jsonl line 3"
/// @param memories  of whoever asks many; null: nothing is remembered
Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                     Memories* memories = nullptr);

/// write_quickly() of it, without a tree of the whole.
std::string written_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                           Memories* memories = nullptr);
/// Its members but inputs and versions, for whoever picks some.
Json members_of_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                       Memories* memories = nullptr);

/// What the kind of a query adds to the answer. @param r  has had id, kind, platform, edits and solver read
using KindAnswer = std::function<Json(const catalogue::MachinePtr& machine, ObjectReader& r)>;
/// The same for one who answers the kind in a way of his own.
Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                     const KindAnswer& kind_answer, const catalogue::MachinePtr& machine = nullptr);

}  // namespace linkcast::query
