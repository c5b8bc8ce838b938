#pragma once
#include <filesystem>

namespace linkcast {

/// The linkcast that runs: it is executed anew as a worker, and its data lie near it. In a library that another program
/// has loaded, what that library was told.
[[nodiscard]] std::filesystem::path own_program();

/// @param program  linkcast, where this process is another program; before anything else is asked
void set_own_program(std::filesystem::path program);

}  // namespace linkcast
