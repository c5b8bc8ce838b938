#pragma once
#include <string>
#include <vector>

namespace linkcast::cli {

/// The command that takes a file, by what the file holds: "linkcast diagnose LOG" of what a benchmark printed. Empty:
/// there is no such file, or none is known.
std::string command_of_file(const std::string& path);

/// Whether a file is what a benchmark printed.
bool is_log_file(const std::string& path);

/// The message for a word that stands where a command is due: the command that takes the file, what the file is, or
/// that it is not known and what is read. Empty: it is no name of a file.
std::string text_without_command(const std::string& word);

/// @param command  diagnose, init, replay
/// @throws InputError  the file is for another command, which is named
void expect_file_of(const std::string& command, const std::string& path);

/// @throws InputError  files for another importer, or for this one in another order: names the right command
void expect_files_of_format(const std::string& format, const std::vector<std::string>& paths);

/// An error that a file is not JSON, with the command that takes it where there is one; other texts as they are.
/// @param command  that was given the file
std::string naming_file(const std::string& text, const std::string& command);

/// As an argument of a shell.
std::string shell_argument(const std::string& path);

}  // namespace linkcast::cli
