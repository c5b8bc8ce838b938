#pragma once
// Traces that are shipped with linkcast, by name.
#include <string>
#include <vector>

namespace linkcast::cli {

struct ShippedTrace {
  std::string name;  ///< of the file, without .jsonl
  std::string path;
};

/// Sorted by name. @param data_dir  of the catalogue
std::vector<ShippedTrace> shipped_traces(const std::string& data_dir);
/// A trace as named on the command line: a file, or one that is shipped.
/// @throws InputError  neither; names those that are
std::string trace_path(const std::string& data_dir, const std::string& trace);

}  // namespace linkcast::cli
