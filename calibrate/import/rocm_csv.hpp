#pragma once
// CSV of rocm-smi and amd-smi (--csv) as the text that these print without it.
#include <string>
#include <vector>

namespace linkcast::topology_import {

/// Tables and lines of the text form; empty: there is no such CSV among the lines.
/// @throws InputError  with file and line: cells that do not fit the columns, GPUs with gaps
std::string rocm_text_of_csv(const std::string& path, const std::vector<std::string>& lines);

/// Whether a text holds tables of links in such CSV.
bool has_rocm_csv(const std::string& text);

}  // namespace linkcast::topology_import
