#pragma once
// Errors name the key of a query, as whoever wrote a batch line knows it; who typed a command line wrote an option.
#include <CLI/CLI.hpp>
#include <string>

#include "sim/query/key.hpp"

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

/// Error of a command line, in one line, with the likely name where a command or an option is unknown.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

/// "--platform" of "-p,--platform".
std::string long_name(const std::string& names);
/// Help of a row: what it is, which list names the values, what holds without it.
std::string option_help(const query::Key& key);
/// "--size" of "size_B" of a kind; "--KEY" with dashes where the tables have no option.
std::string option_of_key(const std::string& kind, const std::string& key);

}  // namespace linkcast::cli
