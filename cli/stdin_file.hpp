#pragma once
// "-" for standard input, and pipes, wherever a file is read.
#include <CLI/CLI.hpp>
#include <string>

namespace linkcast::cli {

/// What becomes of a named pipe and of <(command): kept in memory as standard input is, or left to who reads it, once
/// and piece by piece.
enum class Pipes { kKept, kStreamed };

/// Lets the option, or each of its values, be "-". What stands on standard input is kept in memory under a path that
/// can be read as often as needed.
void reads_stdin(CLI::Option* option, Pipes pipes = Pipes::kKept);
/// The same of --platform of every command that has it.
void platforms_read_stdin(CLI::App& app);

/// With such paths written as the command line does, for whoever reads it.
std::string naming_stdin(std::string text);

}  // namespace linkcast::cli
