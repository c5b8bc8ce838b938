#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace linkcast::cli {

/// All commands, from the texts of --help, in the language of man(7).
std::string man_page(const CLI::App& app);

}  // namespace linkcast::cli
