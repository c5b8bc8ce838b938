#pragma once
// Commands of a shell among the lines of a log: typed behind a prompt, out of a history, a script or "set -x".
#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/regex.hpp"

namespace linkcast {

struct ShellCommand {
  std::vector<std::string> words;  ///< with launchers and variables in front, without quotes
  std::size_t program = 0;         ///< place of the program among them; words.size(): it runs another or none

  [[nodiscard]] bool runs() const { return program < words.size(); }
};

/// Commands of a line, "$ export A=1; mpirun -n 2 ./program"; empty: it is none, as text about the program.
/// @param program  its name without folders
std::vector<ShellCommand> shell_commands(const std::string& line, const Regex& program);

/// Lines that end with a backslash belong to the next.
class JoinedLines {
 public:
  /// The command that ends with this line; empty: more lines follow, or it is longer than any that is typed.
  std::string add(const std::string& line);

 private:
  std::string text_;
};

}  // namespace linkcast
