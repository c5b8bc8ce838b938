#pragma once
// Command lines that stand in front of what programs print.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/shell_commands.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {

/// The value that commands of a program give one option; nothing: no command has it.
/// @param argument  of the option with a blank in front, its value as group 1
/// @throws InputError  one command says another value than another, or none
std::optional<std::string> said_by_commands(const TextFile& file, const std::string& program, const Regex& argument);

/// Variables of NCCL by name; those of its debug log and of its files are left out.
using NcclVariables = std::map<std::string, std::string>;

/// Variables of NCCL with which the commands of a log run its tests.
class NcclCommands {
 public:
  /// Variables of every test that the command ending with this line runs, in their order; empty: it runs none.
  std::vector<NcclVariables> read(const std::string& line);
  /// Those that an export above has set, and none has ended.
  [[nodiscard]] const NcclVariables& exported() const { return exported_; }

 private:
  void note_exports(const std::vector<std::string>& words);

  JoinedLines lines_;
  NcclVariables exported_;
};

}  // namespace linkcast
