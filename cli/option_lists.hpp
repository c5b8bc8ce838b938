#pragma once
// Lists of values: an option that may be repeated takes "--remove A,B" too, and "--remove A B" where the command has no
// words of its own.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace linkcast::cli {

/// The elements of a list. Which commas part elements depends on what the option takes.
/// @param type  as in its help: a value that has commas itself, NAME[:KEY=VALUE,...], is no list; of KEY=VALUE each
///              element has '='; the GPUs of JOB:GPUS belong to their job; an EDIT begins with its verb
/// @throws InputError  an element is empty, an edit has no verb
std::vector<std::string> list_elements(const std::string& option, const std::string& type, const std::string& text);

/// Words of a command line with each list written as the option repeated.
std::vector<std::string> without_lists(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace linkcast::cli
