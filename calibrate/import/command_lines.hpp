#pragma once
// Command lines that stand in front of what programs print.
#include <map>
#include <optional>
#include <string>

#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {

/// The value that commands of a program give one option; nothing: no command has it.
/// @param argument  of the option with a blank in front, its value as group 1
/// @throws InputError  one command says another value than another, or none
std::optional<std::string> said_by_commands(const TextFile& file, const std::string& program, const Regex& argument);

/// Variables of NCCL that a line sets: "NCCL_ALGO=Ring ./all_reduce_perf", "mpirun -x NCCL_ALGO=Ring", "export ...".
/// Those of its debug log and of its files are left out.
std::map<std::string, std::string> nccl_variables_in(const std::string& line);

}  // namespace linkcast
