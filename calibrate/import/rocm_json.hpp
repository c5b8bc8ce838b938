#pragma once
// JSON of rocm-smi and amd-smi (--json) as the text that these print without it.
#include <string>

namespace linkcast::topology_import {

/// Tables and lines of the text form; empty: the file is no such JSON.
/// @throws InputError  broken JSON, a link without its other end
std::string rocm_text_of_json(const std::string& path, const std::string& text);

}  // namespace linkcast::topology_import
