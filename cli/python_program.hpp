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

/// Becomes a program of the package python/linkcast_programs, which is shipped with the data: this process is replaced,
/// output and exit code are the program's. `--program` and `--data-dir`, before `arguments`, say which linkcast started
/// it.
/// @param name  module of the package, e.g. report
/// @throws InputError  no such package. @throws std::runtime_error  no Python
[[noreturn]] void become_python(const Context& context, const std::string& name,
                                const std::vector<std::string>& arguments);

}  // namespace linkcast::cli
