#pragma once
// Errors name the key of a query, as whoever wrote a batch line knows it; who typed a command line wrote an option.
#include <CLI/CLI.hpp>
#include <string>

namespace linkcast::cli {

/// What queries made from options are called in errors.
inline constexpr const char* kCommandLine = "command line";

/// The option of the command for the key that an error begins with: "placement: ..." is "--placement: ...",
/// "option ranks: ..." "--option ranks: ...", "command line:/size_B: ..." "--size: ...". The same for a key that it
/// says is needed. Any other text stays as it is.
/// @param command  the subcommand that ran, whose options are looked up
std::string naming_option(const std::string& what, const CLI::App& command);

/// The innermost subcommand that was given; the program itself if there is none.
const CLI::App& running_command(const CLI::App& app);

}  // namespace linkcast::cli
