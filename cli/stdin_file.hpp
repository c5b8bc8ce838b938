#pragma once
// "-" for standard input wherever a file is read.
#include <CLI/CLI.hpp>
#include <string>

namespace linkcast::cli {

/// Lets the option, or each of its values, be "-". What stands on standard input is kept in memory under a path that
/// can be read as often as needed.
void reads_stdin(CLI::Option* option);

/// With that path written "standard input", for whoever reads it.
std::string naming_stdin(std::string text);

}  // namespace linkcast::cli
