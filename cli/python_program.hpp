#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace linkcast::cli {

/// Where a Python program lies. --data-dir may name a folder with data alone: it is then that beside the program.
/// @param script  relative to the data folder. @throws InputError  no such script
std::string find_script(const Context& context, const std::string& script);

/// Runs a command, whose Python programs look for modules in a folder first.
/// @param environment  more of it, by name. @returns  its exit code, 128 and the signal's number if that ended it
/// @throws InputError  it cannot be run
int run_hooked(std::vector<std::string> command, const std::string& folder,
               const std::map<std::string, std::string>& environment);

/// Becomes a Python program that is shipped with the data: this process is replaced, output and exit code are its own.
/// It is told with --program and --data-dir which linkcast called it, in front of `arguments`.
/// @param script  relative to the data folder, e.g. sim/report/report.py
/// @throws InputError  no such script. @throws std::runtime_error  no Python
[[noreturn]] void become_python(const Context& context, const std::string& script,
                                const std::vector<std::string>& arguments);

}  // namespace linkcast::cli
