#pragma once
#include "sim/base/object_reader.hpp"

namespace linkcast {

/// Frees what is in a tree, inner lists first, where nlohmann's destructor moves all values into one list before.
/// @param tree  an empty list or object afterwards, or a value as before
void release(Json& tree);

}  // namespace linkcast
