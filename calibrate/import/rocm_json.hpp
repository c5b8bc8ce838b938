#pragma once
// JSON of rocm-smi and amd-smi (--json) as the text that these print without it.
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast::topology_import {

/// Tables and lines of the text form; empty: the file is no such JSON.
/// @throws InputError  broken JSON, a link without its other end
std::string rocm_text_of_json(const std::string& path, const std::string& text);

/// Tables and lines for rocm-smi's object, and for amd-smi's list of GPUs. @throws InputError  a pair is missing
std::string rocm_smi_text(const Json& json, const std::string& path);
std::string amd_smi_text(const Json& gpus, const std::string& path);

}  // namespace linkcast::topology_import
