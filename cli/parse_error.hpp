#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace linkcast::cli {

/// What is wrong with a command line, in one line; what was likely meant where a command or an option is unknown.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace linkcast::cli
