#pragma once
// Key tables as JSON Schema (draft 2020-12).
#include "sim/query/key.hpp"

namespace linkcast::query {

/// JSON Schema of the queries of a kind; "#/$defs/result" is that of its answers. Besides the words of the draft there
/// are x-unset (what holds without a key, in words), x-unit, x-list (which `list` names the values) and x-option.
/// @throws InputError  unknown kind
Json kind_schema(const std::string& kind);
/// The same of all kinds, by oneOf; a result may also be {id, error}.
Json all_schemas();

}  // namespace linkcast::query
