#pragma once
#include <string>

#include "cli/command.hpp"

namespace linkcast::cli {

/// One line in, one line out, same order; a bad line gives an error object and the batch goes on.
/// @param path  of JSON queries, one a line; "-": standard input. @param rows  what goes into a table's row alone
/// @param jobs  threads, each with memories of its own
/// @throws InputError  the file cannot be read. @throws work::Stopped  after it was told how to go on
void run_batch(Context& context, const std::string& path, bool rows, int jobs);

}  // namespace linkcast::cli
