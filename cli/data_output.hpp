#pragma once
// A result for programs: JSON, or rows of CSV.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::cli {

class Context;

/// Adds --json and --format table|json|csv. @param more  other values of --format, which the command prints itself
void add_format(CLI::App& command, Context& context, const std::vector<std::string>& more = {});

/// Prints the result as --json or --format csv say; with csv also its warnings to standard error.
/// @param rows  key of the list that has a row each; empty: the result is the one row
/// @returns  false: a table is wanted
bool print_as_data(const Context& context, const Json& result, const std::string& rows = "");

/// Rows of a list that each of several files has, with "file" in front.
Json rows_of_files(const Json& files, const std::string& key);

/// RFC 4180: a head with the keys of all rows, then the rows. Objects give a column a key ("before.time_s"), lists one
/// cell; lists of objects, and where an answer comes from, have no column.
std::string csv_of(const Json& rows);

}  // namespace linkcast::cli
