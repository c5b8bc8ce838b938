#pragma once
// Logs as people post them: lines of one process without what terminals, launchers, log collectors and pages of text
// put in front of them.
#include <cstddef>
#include <string>
#include <vector>

namespace linkcast {

struct LogText {
  struct Line {
    int number = 0;  ///< in the file, from 1
    std::string text;
  };
  std::vector<Line> lines;
  std::string note;  ///< lines of which processes were left out; empty: none
};

/// Takes off each line: terminal escapes, time stamps, line numbers, the rank or pod that mpirun --tag-output, srun -l,
/// mpiexec -prepend-rank, torchrun, kubectl --prefix and Ray print, the words of CRI and of Docker's json-file, and any
/// other beginning (a host, a level, "> ", indentation) that a line known of a table shares with further lines. Where
/// several processes print, the lines of the one with tables are kept, and those without any prefix.
/// @throws InputError  several processes print tables: says how to keep one
LogText plain_log(const std::string& path, const std::string& text);

/// The same as a list of all lines of the file; those of other processes are empty.
std::vector<std::string> plain_log_lines(const std::string& path, const std::string& text);

struct JsonText {
  std::size_t begin = 0, end = 0;  ///< in the text around it
  std::string text;                ///< with null for NaN
};

/// Every JSON object of a text that has this key, whatever stands around it: logs of launchers hold such output.
std::vector<JsonText> json_objects_with(const std::string& text, const std::string& key);

}  // namespace linkcast
