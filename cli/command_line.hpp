#pragma once
#include <string>

namespace linkcast::cli {

/// Runs a command as the program does: results to std::cout, errors in one line to std::cerr.
/// @param progress  show what takes long, and let Ctrl-C end it. @returns  exit code (cli/command.hpp)
int command_line(int argc, const char* const* argv, bool progress);

}  // namespace linkcast::cli
