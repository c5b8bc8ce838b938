#pragma once
#include "sim/base/object_reader.hpp"

namespace linkcast::cli {

/// Parts of what `replay` prints, each with an empty line before it; nothing where the answer has none of it.
/// Recorded and forecast, step by step.
void print_recorded_steps(const Json& result);
/// What each kind of collective took.
void print_operations(const Json& result);

}  // namespace linkcast::cli
