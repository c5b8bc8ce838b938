#pragma once
#include <string>

namespace linkcast::cli {

/// The command that takes a file, by what the file holds: "linkcast diagnose LOG" of what a benchmark printed. Empty:
/// there is no such file, or none is known.
std::string command_of_file(const std::string& path);

/// Whether a file is what a benchmark printed.
bool is_log_file(const std::string& path);

/// @param command  diagnose, init, replay
/// @throws InputError  the file is for another command, which is named
void expect_file_of(const std::string& command, const std::string& path);

/// As an argument of a shell.
std::string shell_argument(const std::string& path);

}  // namespace linkcast::cli
