#pragma once
// The table of a sweep, from the rows of its journal.
#include <istream>
#include <ostream>

namespace linkcast::cli {

/// Reads the rows of all scenarios twice: once for the columns, once to write them.
/// @param in  A line of JSON: `journal`, files with its rows; `table` and `numbers`, files to be written; `columns`,
/// keys
///   of rows that come first, and `numeric`, those that go into `numbers`; `axes`, each with its `key` and its `cells`,
///   texts or null; `counts_gpus`, whether there is a column of ranks; `typed`, whether a table with types is wanted;
///   `scenarios`. Then of each scenario, in the machine's bytes: its place in the product of the axes (int64), where
///   its line begins (int64), which of the files has it (int32); each as one array.
/// @param out  A line of JSON: columns, types of each, which are not empty, how often each error and warning stands in
/// a
///   row. Then, if `typed`, the table once more, with empty texts in quotes: what is not there has none.
/// `numbers` gets a row of doubles a scenario, NaN where it has no number.
/// @throws InputError  the line is wrong, with its key; a row is damaged, with its file and scenario; a file cannot be
/// written
void write_sweep_table(std::istream& in, std::ostream& out);

}  // namespace linkcast::cli
