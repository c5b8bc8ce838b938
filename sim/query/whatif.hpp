#pragma once
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::query {

/// The query without and with its `edits`: {"before", "after", "change"}, the first two as answer_or_throw() gives
/// them.
/// @throws InputError  as answer_or_throw(), or no edits
Json whatif_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                   Memories* memories = nullptr);

/// What differs between two results: numbers {"before", "after", "difference", "ratio"} (of what is not 0), of a list
/// of things with an id {"gone", "new", "changed"}, else {"before", "after"}. Inputs, versions and warnings are left
/// out.
Json change_of(const Json& before, const Json& after);

}  // namespace linkcast::query
