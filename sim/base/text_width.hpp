#pragma once
// Columns into which tables and sentences are broken: those of a terminal. Lines of a pipe are as long as what they
// say.
#include <cstddef>

namespace linkcast {

/// More than any line has.
inline constexpr std::size_t kUnbroken = 1U << 30U;

/// 80 until somebody says another.
std::size_t text_columns();
/// The process has one such width. @param columns  0 or more; kUnbroken: nothing is broken
void set_text_columns(std::size_t columns);

}  // namespace linkcast
