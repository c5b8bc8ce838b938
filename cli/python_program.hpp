#pragma once
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace linkcast::cli {

/// Becomes a Python program that is shipped with the data: this process is replaced, output and exit code are its own.
/// It is told with --program and --data-dir which linkcast called it, in front of `arguments`.
/// @param script  relative to the data folder, e.g. sim/report/report.py
/// @throws InputError  no such script. @throws std::runtime_error  no Python
[[noreturn]] void become_python(const Context& context, const std::string& script,
                                const std::vector<std::string>& arguments);

}  // namespace linkcast::cli
