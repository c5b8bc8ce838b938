#pragma once
// Steps that imports of records and of traces share.
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/pipelines/import_files.hpp"
#include "sim/base/log.hpp"

namespace linkcast::pipelines {

/// "1 point", "2 points"
std::string counted(std::int64_t count, const std::string& one, const std::string& many);

/// @throws InputError  a file is given twice: it would be one more rank, or one more repetition
void refuse_same_files(const std::vector<std::string>& files);

/// Notes of a record, and what the sources of its cables say was assumed: each once, with how often.
std::vector<Note> notes_of(const Json& record);

}  // namespace linkcast::pipelines
